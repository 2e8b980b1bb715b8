"""Device memory that was given back: what a refusal can say about an address that lies in no live allocation."""

from __future__ import annotations

from collections import deque

KEPT = 4096  # allocations remembered, the oldest forgotten first


class Gone:
    """Ranges by the order in which they went."""

    def __init__(self) -> None:
        self._ranges: deque[tuple[int, int, str]] = deque(maxlen=KEPT)
        self.freed = self._ranges.append  # (address, bytes, how): called for each free, so it is no function of its own

    def fate(self, address: int) -> str:
        """What became of an address, by the last range it lay in."""
        for start, size, how in reversed(self._ranges):
            if start <= address < start + size:
                return how
        return "it was never allocated"
