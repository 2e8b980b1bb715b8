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
from profiler.read import stacks
from profiler.trace import Array, Columns, Lookup, Missing, Strings, Trace, packed

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
NUMBERED = {"api": ("level", len(events.LEVELS)), "task": ("kind", len(events.KINDS))}  # columns that are numbers of a list
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
    layout = _layout(_mapping(meta.pop("tables", None)), missing)  # in a Trace that name holds tables of sums
    kernels = _table(folder, "kernel", layout, missing)
    tables = {
        name: _sound(name, _table(folder, name, layout, missing), missing)
        for name in ("api", "comm", "memory", "counter", "marker", "task")
    }
    _texts_by_number(trace, layout, kernels, *tables.items())
    _cut(tables, meta, missing)
    asked = _mapping(meta.get("collection"))
    stacks.split(trace.strings, tables["api"], tables["memory"])
    for name, columns in tables.items():
        if name != "task":
            setattr(trace, name, Columns(columns if any(map(len, columns.values())) else None))
    trace.task = _tasks(tables["task"], kernels, str(meta.get("soc", "")), asked, trace.strings)
    if trace.api:
        order = np.lexsort((trace.api["thread"], trace.api["start"]))
        if (order[1:] < order[:-1]).any():
            trace.api = trace.api.take(order)
        trace.api = trace.api.with_columns(correlation=packed(trace.api["correlation"]))
    for table, count in _mapping(meta.get("lost")).items():
        missing.append(Missing(f"{count} rows of {table}", "the disk was full while the script ran"))
    for what in asked.get("not_simulated", ()):
        missing.append(Missing(str(what), "it was asked for; the simulated device does not have it"))
    if meta.get("ended_unix") is None:
        why = "the process was killed or left by os._exit; all calls completed until then are there"
        missing.append(Missing("the end of the capture", why))
    return trace


def _mapping(value: Any) -> dict[str, Any]:
    """A fact that should be a mapping; {} when it is none."""
    return dict(value) if isinstance(value, dict) else {}


def _texts_by_number(
    trace: Trace, layout: dict[str, Any], kernels: dict[str, Array], *tables: tuple[str, dict[str, Array]]
) -> None:
    """Give equal texts one number, and none to those whose text is not there: the recorder remembers only so many texts, and a
    cut file has fewer than rows name."""
    known = len(trace.strings)
    texts, first = trace.strings.texts, trace.strings
    same = np.fromiter((first.find(t) for t in texts), np.int32, known)
    whole = bool((same == np.arange(known)).all())
    for table, columns in (("kernel", kernels), *tables):
        for name in _text_columns(table, layout):
            ids = columns.get(name)
            if ids is None or not len(ids) or (whole and int(ids.max()) < known and int(ids.min()) >= -1):
                continue
            there = (ids >= 0) & (ids < known)
            columns[name] = np.where(there, same[np.where(there, ids, 0)] if known else -1, -1).astype(np.int32)


def _text_columns(table: str, layout: dict[str, Any]) -> list[str]:
    columns = layout.get(table) or [(c.name, c.code, c.text) for c in events.TABLES[table]]
    return [str(name) for name, _, is_text in columns if is_text]


def _cut(tables: dict[str, dict[str, Array]], meta: dict[str, Any], missing: list[Missing]) -> None:
    """Where the storage limit took the oldest rows of some tables, begin all of them where the last of these begins."""
    dropped = _mapping(meta.get("dropped"))
    starts = [tables[t]["start"] for t in dropped if t in ("api", "task", "comm") and len(tables[t]["start"])]
    if not dropped:
        return
    begin = max((int(s.min()) for s in starts), default=0)
    for name in ("api", "task", "comm", "marker"):
        columns = tables[name]
        keep = columns["start"] >= begin
        if not keep.all():
            tables[name] = {n: c[keep] for n, c in columns.items()}
    rows = ", ".join(f"{count} rows of {table}" for table, count in dropped.items())
    missing.append(Missing(f"everything before {begin / 1e9:.6f} s ({rows})", "older data went: the storage limit was reached"))


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


def _layout(stated: dict[str, Any], missing: list[Missing]) -> dict[str, Any]:
    """The tables whose columns meta.json states as (name, code, is a text id), each name once, the time and the commit mark
    among them; the others are read as this version writes them."""
    sound = {}
    for table, known in events.TABLES.items():
        if (columns := stated.get(table)) is None:
            continue
        names = [c[0] for c in columns] if isinstance(columns, list) and all(map(_is_column, columns)) else []
        texts = {c.name: bool(c.text) for c in known}  # a time that is said to be a text would be looked up as one
        alike = all(bool(c[2]) == texts.get(c[0], bool(c[2])) for c in columns) if names else False
        if alike and len(set(names)) == len(names) and {known[0].name, "ok"} <= set(names):
            sound[table] = columns
        else:
            missing.append(Missing(f"the columns of {table}", f"{META} states them wrongly; read as this version writes them"))
    return sound


def _is_column(stated: Any) -> bool:
    return isinstance(stated, list) and len(stated) == 3 and isinstance(stated[0], str) and str(stated[1]) in CODES


