"""Own captures: raw segment files behind numpy memory maps, no conversion. Rows whose commit mark is missing (the process died
while writing them) are left out; a truncated file gives the rows it has."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from npu import events
from npu.cost.counters import pipe_utilization
from npu.soc import find
from profiler.trace import Array, Columns, Missing, Strings, Trace

FOLDER, META, STRINGS = "npuscope", "meta.json", "strings.bin"
CODES = {"q": "<i8", "i": "<i4", "b": "i1", "d": "<f8"}
# columns of the kernel table that every task row shows, under their own name
SHOWN = (
    "op_type",
    "op_state",
    "hf32",
    "in_shapes",
    "in_dtypes",
    "in_formats",
    "out_shapes",
    "out_dtypes",
    "out_formats",
    "origin",
    "model_name",
    "block_dim",
    "mix_block_dim",
    "read_bytes",
    "write_bytes",
    "flops",
)
UNITS = (
    "aic_time",
    "aic_mac",
    "aic_scalar",
    "aic_mte1",
    "aic_mte2",
    "aic_fixpipe",
    "aic_icache_miss",
    "aiv_time",
    "aiv_vec",
    "aiv_scalar",
    "aiv_mte2",
    "aiv_mte3",
    "aiv_icache_miss",
)


def places(path: Path) -> list[Path]:
    """PROF folders with a capture of ours at a path: the path itself, or its direct children, by name."""
    for candidate in (path, path.parent):
        if (candidate / FOLDER / META).is_file():
            return [candidate]
    if (path / META).is_file() and path.name == FOLDER:
        return [path.parent]
    return sorted(p.parent.parent for p in path.glob(f"PROF_*/{FOLDER}/{META}")) if path.is_dir() else []


def read(prof: Path) -> Trace:
    """The Trace of one PROF folder of ours."""
    folder = prof / FOLDER
    missing: list[Missing] = []
    meta = _meta(folder, missing)
    trace = Trace(prof, strings=Strings(_texts(folder, missing)), meta=meta, missing=missing)
    layout = meta.get("tables", {})
    kernels = _table(folder, "kernel", layout, missing)
    for name in ("api", "comm", "memory", "counter", "marker"):
        setattr(trace, name, _columns(_table(folder, name, layout, missing)))
    trace.task = _tasks(_table(folder, "task", layout, missing), kernels, str(meta.get("soc", "")))
    if trace.api:
        trace.api = trace.api.take(np.lexsort((trace.api["thread"], trace.api["start"])))
    for table, count in dict(meta.get("lost", {})).items():
        missing.append(Missing(f"{count} rows of {table}", "the disk was full while the script ran"))
    if meta.get("ended_unix") is None:
        missing.append(Missing("the end of the capture", "the process was killed; all calls completed until then are there"))
    return trace


def _meta(folder: Path, missing: list[Missing]) -> dict[str, Any]:
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        missing.append(Missing(META, f"cannot be read: {error}"))
        return {"generator": "npuscope", "simulated": True}
    return meta if isinstance(meta, dict) else {}


def _texts(folder: Path, missing: list[Missing]) -> list[str]:
    try:
        data = (folder / STRINGS).read_bytes()
    except OSError as error:
        missing.append(Missing(STRINGS, f"cannot be read: {error.strerror}"))
        return []
    texts, at = [], 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        if at + 4 + length > len(data):
            missing.append(Missing("the last text", "the file is cut"))
            break
        texts.append(data[at + 4 : at + 4 + length].decode("utf-8", "replace"))
        at += 4 + length
    return texts


def _dtype(table: str, layout: dict[str, Any]) -> np.dtype[Any]:
    """The record of a table as the capture's own meta.json states it, else as this version writes it."""
    columns = layout.get(table) or [(c.name, c.code, c.text) for c in events.TABLES[table]]
    return np.dtype([(str(name), CODES[code]) for name, code, _ in columns])


def _table(folder: Path, table: str, layout: dict[str, Any], missing: list[Missing]) -> NDArray[Any]:
    """All committed rows of a table as one structured array."""
    dtype = _dtype(table, layout)
    pieces = []
    for path in sorted(folder.glob(f"{table}.*.seg")):
        try:
            rows = path.stat().st_size // dtype.itemsize
            piece = np.memmap(path, dtype, "r", shape=(rows,)) if rows else np.zeros(0, dtype)
        except (OSError, ValueError) as error:
            missing.append(Missing(path.name, f"cannot be read: {error}"))
            continue
        # rows are written in order, so the committed ones are a prefix: find its end by bisection
        low, high = 0, len(piece)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if piece["ok"][middle] == 1 else (low, middle)
        pieces.append(piece[:low])
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0] if pieces else np.zeros(0, dtype)


def _columns(rows: NDArray[Any]) -> Columns:
    return Columns({n: rows[n] for n in rows.dtype.names or () if n != "ok"}) if len(rows) else Columns()


def _tasks(rows: NDArray[Any], kernels: NDArray[Any], soc: str) -> Columns:
    """Task rows in start order with what their kernel's row says; counters follow from unit times and the measured time."""
    if not len(rows):
        return Columns()
    rows = rows[np.lexsort((rows["task_id"], rows["start"]))]
    columns = {n: rows[n] for n in rows.dtype.names or () if n != "ok"}
    index = rows["kernel"]
    known = (index >= 0) & (index < len(kernels))
    if not known.any():
        return Columns(columns)
    safe = np.where(known, index, 0)
    for name in SHOWN:
        values = kernels[name][safe]
        columns[name] = np.where(known, values, np.nan if values.dtype.kind == "f" else -1).astype(values.dtype)
    try:
        chip = find(soc)
    except KeyError:
        return Columns(columns)
    units = {n: np.where(known, kernels[n][safe], np.nan) for n in UNITS}
    columns |= cast("dict[str, Array]", pipe_utilization(rows["end"] - rows["start"], columns["block_dim"], columns["mix_block_dim"], units, chip))
    return Columns(columns)
