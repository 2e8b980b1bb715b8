"""What each byte of memory was last used by: the last write and, on each lane, the last read since then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from npu.hazards.order import Op, Touch


class Clash(NamedTuple):
    """An access and an earlier one of the same bytes that is not before it."""

    first: Op
    first_writes: bool
    start: int
    end: int


class _Cell:
    """Bytes that were used alike. writer: of their last write; readers: the last reads since then, by lane."""

    __slots__ = ("end", "readers", "start", "writer")

    def __init__(self, start: int, end: int, writer: Op | None, readers: dict[int, Op]) -> None:
        self.start, self.end, self.writer, self.readers = start, end, writer, readers


class Shadow:
    """Of one block of memory: cells by address, none overlapping another."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._cells: list[_Cell] = []

    def touch(self, op: Op, touch: Touch) -> tuple[list[Clash], bool]:
        """Note an access: what it clashes with, and whether any of its bytes was written before."""
        low, high = self._within(touch.start, touch.end)
        cells = self._cells[low:high]
        clashes = [clash for cell in cells for clash in _clashes(cell, op, touch.writes)]
        written = any(cell.writer is not None for cell in cells)
        fresh = [_Cell(touch.start, touch.end, op, {})] if touch.writes else list(_read(cells, op, touch.start, touch.end))
        self._cells[low:high] = fresh
        self._starts[low:high] = [cell.start for cell in fresh]
        return clashes, written

    def _within(self, start: int, end: int) -> tuple[int, int]:
        """The range of cells between two addresses, after cutting those that reach over them."""
        self._cut(start)
        self._cut(end)
        return bisect_right(self._starts, start - 1), bisect_right(self._starts, end - 1)

    def _cut(self, at: int) -> None:
        number = bisect_right(self._starts, at) - 1
        if number < 0:
            return
        cell = self._cells[number]
        if cell.start < at < cell.end:
            self._cells.insert(number + 1, _Cell(at, cell.end, cell.writer, dict(cell.readers)))
            self._starts.insert(number + 1, at)
            cell.end = at


def _clashes(cell: _Cell, op: Op, writes: bool) -> Iterator[Clash]:
    if cell.writer is not None and not cell.writer.before(op):
        yield Clash(cell.writer, True, cell.start, cell.end)
    if writes:
        for reader in cell.readers.values():
            if not reader.before(op):
                yield Clash(reader, False, cell.start, cell.end)


def _read(cells: list[_Cell], op: Op, start: int, end: int) -> Iterator[_Cell]:
    """The same cells with a further read, and cells for the bytes between them."""
    for cell in cells:
        if start < cell.start:
            yield _Cell(start, cell.start, None, {op.lane: op})
        cell.readers[op.lane] = op
        yield cell
        start = cell.end
    if start < end:
        yield _Cell(start, end, None, {op.lane: op})
