"""Order and shadow against programs whose order is known by construction: all pairs are decided by walking a graph of edges."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu.hazards.detector import READ_WRITE, UNWRITTEN, WRITE_READ, WRITE_WRITE, Detector, Hazard
from npu.hazards.order import HOST, Op, Signal, Touch

BLOCK = ("device", 0, 0)


class Program:
    """A program run through a detector, and at the same time as a graph: `after[n]` holds what operation n directly follows."""

    def __init__(self) -> None:
        self.hazards: list[Hazard] = []
        self.detector = Detector(self.hazards.append)
        self.ops: list[Op] = []
        self.touches: list[tuple[Touch, ...]] = []
        self.after: list[set[int]] = []
        self.last: dict[int, int] = {}  # of each lane
        self.known: set[int] = set()  # by the host
        self.records: dict[int, tuple[Signal, int]] = {}

    def submit(self, lane: int, touches: tuple[Touch, ...] = (), after: int | None = None, signals: tuple[Signal, ...] = ()) -> int:
        number = len(self.after)
        edges = set(self.known)
        if lane in self.last:
            edges.add(self.last[lane])
        if after is not None:
            edges.add(after)
        self.after.append(edges)
        self.touches.append(touches)
        self.last[lane] = number
        if lane == HOST:
            self.known.add(number)
        self.ops.append(self.detector.submit(lane, number, touches, signals))
        return number

    def record(self, lane: int, event: int) -> None:
        signal = Signal()
        number = len(self.after)
        self.after.append(set(self.known) | ({self.last[lane]} if lane in self.last else set()))
        self.touches.append(())
        self.last[lane] = number
        self.ops.append(self.detector.submit(lane, number, gives=signal))
        self.records[event] = signal, number

    def wait(self, lane: int, event: int) -> None:
        if event in self.records:
            signal, number = self.records[event]
            self.submit(lane, (), number, (signal,))

    def synchronize(self, lane: int) -> None:
        if lane in self.last and lane != HOST:
            self.known.add(self.last[lane])
            self.detector.host_after(self.ops[self.last[lane]])

    def reaches(self) -> list[set[int]]:
        """For each operation all that are before it."""
        before: list[set[int]] = []
        for edges in self.after:  # edges lead back only
            before.append(set(edges).union(*(before[e] for e in edges)))
        return before

    def races(self) -> set[tuple[int, int]]:
        """All pairs of operations that use the same byte, one of them writing, with no way from one to the other."""
        before = self.reaches()
        return {
            (one, other)
            for other in range(len(self.after))
            for one in range(other)
            if one not in before[other]
            and any(
                a.block == b.block and a.start < b.end and b.start < a.end and (a.writes or b.writes)
                for a in self.touches[one]
                for b in self.touches[other]
            )
        }

    def told(self) -> set[tuple[int, int]]:
        return {(h.first.what, h.second.what) for h in self.hazards if h.first is not None}  # type: ignore[misc]


LANES = st.integers(0, 3)
TOUCH = st.builds(
    lambda block, start, length, writes: Touch(("device", 0, block), start, start + length, writes),
    st.integers(0, 1), st.integers(0, 12), st.integers(1, 8), st.booleans(),
)  # fmt: skip
STEP = st.one_of(
    st.tuples(st.just("work"), st.one_of(LANES, st.just(HOST)), st.lists(TOUCH, min_size=1, max_size=2).map(tuple)),
    st.tuples(st.just("record"), LANES, st.integers(0, 2)),
    st.tuples(st.just("wait"), LANES, st.integers(0, 2)),
    st.tuples(st.just("synchronize"), LANES, st.none()),
)


@given(st.lists(STEP, max_size=40))
def test_told_is_what_no_way_leads_around(steps: list[tuple[str, int, object]]) -> None:
    """No false alarm in any program, and a program with a race is never called clean."""
    program = Program()
    for what, lane, more in steps:
        if what == "work":
            program.submit(lane, more)  # type: ignore[arg-type]
        elif what == "synchronize":
            program.synchronize(lane)
        else:
            getattr(program, what)(lane, more)
    races = program.races()
    assert program.told() <= races
    assert bool(program.told()) == bool(races)


class Item(NamedTuple):
    lane: int
    touch: Touch


@given(st.lists(st.builds(Item, LANES, TOUCH), min_size=2, max_size=30))
def test_a_chain_of_events_over_all_lanes_is_silent_and_one_missing_wait_is_found(items: list[Item]) -> None:
    """Every item waits for the one before it. Without the last wait, what is told are the clashes of the last item alone."""
    for missing in (False, True):
        program = Program()
        for number, (lane, touch) in enumerate(items):
            if number and not (missing and number == len(items) - 1):
                program.wait(lane, 0)
            program.submit(lane, (touch,))
            program.record(lane, 0)
        assert bool(program.told()) == bool(program.races())
        if not missing:
            assert program.told() == set()


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_wait_before_its_record_holds_back_what_is_behind_it(order: list[bool]) -> None:
    """Lane 1 waits for a signal that lane 0 gives only later: its work comes after lane 0's all the same."""
    hazards: list[Hazard] = []
    detector = Detector(hazards.append)
    signal = Signal()
    detector.submit(1, "wait", awaits=(signal,))
    for writes in order:
        detector.submit(1, "reader", (Touch(BLOCK, 0, 8, writes),))
    detector.submit(0, "writer", (Touch(BLOCK, 0, 8, True),), gives=signal)
    assert hazards == []
    detector.submit(2, "stranger", (Touch(BLOCK, 4, 5, True),))
    assert {h.second.what for h in hazards} == {"stranger"}


