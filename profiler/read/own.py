"""Own captures: raw segment files, read into contiguous columns. Rows whose commit mark is missing (the process died while
writing them) are left out; a truncated file gives the rows it has."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from npu import events
from npu.cost.counter_groups import GROUPS, group_columns
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
SHARE = "cube_utilization(%)"
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
    layout = meta.pop("tables", {})  # in a Trace that name holds tables of sums
    kernels = _table(folder, "kernel", layout, missing)
    for name in ("api", "comm", "memory", "counter", "marker"):
        columns = _table(folder, name, layout, missing)
        setattr(trace, name, Columns(columns if any(map(len, columns.values())) else None))
    group = str(dict(meta.get("collection") or {}).get("aic_metrics", ""))
    trace.task = _tasks(_table(folder, "task", layout, missing), kernels, str(meta.get("soc", "")), group, trace.strings)
    if trace.api:
        order = np.lexsort((trace.api["thread"], trace.api["start"]))
        if (order[1:] < order[:-1]).any():
            trace.api = trace.api.take(order)
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


def _table(folder: Path, table: str, layout: dict[str, Any], missing: list[Missing]) -> dict[str, Array]:
    """All committed rows of a table as contiguous columns, converted segment by segment."""
    dtype = _dtype(table, layout)
    names = [n for n in dtype.names or () if n != "ok"]
    pieces = []
    for path in sorted(folder.glob(f"{table}.*.seg")):
        try:
            piece = np.fromfile(path, dtype, path.stat().st_size // dtype.itemsize)
        except OSError as error:
            missing.append(Missing(path.name, f"cannot be read: {error}"))
            continue
        # rows are written in order, so the committed ones are a prefix: find its end by bisection
        low, high = 0, len(piece)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if piece["ok"][middle] == 1 else (low, middle)
        pieces.append([np.ascontiguousarray(piece[n][:low]) for n in names])
    columns: dict[str, Array] = {}
    for number, name in enumerate(names):
        columns[name] = np.concatenate([p[number] for p in pieces]) if pieces else np.zeros(0, dtype[name])
        for copied in pieces:
            copied[number] = columns[name][:0]  # its rows are in the column now
    return columns


def _tasks(
    columns: dict[str, Array], kernels: dict[str, Array], soc: str, group: str, strings: Strings
) -> Columns:
    """Task rows in start order with what their kernel's row says; counters follow from unit times and the measured time.

    What a kernel's row says is looked up when it is asked for: most analyses look at few of these columns.
    """
    if not len(columns["start"]):
        return Columns()
    start, number = columns["start"], columns["task_id"]
    if not ((start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (number[1:] >= number[:-1]))).all():
        order = np.lexsort((number, start))
        columns = {n: c[order] for n, c in columns.items()}
    index = columns["kernel"]
    known = (index >= 0) & (index < len(kernels["name"]))
    if not known.any():
        return Columns(columns)
    every = bool(known.all())

    def of_kernel(values: Array) -> Array:
        if every:
            found: Array = values[index]
            return found
        nothing = np.nan if values.dtype.kind == "f" else -1
        return np.where(known, values[np.where(known, index, 0)], nothing).astype(values.dtype)

    made: dict[str, Array | Callable[[], Array]] = {**columns, **{n: partial(of_kernel, kernels[n]) for n in SHOWN}}
    try:
        chip = find(soc)
    except KeyError:
        return Columns(made)
    if group in GROUPS:
        first = np.array([strings[i].partition(";")[0] if i >= 0 else "" for i in kernels["in_dtypes"].tolist()], dtype=object)
        made |= {n: partial(of_kernel, v) for n, v in group_columns(group, kernels, first, chip).items()}
        return Columns(made)
    # A kernel's counters do not depend on how long it really took, but for the share of all cores, which is per ns here.
    one = np.ones(len(kernels["name"]))
    units = {n: kernels[n] for n in UNITS}
    counters = pipe_utilization(one, kernels["block_dim"], kernels["mix_block_dim"], units, chip)
    for name, values in cast("dict[str, Array]", counters).items():
        looked_up = partial(of_kernel, values)
        made[name] = partial(_share, looked_up, columns) if name == SHARE else looked_up
    return Columns(made)


def _share(per_ns: Callable[[], Array], columns: dict[str, Array]) -> Array:
    """The share of all cores over the measured time; 0 for a task that took none."""
    duration = columns["end"] - columns["start"]
    values = per_ns()
    shared: Array = np.divide(values, duration, out=np.where(np.isnan(values), np.nan, 0.0), where=duration > 0)
    return shared
