"""One small profile for each reader: extracts of real files cut to a few rows, and our own exports of those no public profile has.
Small, so that ten thousand damaged ones of each are read in half a minute."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from npu import events
from profiler.export import msprof
from profiler.record.capture import Capture
from profiler.record.collection import Collection
from tests.made import Made

REAL = Path(__file__).parents[1] / "data" / "real"
LEVEL1 = REAL / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
OLD = REAL / "text2023" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
DB = REAL / "db" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
NOW = datetime(2026, 11, 30, 23, 59, 59)
EVENTS, LINES, ROWS = 3, 7, 3  # kept of each kind of event, of a table of text, of a table of a database


class Small(NamedTuple):
    """opened: what is given to the reader. changed: the files of it that are damaged, one at a time."""

    opened: Path
    changed: tuple[Path, ...]


Maker = Callable[[Path], Small]


def alone(path: Path) -> Small:
    return Small(path, (path,))


def events_of(source: Path) -> Maker:
    """The first events of each process and kind."""

    def make(folder: Path) -> Small:
        kept, seen = [], dict[tuple[object, ...], int]()
        for event in json.loads(source.read_text()):
            args = event.get("args", {})
            told = event["name"] if event.get("ph") == "M" else args.get("Task Type", args.get("level"))
            kind = (event.get("ph"), event.get("cat"), event.get("pid"), told)
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= EVENTS:
                kept.append(event)
        path = folder / source.name
        path.write_text(json.dumps(kept))
        return alone(path)

    return make


def head_of(source: Path) -> Maker:
    """The first lines of a text file; a small JSON file whole."""

    def make(folder: Path) -> Small:
        lines = source.read_bytes().splitlines(keepends=True)
        path = folder / source.name
        path.write_bytes(b"".join(lines if source.suffix == ".json" else lines[:LINES]))
        return alone(path)

    return make


def rows_of(source: Path) -> Maker:
    """A database with the first rows of each table, in small pages."""

    def make(folder: Path) -> Small:
        path = folder / source.name
        shutil.copy(source, path)
        shrink(path)
        return alone(path)

    return make


def shrink(path: Path) -> None:
    """Keep the first rows of each table of a database; of texts and names those the rows need, so all of them up to 40."""
    made = sqlite3.connect(path)
    for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        made.execute(f'DELETE FROM "{name}" WHERE rowid NOT IN (SELECT rowid FROM "{name}" LIMIT {40 if "STR" in name else ROWS})')
    made.commit()
    made.execute("PRAGMA page_size = 512")
    made.execute("VACUUM")
    made.close()


def full() -> Made:
    """Some rows of each table, so that an export writes each of its files."""
    rows = Made()
    rows.meta |= {"unix_zero_ns": 1_764_246_877_000_000_000, "pid": 4242, "collection": {"switches": ["l2", "aicpu", "dvpp"]}}
    for n in range(3):
        at = 100.0 * n
        rows.api("aclrtMemcpyAsync", at, at + 3, correlation=3 * n, bytes=4096, direction="h2d")
        rows.task("copy", at + 4, at + 6, correlation=3 * n, bytes=4096, direction="h2d", task_type="SDMA_SQE")
        rows.api("launch", at + 4, at + 8, level="node", correlation=3 * n + 1)
        rows.task("kernel", at + 10, at + 30, name="MatMul_1", op_type="MatMulV3", task_type="AI_CORE", correlation=3 * n + 1,
                  in_shapes="16,16;16,16", in_dtypes="FLOAT16;FLOAT16", in_formats="ND;ND", out_shapes="16,16", model=1,
                  out_dtypes="FLOAT16", out_formats="ND", block_dim=20, l2_cache_hit=0.5)
        rows.task("aicpu", at + 31, at + 50, name="Unique_1", op_type="Unique", task_type="AI_CPU", correlation=3 * n + 2)
        rows.comm("op", "hcom_allReduce__586_0_1", at + 52, at + 70, group="586")
        rows.comm("part", "Memcpy", at + 53, at + 60, group="586", src=0, dst=1, bytes=1 << 20)
        rows.marker("step", f"step {n}", at, at + 90)
        rows.marker("range", "load", at, at + 3, domain="mine")
        rows.memory("alloc", at, 1 << 20, name="weights", component="APP", address=n << 20)
        rows.memory("sample", at + 1, 0, component="APP", allocated=(n + 1) << 20, reserved=32 << 20)
        rows.counter("AI Core Freq", at, 1800)
        rows.counter("DDR/Read", at, 10.5)
    return rows


def exported(folder: Path) -> Path:
    """The whole folder our export writes."""
    prof = folder / "PROF_000001_20261130235959000_ABCDEFGHIJKLMNOP"
    prof.mkdir()
    msprof.export_msprof(full().trace(), prof, NOW)
    return prof


def export_of(kind: str) -> Maker:
    """One file of the export, alone."""

    def make(folder: Path) -> Small:
        found = next(p for p in sorted(exported(folder).rglob(f"{kind}_2*")) if p.suffix == (".db" if kind == "msprof" else ".csv"))
        if found.suffix == ".db":
            shrink(found)
        return alone(found)

    return make


def text_of(name: str, text: str) -> Maker:
    def make(folder: Path) -> Small:
        path = folder / name
        path.write_text(text)
        return alone(path)

    return make


def torch_folder(folder: Path) -> Small:
    """A framework's folder: the facts beside the files, one kernel file."""
    place = folder / "rank0_ascend_pt"
    output = place / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    head_of(LEVEL1 / "kernel_details.csv")(output)
    head_of(LEVEL1 / "step_trace_time.csv")(output)
    for name in ("profiler_info_0.json", "profiler_metadata.json"):
        shutil.copy(LEVEL1.parent / name, place)
    return Small(folder, tuple(sorted(place.glob("*.json"))))


