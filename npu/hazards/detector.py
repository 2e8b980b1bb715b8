"""Hazards of a program as it goes: order and shadow together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from npu.hazards.order import Op, Order, Signal, Touch
from npu.hazards.shadow import Shadow

WRITE_WRITE, WRITE_READ, READ_WRITE, UNWRITTEN = "write-write", "write-read", "read-write", "unwritten"


class Hazard(NamedTuple):
    """Two accesses of bytes start to end of a block, in the order of their submission, which nothing orders; for UNWRITTEN
    first is None and second reads what nobody wrote."""

    kind: str
    first: Op | None
    second: Op
    block: tuple[object, ...]
    start: int
    end: int


class Detector:
    """found(hazard) is called for every one, again and again where a program repeats it."""

    def __init__(self, found: Callable[[Hazard], None]) -> None:
        self._found = found
        self._shadows: dict[tuple[object, ...], Shadow] = {}
        self._order = Order(self._begun)
        self.host_after, self.give = self._order.host_after, self._order.give

    def submit(
        self,
        lane: int,
        what: object,
        touches: Sequence[Touch] = (),
        awaits: Sequence[Signal] = (),
        gives: Signal | None = None,
    ) -> Op:
        """Queue an operation; see Order.submit."""
        return self._order.submit(lane, what, touches, awaits, gives)

    def forget(self, block: tuple[object, ...]) -> None:
        """A block is no more; one of the same name later is another one."""
        self._shadows.pop(block, None)

    def _begun(self, op: Op) -> None:
        for touch in op.touches:
            if touch.start >= touch.end:
                continue
            shadow = self._shadows.get(touch.block) or self._shadows.setdefault(touch.block, Shadow())
            clashes, written = shadow.touch(op, touch)
            if not written and not touch.writes and touch._replace(writes=True) not in op.touches:  # it may well overwrite only
                self._found(Hazard(UNWRITTEN, None, op, touch.block, touch.start, touch.end))
            for clash in clashes:
                kind = READ_WRITE if not clash.first_writes else WRITE_WRITE if touch.writes else WRITE_READ
                self._found(Hazard(kind, clash.first, op, touch.block, clash.start, clash.end))
