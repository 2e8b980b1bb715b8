"""How much disk a capture may take. Beyond the limit the oldest full segments go, those of kernels never: all rows name them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from profiler.record.layout import rows_of

SHARE = 32  # a segment is at most this part of the limit: what goes at once is little
KEPT = ("kernel",)


class Full(NamedTuple):
    """A segment that takes no more rows."""

    path: Path
    table: str
    rows: int
    bytes: int


class Room:
    """used: bytes of all segments and texts; limit: 0 for none; gone: hears of table and rows before they go."""

    def __init__(self, limit: int, gone: Callable[[str, int], None]) -> None:
        self.limit, self.used = limit, 0
        self._gone = gone
        self._full: deque[Full] = deque()

    def rows(self, number: int, record: int) -> int:
        """How many rows of `record` bytes segment `number` of a table has room for."""
        return min(rows_of(number), max(1, self.limit // SHARE // record)) if self.limit else rows_of(number)

    def take(self, size: int) -> None:
        """Bytes are about to be used."""
        self.used += size
        while self.limit and self.used > self.limit and self._full:
            oldest = self._full.popleft()
            self._gone(oldest.table, oldest.rows)
            oldest.path.unlink(missing_ok=True)
            self.used -= oldest.bytes

    def give(self, size: int) -> None:
        """They were not used."""
        self.used -= size

    def full(self, segment: Full) -> None:
        """A segment may go from now on."""
        if segment.table not in KEPT:
            self._full.append(segment)