def msprof_folder(folder: Path) -> Small:
    """A PROF folder: info.json of host and device, switches, and a file of kernels."""
    prof = exported(folder)
    for path in [*prof.glob("*.db"), *(p for p in (prof / msprof.OUTPUT).iterdir() if "op_summary" not in p.name)]:
        path.unlink()
    return Small(prof, tuple(sorted(p for p in prof.glob("*/*") if p.parent.name != msprof.OUTPUT)))


def own_capture(folder: Path) -> Small:
    """The files of a small capture with rows in every table, each text column filled."""
    made = Capture(folder, Collection())
    for table, columns in events.TABLES.items():
        write = made.writer(table)
        timed = columns[0].name in ("start", "time")
        for n in range(12):
            row = [made.text(f"{table} {c.name} {n % 7}") if c.text else n % 3 for c in columns[:-1]]
            if timed:
                row[0] = n * 1000
            write(*(n * 1000 + 700 if c.name == "end" else value for c, value in zip(columns[:-1], row, strict=True)))
    made.close()
    # Where a file holds rows, not in the room kept for more.
    for path in made.folder.iterdir():
        path.write_bytes(path.read_bytes().rstrip(b"\0") or b"\0")
    return Small(made.folder.parent, tuple(sorted(made.folder.iterdir())))


NPU_MEM = "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n0,app,0,20000,20000,1764246877000.1\n0,app,0,24000,24000,1764246877900.2\n"
L2 = LEVEL1 / "l2_cache.csv"
SMALL: dict[str, Maker] = {
    "timeline": events_of(LEVEL1 / "trace_view.json"),
    "timeline of collectives": events_of(REAL / "collectives" / "trace_view.json"),
    "kernel_details": head_of(LEVEL1 / "kernel_details.csv"),
    "kernel_details level0": head_of(REAL / "level0" / "kernel_details.csv"),
    "op_summary": head_of(REAL / "op_summary_memoryl0_2023.csv"),
    "task_time": export_of("task_time"),
    "memory_record": head_of(LEVEL1 / "memory_record.csv"),
    "operator_memory": head_of(LEVEL1 / "operator_memory.csv"),
    "npu_module_mem": head_of(LEVEL1 / "npu_module_mem.csv"),
    "npu_mem": text_of("npu_mem_20261130235959.csv", NPU_MEM),
    "msprof_tx": export_of("msprof_tx"),
    "step_trace_time": head_of(LEVEL1 / "step_trace_time.csv"),
    "cluster_step_trace_time": head_of(REAL / "cluster_analysis_output" / "cluster_step_trace_time.csv"),
    "api_statistic": head_of(LEVEL1 / "api_statistic.csv"),
    "op_statistic": head_of(LEVEL1 / "op_statistic.csv"),
    "communication_statistic": export_of("communication_statistic"),
    "operator_details": head_of(OLD / "operator_details.csv"),
    "l2_cache": head_of(L2),
    "communication": head_of(REAL / "collectives" / "communication.json"),
    "communication_matrix": head_of(REAL / "collectives" / "communication_matrix.json"),
    "cluster_communication_matrix": head_of(REAL / "cluster_analysis_output" / "cluster_communication_matrix.json"),
    "torch database": rows_of(DB / "ascend_pytorch_profiler_0.db"),
    "analysis database": rows_of(DB / "analysis.db"),
    "msprof database": export_of("msprof"),
    "facts of torch_npu": torch_folder,
    "facts of msprof": msprof_folder,
    "own capture": own_capture,
}