def _sound(table: str, columns: dict[str, Array], missing: list[Missing]) -> dict[str, Array]:
    """The rows in order of time, without those that end before they start or are of no known kind: damaged files hold such."""
    time = columns["start" if "start" in columns else "time"]
    wrong = columns["end"] < time if "end" in columns else np.zeros(len(time), bool)
    if table in NUMBERED:
        name, count = NUMBERED[table]
        wrong |= (columns[name] < 0) | (columns[name] >= count)
    if wrong.any():
        missing.append(Missing(f"{int(wrong.sum())} rows of {table}", "their times or kinds cannot be; the file is damaged"))
        columns = {n: c[~wrong] for n, c in columns.items()}
        time = time[~wrong]
    if table in ("api", "task") or (time[1:] >= time[:-1]).all():  # these two are put in order with more than their time
        return columns
    order = np.argsort(time, kind="stable")
    return {n: c[order] for n, c in columns.items()}


def _dtype(table: str, layout: dict[str, Any]) -> np.dtype[Any]:
    """The record of a table as the capture's own meta.json states it, else as this version writes it."""
    columns = layout.get(table) or [(c.name, c.code, c.text) for c in events.TABLES[table]]
    return np.dtype([(str(name), CODES[code]) for name, code, _ in columns])


def _table(folder: Path, table: str, layout: dict[str, Any], missing: list[Missing]) -> dict[str, Array]:
    """All committed rows of a table as columns, converted segment by segment. A column of one value takes the room of one."""
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
        pieces.append([_column(piece[n][:low]) for n in names])
    rows = sum(len(p[0]) for p in pieces)
    absent = [c for c in events.TABLES[table] if c.name not in (dtype.names or ())]  # another version did not write these
    columns: dict[str, Array] = {
        c.name: np.broadcast_to(np.asarray(np.nan if c.code == "d" else -1, CODES[c.code]), rows) for c in absent
    }
    for number, name in enumerate(names):
        columns[name] = _joined([p[number] for p in pieces]) if pieces else np.zeros(0, dtype[name])
        for copied in pieces:
            copied[number] = columns[name][:0]  # its rows are in the column now
    return columns


def _column(values: Array) -> Array:
    """The values apart from their rows; where all are one value, that value as many times."""
    if len(values) and values[0] == values[-1] and (values == values[0]).all():
        return np.broadcast_to(values[0], len(values))
    return np.ascontiguousarray(values)


def _joined(pieces: list[Array]) -> Array:
    """Pieces of a column one after the other."""
    pieces = [p for p in pieces if len(p)] or pieces[:1]
    if all(len(p) and p.strides == (0,) and p[0] == pieces[0][0] for p in pieces):
        return np.broadcast_to(pieces[0][0], sum(map(len, pieces)))
    return np.concatenate(pieces)


def _tasks(
    columns: dict[str, Array], kernels: dict[str, Array], soc: str, asked: dict[str, Any], strings: Strings
) -> Columns:
    """Task rows in start order with what their kernel's row says; counters follow from unit times and the measured time.

    What a kernel's row says is looked up when it is asked for: most analyses look at few of these columns. asked: the
    collection; at level l0 tasks have names and times alone, with aicore_shape also shapes, without ai_core no counters.
    """
    if not len(columns["start"]):
        return Columns()
    start, number = columns["start"], columns["task_id"]
    if not ((start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (number[1:] >= number[:-1]))).all():
        order = np.lexsort((number, start))
        columns = {n: c[order] for n, c in columns.items()}
    index = columns["kernel"]
    known = (index >= 0) & (index < len(kernels["name"]))
    few: dict[str, Array | Callable[[], Array]] = {
        "correlation": packed(columns["correlation"]),
        "ready": packed(columns["ready"], columns["start"]),
    }  # which few analyses ask for
    if not known.any():
        return Columns({**columns, **few})
    if not known.all():
        index = np.where(known, index, -1)

    def of_kernel(values: Array) -> Lookup:
        nothing = np.nan if values.dtype.kind == "f" else -1
        return Lookup(index, np.append(values, np.asarray(nothing, values.dtype)))

    short = asked.get("level") == "l0"
    shown = [n for n in SHOWN if not short or (asked.get("aicore_shape") and n[:3] in ("in_", "out"))]
    made: dict[str, Array | Callable[[], Array]] = {**columns, **few, **{n: of_kernel(kernels[n]) for n in shown}}
    if short:
        made["task_type"] = np.where(known, -1, columns["task_type"]).astype(np.int32)
        made["block_dim"] = made["mix_block_dim"] = np.where(known, 0, -1).astype(np.int32)
    try:
        chip = find(soc)
    except KeyError:
        return Columns(made)
    if short or asked.get("ai_core") is False:
        return Columns(made)
    group = str(asked.get("aic_metrics", ""))
    if group in GROUPS:
        first = np.array([strings[i].partition(";")[0] if i >= 0 else "" for i in kernels["in_dtypes"].tolist()], dtype=object)
        made |= {n: of_kernel(v) for n, v in group_columns(group, kernels, first, chip).items()}
        return Columns(made)
    # A kernel's counters do not depend on how long it really took, but for the share of all cores, which is per ns here.
    one = np.ones(len(kernels["name"]))
    units = {n: kernels[n] for n in UNITS}
    counters = pipe_utilization(one, kernels["block_dim"], kernels["mix_block_dim"], units, chip)
    for name, values in cast("dict[str, Array]", counters).items():
        looked_up = of_kernel(values)
        made[name] = partial(_share, looked_up, columns["start"], columns["end"]) if name == SHARE else looked_up
    return Columns(made)


def _share(per_ns: Callable[[], Array], start: Array, end: Array) -> Array:
    """The share of all cores over the measured time; 0 for a task that took none."""
    duration = end - start
    values = per_ns()
    shared: Array = np.divide(values, duration, out=np.where(np.isnan(values), np.nan, 0.0), where=duration > 0)
    return shared
