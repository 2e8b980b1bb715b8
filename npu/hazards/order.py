"""What happens before what: lanes run their operations one after another, signals and the host's waits order lanes.

1. Every lane has a vector clock: of each lane, the number of its last operation that is known to be over.
2. An operation begins after the one before it on its lane, after all that was over for the host when it was submitted, and after
   the signals it awaits; its clock is the join of these, with its own number for its own lane.
3. One operation is before another when the other's clock holds its number or a higher one for its lane.

An operation may await a signal whose giver is submitted later (a wait for an event nobody has recorded yet). It and what is
behind it on its lane are held back until the giver is there, so operations are told in an order that respects what happens before
what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

HOST = -1  # the lane of the host: all its threads are one, in the order of their calls

Clock = Mapping[int, int]  # lane -> number; never changed once made


class Touch(NamedTuple):
    """Bytes start to end (not included) of a block, read or written."""

    block: tuple[object, ...]
    start: int
    end: int
    writes: bool


class Signal:
    """Given by one operation, or by the host; awaited by others. clock: what is over once it was given, None until then."""

    __slots__ = ("clock", "held")

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self.held: list[int] = []  # lanes whose next operation awaits it


class Op:
    """One operation on a lane. what: the caller's own note of it. number and clock are set once it begins; 0 until then."""

    __slots__ = ("awaits", "clock", "gives", "known", "lane", "number", "touches", "what")

    def __init__(
        self, lane: int, what: object, known: Clock, touches: Sequence[Touch], awaits: Sequence[Signal], gives: Signal | None
    ) -> None:
        self.lane, self.what, self.known = lane, what, known
        self.touches, self.awaits, self.gives = touches, awaits, gives
        self.number = 0
        self.clock: Clock = {}

    def before(self, other: Op) -> bool:
        """Whether this one is over when the other begins."""
        return 0 < self.number <= other.clock.get(self.lane, 0)


class _Lane:
    __slots__ = ("clock", "count", "queue")

    def __init__(self) -> None:
        self.clock: Clock = {}
        self.count = 0
        self.queue: deque[Op] = deque()


def _join(one: Clock, other: Clock) -> Clock:
    """The later of both for each lane."""
    if not other or one is other:
        return one
    if not one:
        return other
    joined = dict(one)
    for lane, number in other.items():
        if joined.get(lane, 0) < number:
            joined[lane] = number
    return joined


class Order:
    """begun(operation) is called once for each operation, in an order that respects what happens before what."""

    def __init__(self, begun: Callable[[Op], None]) -> None:
        self._begun = begun
        self._lanes: dict[int, _Lane] = {HOST: _Lane()}

    def submit(
        self,
        lane: int,
        what: object,
        touches: Sequence[Touch] = (),
        awaits: Sequence[Signal] = (),
        gives: Signal | None = None,
    ) -> Op:
        """The host queues an operation on a lane; on HOST it does it itself, at once."""
        op = Op(lane, what, self._lanes[HOST].clock, touches, awaits, gives)
        self._lanes.setdefault(lane, _Lane()).queue.append(op)
        self._drain(lane)
        return op

    def host_after(self, op: Op) -> None:
        """The host knows that an operation is over. What it was still held back by must have happened then."""
        while op.number == 0:
            self._begin(self._lanes[op.lane])
        host = self._lanes[HOST]
        host.clock = _join(host.clock, op.clock)

    def give(self, signal: Signal) -> None:
        """The host gives a signal."""
        self._give(signal, self._lanes[HOST].clock)

    def _drain(self, lane: int) -> None:
        """Begin what nothing holds back."""
        state = self._lanes[lane]
        while state.queue:
            missing = next((s for s in state.queue[0].awaits if s.clock is None), None)
            if missing is not None:
                if lane not in missing.held:
                    missing.held.append(lane)
                return
            self._begin(state)

    def _begin(self, state: _Lane) -> None:
        op = state.queue.popleft()
        clock = _join(state.clock, op.known)
        for signal in op.awaits:
            clock = _join(clock, signal.clock or {})
        state.count += 1
        op.number = state.count
        op.clock = state.clock = {**clock, op.lane: op.number}
        self._begun(op)
        if op.gives is not None:
            self._give(op.gives, op.clock)

    def _give(self, signal: Signal, clock: Clock) -> None:
        signal.clock = clock
        held, signal.held = signal.held, []
        for lane in held:
            self._drain(lane)
