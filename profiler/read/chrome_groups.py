"""Groups of Chrome events of one process and category -> rows of one table of the Trace. Arguments are decoded typed: one
record type a layer, made from data/args.csv."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from npu import events
from profiler.read import tables, times
from profiler.read.collect import Pile
from profiler.read.events_json import Event
from profiler.trace import Array, Strings

# layer -> the row of data/args.csv it reads, and the table of the Trace it fills
LAYERS = {
    "task": ("task", "task"),
    "copy": ("task", "task"),
    "memset": ("task", "task"),
    "api": ("api", "api"),
    "comm": ("comm", "comm"),
    "operator": ("operator", "marker"),
    "queue": ("queue", "marker"),
    "range": ("", "marker"),
}
TABLE_OF_API = {
    "AscendCL": "acl",
    "Runtime": "runtime",
    "Model": "model",
    "Node": "node",
    "Communication": "communication",
    "Hccl": "communication",
}
# Keys by which the arguments of a group without a known process tell their layer.
SIGNS = (("Task Type", "task"), ("notify_id", "comm"), ("alg_type", "comm"), ("level", "api"))


class Reading(NamedTuple):
    """How the arguments of a layer become columns: a typed decoder, and per column its conversion and the fields that hold it."""

    decoder: msgspec.json.Decoder[Any]
    columns: list[tuple[str, str, list[str]]]
    nothing: Any  # the record of an event without arguments


@cache
def reading(layer: str) -> Reading:
    """How the arguments of a layer are decoded: its rows of args.csv."""
    fields: list[tuple[str, Any, Any]] = []
    columns: dict[str, tuple[str, list[str]]] = {}
    for number, row in enumerate(r for r in tables.rows_of("args.csv") if r["layer"] == layer):
        field = f"f{number}"
        fields.append((field, Any, msgspec.field(name=row["key"], default=None)))
        columns.setdefault(row["column"], (row["convert"], []))[1].append(field)
    record = msgspec.defstruct(f"Args_{layer}", fields, gc=False)
    decoder = msgspec.json.Decoder(list[record | None], float_hook=str)  # type: ignore[valid-type]
    return Reading(decoder, [(n, how, names) for n, (how, names) in columns.items()], record())


def arguments(layer: str, group: Sequence[Event], convert: tables.Converter) -> dict[str, Array]:
    """The columns that the arguments of a group hold."""
    decoder, columns, nothing = reading(layer)
    raw = b"[" + b",".join([e.args for e in group]) + b"]"
    try:
        records = decoder.decode(raw)
    except msgspec.DecodeError:  # arguments that are no object, or hold bytes that are no UTF-8
        records = [_record(decoder, e.args) for e in group]
    rows = len(records)
    whole = records if None not in records else [r if r is not None else nothing for r in records]
    made = {}
    for name, how, fields in columns:
        values: list[Any] = []
        for field in fields:
            found = list(map(attrgetter(field), whole))
            if found.count(None) < rows:
                values = [b if a is None else a for a, b in zip(values, found, strict=True)] if values else found
        if values:
            made[name] = convert(how, values)
    return made


def _record(decoder: msgspec.json.Decoder[Any], args: msgspec.Raw) -> Any:
    try:
        return decoder.decode(b"[" + bytes(args) + b"]")[0]
    except msgspec.DecodeError:
        return None


class Groups:
    """Takes groups of complete events (ph X) and piles up rows. pid and tid stay beside the rows until all names are known."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings
        self.convert = tables.Converter(strings)
        self.piles = {t: Pile() for t in ("task", "api", "comm", "marker")}

    def add(self, layer: str, pid: int, tids: Array, category: str, group: Sequence[Event]) -> None:
        """Rows of one layer. pid: number of the process in the file; tids: of the threads."""
        args, table = LAYERS[layer]
        start = times.nanoseconds([e.ts for e in group])
        length = times.durations([e.dur if e.dur is not None else 0 for e in group])
        none = (start == times.NONE) | (length == times.NONE)
        row: dict[str, Array] = {
            "start": start,
            "end": np.where(none, times.NONE, np.where(none, 0, start) + np.where(none, 0, length)),
            "name": self.names([e.name for e in group]),
            "_pid": np.full(len(group), pid, np.int32),
            "_tid": tids,
        }
        if args:
            row |= arguments(args, group, self.convert)
        getattr(self, f"_{table}")(layer, category, row)
        self.piles[table].add(row)

    def names(self, names: list[str]) -> Array:
        ids = {n: self.strings.id(n) for n in dict.fromkeys(names)}
        return np.fromiter(map(ids.__getitem__, names), np.int32, len(names))

    def _task(self, layer: str, category: str, row: dict[str, Array]) -> None:
        kind, direction = kinds(self.strings, row["name"], row.get("task_type"))
        if layer != "task":
            kind[:] = events.KINDS.index(layer)
            text = self.strings
            known = {i: direction_in_name(text[i]) for i in np.unique(row["name"]).tolist()}
            direction = np.array([known[i] for i in row["name"].tolist()], np.int8)
            memory = {i: host_kind_in_name(text[i]) for i in known}
            if layer == "copy" and max(memory.values(), default=-1) >= 0:
                row["host_kind"] = np.array([memory[i] for i in row["name"].tolist()], np.int8)
        row["kind"] = kind
        given = row.get("direction")
        row["direction"] = direction if given is None else np.where(given >= 0, given, direction).astype(np.int8)
        if "stream" not in row:
            row["stream"] = row["_tid"]
        elif (row["stream"] < 0).any():
            row["stream"] = np.where(row["stream"] < 0, row["_tid"], row["stream"])

    def _api(self, layer: str, category: str, row: dict[str, Array]) -> None:
        """`AscendCL@aclrtMalloc`: the layer is the level, the rest the name."""
        found, where = np.unique(row["name"], return_inverse=True)
        names, levels = [], []
        for text in (self.strings[int(i)] for i in found):
            prefix, at, rest = text.partition("@")
            level = TABLE_OF_API.get(prefix) if at else None
            names.append(self.strings.id(rest if level else text))
            levels.append(events.LEVELS.index(level) if level else -1)
        row["name"] = np.array(names, np.int32)[where]
        level_of = np.array(levels, np.int8)[where]
        given = row.get("level")
        level_of = level_of if given is None else np.where(level_of >= 0, level_of, given)
        default = events.LEVELS.index("runtime" if category else "acl")
        row["level"] = np.where(level_of < 0, default, level_of).astype(np.int8)

    def _comm(self, layer: str, category: str, row: dict[str, Array]) -> None:
        """Without arguments of a task a row is an operator; the name of its thread may still say otherwise."""
        task_type = row.get("task_type")
        part = np.zeros(len(row["start"]), bool) if task_type is None else task_type >= 0
        row["level"] = np.where(part, events.COMM_LEVELS.index("part"), events.COMM_LEVELS.index("op")).astype(np.int8)
        row["part"] = parts(
            self.strings, row["name"] if task_type is None else np.where(task_type >= 0, task_type, row["name"]), part
        )

    def _marker(self, layer: str, category: str, row: dict[str, Array]) -> None:
        row["kind"] = marker_kinds(self.strings, row["name"], category)
        if category:
            row["domain"] = np.full(len(row["start"]), self.strings.id(category), np.int32)


