"""The Trace: columns of what happened, whichever tool wrote it. Readers make it, analysis and exports read it.

Tables and columns (times int64 ns, sizes bytes; texts are int32 ids into `strings`, -1 = no value; an absent column is
absent, which is not the same as zero):

api      start end thread level name [correlation stream device bytes direction host_kind blocking event ret site pid
         item (kernel a launch names) mode op_type]
task     start end device stream kind [task_id name op_type task_type correlation model block_dim mix_block_dim op_state
         in_shapes in_dtypes in_formats out_shapes out_dtypes out_formats bytes direction host_kind event ready kernel
         reads writes, and the counters as float64 columns under their file names, e.g. "aic_mac_ratio"]
comm     start end device level name [rank group op plane part notify src dst bytes link transport algorithm count dtype
         correlation stream task_id]
memory   time event bytes [address allocation device component allocated reserved site correlation name]
counter  time device name value
marker   start end thread kind name [device domain stack correlation pid sequence forward_thread in_shapes in_dtypes];
         correlation of enqueue and dequeue joins the two, of all other kinds it is that of the task they launched

Small enums (level, kind, direction, host_kind, event of memory, kind of marker, level and part of comm) are int8 codes
into the tuples of npu.events. `blocking` is 1, 0 or -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npu import events

Array = NDArray[Any]
TABLES = ("api", "task", "comm", "memory", "counter", "marker")


class Unreadable(Exception):
    """Nothing at the path could be read: `what` happened, and what to do `next`."""

    def __init__(self, what: str, next: str) -> None:
        super().__init__(what)
        self.what, self.next = what, next


class Missing(NamedTuple):
    """Something a reader looked for and did not get: the part, and why."""

    what: str
    why: str


class Strings:
    """Interned texts: id -> text by position, text -> id by dictionary."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: list[str] = list(texts)
        self._ids: dict[str, int] = {}
        for number, text in enumerate(self.texts):
            self._ids.setdefault(text, number)

    def __len__(self) -> int:
        return len(self.texts)

    def id(self, text: str) -> int:
        """The id of a text, made when it is new."""
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = len(self.texts)
            self.texts.append(text)
        return found

    def find(self, text: str) -> int:
        """The id of a text, or -1 when no row can have it."""
        return self._ids.get(text, -1)

    def __getitem__(self, number: int) -> str:
        """The text of an id; "" for -1."""
        return self.texts[number] if number >= 0 else ""

    def ids(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """Ids of many texts, made when they are new."""
        return np.fromiter((self.id(t) for t in texts), np.int32)

    def matching(self, test: Any) -> NDArray[np.int32]:
        """Ids of the texts for which test(text) is true: the way to filter rows by name without decoding them."""
        return np.array([n for n, t in enumerate(self.texts) if test(t)], np.int32)

    def flags(self, test: Callable[[str], Any]) -> NDArray[np.bool_]:
        """test(text) of every id, and False at the end for -1: flags[ids] is the mask of rows, without a search per row."""
        return np.array([*(bool(test(t)) for t in self.texts), False])


class Lookup:
    """A column that follows from another one: row r has values[index[r]] (index -1: the last of the values).

    Own captures know much of a task by its kernel. Such columns are made when asked for, and those that are asked for together
    are told apart by their index alone (profiler.analysis.groups.kinds)."""

    def __init__(self, index: Array, values: Array) -> None:
        self.index, self.values = index, values

    def __call__(self) -> Array:
        made: Array = np.take(self.values, self.index)
        return made


class Packed:
    """A column of int64 kept in half the room: its distances from another column, or itself where there is none."""

    def __init__(self, values: Array, base: Array | None = None) -> None:
        self.values, self.base = values, base

    def __call__(self) -> Array:
        wide = self.values.astype(np.int64)
        if self.base is not None:
            wide += self.base
        return wide


def packed(values: Array, base: Array | None = None) -> Array | Packed:
    """A column for a table that few ask for: packed where its numbers fit, else as it is."""
    limits = np.iinfo(np.int32)
    small = values if base is None else values - base
    if values.strides == (0,) or not len(small) or int(small.min()) < limits.min or int(small.max()) > limits.max:
        return values
    return Packed(small.astype(np.int32), base)


class Columns(Mapping[str, Array]):
    """One table: equally long arrays by column name. `get` gives None for a column the source did not have.

    A column may be given as a function that makes it; it is called when the column is first asked for. Packed columns are made
    each time, and of lookups only ids and counts are kept: dozens of measures (float64) would take more memory than all that
    was recorded.
    """

    def __init__(self, columns: Mapping[str, Array | Callable[[], Array]] | None = None, rows: int | None = None) -> None:
        self._columns: dict[str, Array | Callable[[], Array]] = dict(columns or {})
        self._lookups = {n: c for n, c in self._columns.items() if isinstance(c, Lookup)}
        self._counts: dict[str, dict[int, int]] = {}
        lengths = {n: len(c) for n, c in self._columns.items() if isinstance(c, np.ndarray)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of unequal length: {lengths}")
        self.rows = next(iter(lengths.values()), rows or 0)

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        if not isinstance(column, np.ndarray):
            made = column()
            if not isinstance(column, Packed) and not (isinstance(column, Lookup) and made.dtype.kind == "f"):
                self._columns[name] = made
            return made
        return column

    def at(self, name: str, rows: Array) -> Array:
        """A column at some rows; a lookup is not made for all others."""
        lookup = self._lookups.get(name)
        found: Array = self[name][rows] if lookup is None else np.take(lookup.values, lookup.index[rows])
        return found

    def lookup(self, name: str) -> Lookup | None:
        """The column as the lookup it was given as, if it was."""
        return self._lookups.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of rows (not of columns): `if len(trace.comm)` asks whether anything is there."""
        return self.rows

    def __bool__(self) -> bool:
        return self.rows > 0

    def counts(self, name: str) -> dict[int, int]:
        """How often each value of a column of codes or ids occurs; counted once."""
        if name not in self._counts:
            values = self[name]
            if values.strides == (0,):  # one value
                self._counts[name] = {int(values[0]): self.rows} if self.rows else {}
            else:
                self._counts[name] = _counted(values)
        return self._counts[name]

    def take(self, index: Array) -> Columns:
        """The rows of an index or mask, in its order."""
        made: dict[str, Array | Callable[[], Array]] = {}
        numbers: dict[int, Array] = {}  # of lookups that share an index, taken once
        for name, column in self._columns.items():
            if lookup := self._lookups.get(name):
                if id(lookup.index) not in numbers:
                    numbers[id(lookup.index)] = lookup.index[index]
                made[name] = Lookup(numbers[id(lookup.index)], lookup.values)
            else:
                made[name] = column[index] if isinstance(column, np.ndarray) else partial(self._taken, name, index)
        return Columns(made)

    def _taken(self, name: str, index: Array) -> Array:
        taken: Array = self[name][index]
        return taken

    def filled(self, name: str) -> Array:
        """A column, all -1 ("no value") where the source did not have it."""
        found = self.get(name)
        return np.full(self.rows, -1, np.int64) if found is None else found

    def with_columns(self, **columns: Array | Callable[[], Array]) -> Columns:
        """The same table with columns added or replaced."""
        return Columns({**self._columns, **self._lookups, **columns})


def _counted(values: Array) -> dict[int, int]:
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if high - low > len(values) + 1024:
        found, counts = np.unique(values, return_counts=True)
    else:
        counts = np.bincount(values if low == 0 else values.astype(np.int64) - low, minlength=high - low + 1)
        found = np.flatnonzero(counts)
        counts, found = counts[found], found + low
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


@dataclass
class Trace:
    """What one process did (or what one file tells of it).

    meta: soc, versions {cann, driver, ...}, env, collection, ranks, world_size, unix_zero_ns (unix time of time zero),
          pid, command, host, generator ("npuscope", "msprof", "torch_npu", "mindspore", "chrome"), lost (rows dropped),
          simulated (bool), tables (sums without rows in time: profiler.read.statistics),
          soc_inferred and rank_assumed (facts that are not in the file).
    parts: traces of other processes or ranks found at the same path, each complete in itself.
    """

    source: Path
    strings: Strings = field(default_factory=Strings)
    api: Columns = field(default_factory=Columns)
    task: Columns = field(default_factory=Columns)
    comm: Columns = field(default_factory=Columns)
    memory: Columns = field(default_factory=Columns)
    counter: Columns = field(default_factory=Columns)
    marker: Columns = field(default_factory=Columns)
    meta: dict[str, Any] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)
    parts: list[Trace] = field(default_factory=list)

    def span(self) -> tuple[int, int]:
        """First start and last end over api, task and comm rows, ns; (0, 0) for an empty trace."""
        tables = [t for t in (self.api, self.task, self.comm) if t]
        if not tables:
            return 0, 0
        return min(int(t["start"].min()) for t in tables), max(int(t["end"].max()) for t in tables)

    def devices(self) -> list[int]:
        """Devices that did something, in order."""
        found = [np.unique(t["device"]) for t in (self.task, self.comm) if t]
        return sorted({int(d) for ids in found for d in ids.tolist() if d >= 0})

    def tasks_of(self, *kinds: str) -> Array:
        """Mask over task rows whose kind is one of the names (npu.events.KINDS)."""
        return _rows_with(self.task, "kind", map(events.KINDS.index, kinds))

    def api_named(self, *names: str) -> Array:
        """Mask over api rows by exact name, e.g. api_named("aclrtSynchronizeStream")."""
        return _rows_with(self.api, "name", (i for i in map(self.strings.find, names) if i >= 0))


def _rows_with(table: Columns, name: str, wanted: Iterable[int]) -> Array:
    """Mask over the rows of a table whose code or id is one of some; what no row has is not looked for."""
    found = np.zeros(len(table), bool)
    if not table:
        return found
    counts = table.counts(name)
    codes = {code for code in wanted if code in counts}
    if sum(counts[code] for code in codes) == len(table):
        found[:] = True
        return found
    values = table[name]
    for code in codes:
        found |= values == code
    return found
