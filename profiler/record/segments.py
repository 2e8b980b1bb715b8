"""One table on disk: preallocated, memory-mapped segment files, appended with one pack per row.

The pages belong to the kernel as soon as a row is packed, so kill -9 loses no completed call. Space is allocated before it
is mapped, so a full disk is an error here and not a signal; then rows are counted as lost and the script goes on. One segment
of a table is mapped at a time, so memory stays the same however long a run is.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from npu.events import TABLES
from profiler.record.layout import record, segment
from profiler.record.room import Full, Room

RETRY = 1024  # lost rows after which a full disk is tried again

# The writer of a table has a parameter for each column: handing values on in a tuple would double what a row costs.
_WRITER = """
def make(pack_into, size, following, lose):
    place, at, end = None, 0, 0
    def write({columns}):
        nonlocal place, at, end
        if at >= end:
            fresh = following()
            if fresh is None:
                lose()
                return
            place, at, end = fresh, 0, len(fresh) // size * size
        pack_into(place, at, {columns}, 1)
        at += size
    return write
"""


@cache
def _maker(table: str) -> Callable[..., Callable[..., None]]:
    """What makes writers of a table; compiled from its column names."""
    names: dict[str, Callable[..., Callable[..., None]]] = {}
    exec(_WRITER.format(columns=", ".join(f"_{c.name}" for c in TABLES[table][:-1])), names)
    return names["make"]


class Segments:
    """The segment files of one table. lost: rows that found no place; full: called when the first of them is lost."""

    def __init__(self, folder: Path, table: str, room: Room, full: Callable[[], None]) -> None:
        self.folder, self.table, self.room = folder, table, room
        self.lost = 0
        self._full = full
        self._number = 0
        self._record = record(table)
        self._last: Full | None = None

    def writer(self) -> Callable[..., None]:
        """A function that appends one row (values in column order, without the commit mark)."""
        made: Callable[..., None] = _maker(self.table)(self._record.pack_into, self._record.size, self._next, self._lose)
        return made

    def _lose(self) -> None:
        self.lost += 1
        if self.lost == 1:
            self._full()

    def _next(self) -> mmap.mmap | None:
        """Map the next segment; None when the disk has no room for it."""
        if self.lost % RETRY:
            return None
        if self._last is not None:
            self.room.full(self._last)
            self._last = None
        rows = self.room.rows(self._number, self._record.size)
        length = rows * self._record.size
        path = self.folder / segment(self.table, self._number)
        self.room.take(length)
        made = _mapped(path, length)
        if made is None:
            self.room.give(length)
            return None
        self._number += 1
        self._last = Full(path, self.table, rows, length)
        return made


def _mapped(path: Path, length: int) -> mmap.mmap | None:
    """A new file of that length in memory; None when the disk has no room."""
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return None
    try:
        os.posix_fallocate(number, 0, length)
        return mmap.mmap(number, length)
    except OSError:
        path.unlink()
        return None
    finally:
        os.close(number)
