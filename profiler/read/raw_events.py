"""One timeline file as written: every event a row of small columns, before any of it is interpreted or left out.

`slices` are complete events (X), and begin/end pairs joined; rows keep the order of the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from profiler.read import times
from profiler.read.events_json import Event, Source, opened, unpacked
from profiler.trace import Array, Strings

NONE = times.NONE
TEXT_TIMES = re.compile(rb'"ts"\s*:\s*"')
BEGIN_END = "BEbe"


@dataclass
class Raw:
    """phase: one letter a row. start: ns, NONE for none. length: ns of complete events, 0 where none is written, NONE where it
    cannot be read. pid, tid: numbers into `pids` and `tids`; name: id into `strings`. flow_rows: rows of arrows."""

    path: Path
    where: str  # how to call the file
    strings: Strings = field(default_factory=Strings)
    pids: list[Any] = field(default_factory=list)
    tids: list[Any] = field(default_factory=list)
    phase: Array = field(default_factory=lambda: np.zeros(0, "U1"))
    start: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    length: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    pid: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    tid: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    name: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    flow_rows: list[int] = field(default_factory=list)
    flow_keys: list[tuple[str, str]] = field(default_factory=list)  # (category, id) of each of flow_rows
    named: dict[int, list[str]] = field(default_factory=dict)  # process -> its process_name texts
    metadata: list[Event] = field(default_factory=list)
    late_names: int = 0  # metadata events behind other events
    beside: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    text_times: bool = False
    unended: list[int] = field(default_factory=list)  # rows of B and b without their end
    begun_at: dict[int, int] = field(default_factory=dict)  # row of an E or e -> row of its B or b
    unbegun: list[int] = field(default_factory=list)  # rows of E and e without their begin

    def __len__(self) -> int:
        return len(self.phase)

    @cached_property
    def slices(self) -> Array:
        """Rows of the ranges: complete events, and the beginnings of pairs (their `length` is that of the pair)."""
        return np.flatnonzero(self._is_slice)

    @cached_property
    def sound(self) -> Array:
        """The slices with a time that can be true."""
        rows = self.slices
        start, length = self.start[rows], self.length[rows]
        fine = (start != NONE) & (length != NONE) & (length >= 0)
        timeless = (start == 0) & (length == 0)
        if (fine & (start > 0)).any():
            fine &= ~timeless
        found: Array = rows[fine]
        return found

    def names_of(self, rows: Array) -> list[str]:
        return [self.strings[int(n)] for n in self.name[rows].tolist()]

    _is_slice: Array = field(default_factory=lambda: np.zeros(0, bool))


def read(path: Path, where: str = "") -> Raw:
    """The file's events. NotEvents when it holds no list of events, OSError when it cannot be read."""
    source = Source(path)
    made = of_events(source.events(), path, where or path.name)
    with opened(path) as stream:
        made.text_times = bool(TEXT_TIMES.search(unpacked(stream, 1 << 16)[0]))
    made.beside, made.problems = source.beside, source.problems
    return made


def of_events(chunks: Iterable[list[Event]], path: Path, where: str) -> Raw:
    """The rows of events from anywhere."""
    made = Raw(path, where)
    pieces: dict[str, list[Array]] = defaultdict(list)
    pids: dict[Any, int] = {}
    tids: dict[Any, int] = {}
    pairs: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    joined: dict[int, int] = {}
    begin, seen_other = 0, False
    for some in chunks:
        start = times.nanoseconds([e.ts for e in some])
        pieces["phase"].append(np.array([e.ph[:1] for e in some], "U1"))
        pieces["start"].append(start)
        pieces["length"].append(times.durations([e.dur if e.dur is not None else 0 for e in some]))
        pieces["pid"].append(np.array([pids.setdefault(_key(e.pid), len(pids)) for e in some], np.int32))
        pieces["tid"].append(np.array([tids.setdefault(_key(e.tid), len(tids)) for e in some], np.int32))
        pieces["name"].append(made.strings.ids([e.name for e in some]))
        for at, event in enumerate(some, begin):
            if event.ph == "M":
                made.metadata.append(event)
                made.late_names += seen_other
                if event.name == "process_name":
                    _hear(made, pids[_key(event.pid)], event)
                continue
            seen_other = True
            if event.ph in "stf" and event.ph:
                made.flow_rows.append(at)
                made.flow_keys.append((event.cat, str(event.id)))
            elif event.ph in BEGIN_END and event.ph:
                _pair(made, pairs, joined, at, event, int(start[at - begin]))
        begin += len(some)
    for name, arrays in pieces.items():
        setattr(made, name, np.concatenate(arrays))
    made.unended = sorted(row for held in pairs.values() for row, _ in held)
    made.pids, made.tids = list(pids), list(tids)
    made._is_slice = made.phase == "X"
    for row, length in joined.items():
        made.length[row] = length
        made._is_slice[row] = True
    return made


def _key(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)


def _hear(made: Raw, pid: int, event: Event) -> None:
    try:
        args = msgspec.json.decode(event.args)
    except msgspec.DecodeError:
        return
    if isinstance(args, dict) and isinstance(args.get("name"), str):
        made.named.setdefault(pid, []).append(args["name"])


def _pair(
    made: Raw, pairs: dict[tuple[Any, ...], list[tuple[int, int]]], joined: dict[int, int], row: int, event: Event, at: int
) -> None:
    """B and E nest per thread; b and e belong together by category, id and name."""
    nests = event.ph in "BE"
    key = (_key(event.pid), _key(event.tid)) if nests else (event.cat, str(event.id), event.name)
    if event.ph in "Bb":
        pairs[key].append((row, at))
    elif pairs[key]:
        begun, since = pairs[key].pop()
        made.begun_at[row] = begun
        joined[begun] = at - since if NONE not in (at, since) else NONE
    else:
        made.unbegun.append(row)