def kinds(strings: Strings, names: Array, types: Array | None) -> tuple[Array, Array]:
    """(kind, direction) of task rows: by name where the name is a task type (MEMCPY_ASYNC run by PCIE_DMA_SQE), else by type.
    A named task of unknown type is a kernel: that is what files without task types hold."""
    table = tables.task_types()
    types = np.full(len(names), -1, np.int32) if types is None else types
    pairs, where = np.unique(np.stack((names, types)), axis=1, return_inverse=True)
    made = []
    for name, kind in pairs.T.tolist():
        by_type, by_name = table.get(strings[kind]), table.get(strings[name])
        found = by_name or by_type or (events.KINDS.index("kernel" if kind < 0 else "other"), -1)
        if by_name and by_type and by_name[1] < 0:
            found = (by_name[0], by_type[1])
        made.append(found)
    both = np.array(made, np.int8).reshape(-1, 2)[where.reshape(-1)]
    return both[:, 0].copy(), both[:, 1].copy()


def direction_in_name(name: str) -> int:
    """Direction of a copy from its name, e.g. "Memcpy HtoD (Pinned -> Device)"; -1 when it does not tell."""
    known = tables.words("direction")
    return next((known[w] for w in name.lower().replace("(", " ").split() if w in known), -1)


def host_kind_in_name(name: str) -> int:
    """Kind of the host side of a copy from its name, e.g. "Memcpy HtoD (Pageable -> Device)"; -1 when it does not tell."""
    return next((code for code, kind in enumerate(events.HOST_KINDS) if kind in name.lower()), -1)


def parts(strings: Strings, types: Array, part: Array) -> Array:
    """What the tasks of a collective do; -1 for operators and unknown tasks."""
    known = tables.words("part")
    ids, where = np.unique(types, return_inverse=True)
    codes = np.array([known.get(strings[int(i)].lower(), -1) for i in ids], np.int8)[where]
    return np.where(part, codes, -1).astype(np.int8)


def marker_kinds(strings: Strings, names: Array, category: str) -> Array:
    """Kinds of host ranges by data/markers.csv: by name, else by category, else a plain range."""
    ids, where = np.unique(names, return_inverse=True)
    default = tables.first_match("markers.csv", "cat", "kind", category) or "range"
    found = [tables.first_match("markers.csv", "name", "kind", strings[int(i)]) or default for i in ids]
    return np.array([events.MARKERS.index(k) for k in found], np.int8)[where]