def run(*accesses: tuple[int, int, int, bool]) -> list[tuple[str, object, object, int, int]]:
    """(lane, start, end, writes) on one block; what is told as (kind, first, second, start, end), operations by their number."""
    found: list[Hazard] = []
    detector = Detector(found.append)
    for number, (lane, start, end, writes) in enumerate(accesses):
        detector.submit(lane, number, (Touch(BLOCK, start, end, writes),))
    return [(h.kind, h.first.what if h.first else None, h.second.what, h.start, h.end) for h in found]


@pytest.mark.parametrize(("accesses", "expected"), [
    ([(0, 0, 8, True), (1, 4, 12, False)], [(WRITE_READ, 0, 1, 4, 8)]),
    ([(0, 0, 8, True), (1, 4, 12, True)], [(WRITE_WRITE, 0, 1, 4, 8)]),
    ([(0, 0, 8, True), (0, 0, 8, False), (1, 2, 3, True)], [(WRITE_WRITE, 0, 2, 2, 3), (READ_WRITE, 1, 2, 2, 3)]),
    ([(0, 0, 8, True), (1, 8, 16, True)], []),
    ([(0, 0, 8, True), (0, 0, 8, False), (0, 0, 8, True)], []),
    ([(0, 0, 8, False)], [(UNWRITTEN, None, 0, 0, 8)]),
    ([(0, 0, 1, True), (0, 0, 8, False)], []),  # a part was written: padding is not told
    ([(0, 4, 8, True), (0, 0, 4, False)], [(UNWRITTEN, None, 1, 0, 4)]),
])  # fmt: skip
def test_kinds_and_bytes(accesses: list[tuple[int, int, int, bool]], expected: list[tuple[str, object, object, int, int]]) -> None:
    assert run(*accesses) == expected


def test_the_host_orders_what_it_has_waited_for() -> None:
    found: list[Hazard] = []
    detector = Detector(found.append)
    first = detector.submit(0, "first", (Touch(BLOCK, 0, 8, True),))
    detector.host_after(first)
    detector.submit(1, "second", (Touch(BLOCK, 0, 8, True),))
    detector.submit(HOST, "host", (Touch(BLOCK, 0, 8, False),))
    assert [(h.kind, h.second.what) for h in found] == [(WRITE_READ, "host")]


def test_a_wait_that_is_over_for_the_host_must_have_had_its_record() -> None:
    """The record came from somewhere that was not seen: what is behind the wait is not held back for ever."""
    found: list[Hazard] = []
    detector = Detector(found.append)
    waiting = detector.submit(0, "wait", (Touch(BLOCK, 0, 8, True),), awaits=(Signal(),))
    assert waiting.number == 0
    detector.host_after(waiting)
    detector.submit(1, "next", (Touch(BLOCK, 0, 8, True),))
    assert (waiting.number, found) == (1, [])


def test_a_block_of_the_same_name_is_another_one_after_it_was_forgotten() -> None:
    found: list[Hazard] = []
    detector = Detector(found.append)
    detector.submit(0, 0, (Touch(BLOCK, 0, 8, True),))
    detector.forget(BLOCK)
    detector.submit(1, 1, (Touch(BLOCK, 0, 8, True),))
    assert found == []
