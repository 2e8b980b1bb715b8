"""Which tasks touch the same device memory: own captures tell what each task reads and writes ("allocation+offset:bytes;...")."""

from __future__ import annotations

from functools import cached_property

from profiler.analysis.calls import column
from profiler.analysis.context import Context

Range = tuple[str, int, int]  # allocation, first byte, byte behind the last


class Buffers:
    """Reads and writes of tasks by row. Verdicts on pairs of texts are kept: scripts use few buffers over and over."""

    def __init__(self, context: Context) -> None:
        self.strings = context.trace.strings
        self.reads, self.writes = (column(context.trace, "task", name) for name in ("reads", "writes"))
        self._ranges: dict[int, tuple[Range, ...]] = {}
        self._overlaps: dict[tuple[int, int], bool] = {}

    @cached_property
    def known(self) -> bool:
        """True when the source tells the buffers of tasks at all."""
        return bool((self.reads >= 0).any() or (self.writes >= 0).any())

    def tells(self, row: int) -> bool:
        """True when anything is known of this task."""
        return int(self.reads[row]) >= 0 or int(self.writes[row]) >= 0

    def after(self, first: int, second: int) -> bool:
        """The second task reads what the first one writes."""
        return self._meet(int(self.writes[first]), int(self.reads[second]))

    def conflict(self, first: int, second: int) -> bool:
        """The second task has to come after the first: it reads or overwrites what that writes, or overwrites what that reads."""
        written = int(self.writes[second])
        return (
            self.after(first, second)
            or self._meet(int(self.writes[first]), written)
            or self._meet(int(self.reads[first]), written)
        )

    def _meet(self, left: int, right: int) -> bool:
        if left < 0 or right < 0:
            return False
        key = (left, right)
        if key not in self._overlaps:
            self._overlaps[key] = any(
                a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in self._parsed(left) for b in self._parsed(right)
            )
        return self._overlaps[key]

    def _parsed(self, text: int) -> tuple[Range, ...]:
        if text not in self._ranges:
            self._ranges[text] = tuple(found for part in self.strings[text].split(";") if (found := _range(part)) is not None)
        return self._ranges[text]


def _range(text: str) -> Range | None:
    """ "3+1024:64" -> ("3", 1024, 1088); None for a text of another form (host memory has no allocation)."""
    place, _, size = text.partition(":")
    allocation, _, offset = place.partition("+")
    if not allocation or not offset.isdigit() or not size.isdigit():
        return None
    return allocation, int(offset), int(offset) + int(size)
