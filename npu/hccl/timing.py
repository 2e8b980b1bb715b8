"""When every transfer of a collective starts and ends.

1. A rank begins a step when its own transfers of all former steps have ended; a transfer begins when both its ends have begun.
2. It takes the link's latency, then its bytes at the rate it gets. Transfers through the same resource share it max-min fair:
   the resource with the least left for each gives its users that, and so on with the rest.
3. A receiver adds what arrived one piece after the other, reduce_ns_per_byte each.
On a net without congestion the end of the last transfer is the closed formula's time (npu.hccl.formula).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from npu.hccl.topology import Link, Resource, Topology
from npu.hccl.transfer import Steps

REDUCE_NS_PER_BYTE = 0.0  # SDMA adds while it copies (inline reduce)
SAME = 1e-9  # relative: what differs by less is one moment, one share


class Timed(NamedTuple):
    """What one rank sends another in one step, in one piece. Times in ns; wait: when the receiver began the step."""

    step: int
    src: int
    dst: int
    bytes: int
    reduce: bool
    wait: float
    start: float
    end: float
    link: Link


class _Flow:
    __slots__ = ("bytes", "dst", "end", "gone", "left", "link", "rate", "reduce", "src", "start", "step", "wait")

    def __init__(self, step: int, src: int, dst: int, count: int, reduce: bool, link: Link) -> None:
        self.step, self.src, self.dst, self.bytes, self.reduce, self.link = step, src, dst, count, reduce, link
        self.left = count * link.slow
        self.rate = self.wait = self.start = self.end = 0.0
        self.gone = False


class Piece(NamedTuple):
    """What one rank sends another in one step, in elements."""

    step: int
    src: int
    dst: int
    reduce: bool
    size: int


def pieces(steps: Steps) -> tuple[Piece, ...]:
    """The transfers of steps, one for each pair of ranks and step. What a rank keeps takes no link."""
    made = []
    for number, step in enumerate(steps):
        sums: dict[tuple[int, int, bool], int] = defaultdict(int)
        for t in step:
            if t.src != t.dst:
                sums[t.src, t.dst, t.reduce] += t.size
        made += [Piece(number, *key, size) for key, size in sums.items()]
    return tuple(made)


def play(
    parts: Sequence[Piece],
    topology: Topology,
    itemsize: float = 1,
    start: float = 0.0,
    reduce_ns_per_byte: float = REDUCE_NS_PER_BYTE,
) -> list[Timed]:
    """Every transfer with its times, in order of steps. itemsize: bytes per element of the pieces."""
    flows = [_Flow(p.step, p.src, p.dst, round(p.size * itemsize), p.reduce, topology.link(p.src, p.dst)) for p in parts]
    _Run(flows, topology.ranks, start, reduce_ns_per_byte).go()
    return [Timed(f.step, f.src, f.dst, f.bytes, f.reduce, f.wait, f.start, f.end, f.link) for f in flows]


def duration(steps: Steps, topology: Topology, itemsize: float = 1, reduce_ns_per_byte: float = REDUCE_NS_PER_BYTE) -> float:
    """Time of the whole, ns."""
    return max((t.end for t in play(pieces(steps), topology, itemsize, 0.0, reduce_ns_per_byte)), default=0.0)


class _Run:
    """One play: which flows wait, travel, or are being added."""

    def __init__(self, flows: Sequence[_Flow], ranks: int, start: float, reduce_ns_per_byte: float) -> None:
        self.now, self.add = start, reduce_ns_per_byte
        self.of_step: list[dict[int, list[_Flow]]] = [{} for _ in range(ranks)]  # by rank and step, steps in order
        for flow in flows:
            for rank in (flow.src, flow.dst):
                self.of_step[rank].setdefault(flow.step, []).append(flow)
        self.todo = [{step: len(fs) for step, fs in mine.items()} for mine in self.of_step]
        self.order = [list(mine) for mine in self.of_step]
        self.at = [0] * ranks
        self.begun = [start] * ranks
        self.adder = [start] * ranks  # when a rank's adding is free again
        self.pending: list[tuple[float, int, int, _Flow]] = []  # (time, 0 departs | 1 added, number, flow)
        self.count = 0
        self.moving: list[_Flow] = []

    def step_of(self, rank: int) -> int:
        order = self.order[rank]
        return order[self.at[rank]] if self.at[rank] < len(order) else -1

    def go(self) -> None:
        for rank in range(len(self.order)):
            self._release(rank)
        while self.pending or self.moving:
            when = self.pending[0][0] if self.pending else float("inf")
            for flow in self.moving:
                when = min(when, self.now + flow.left / flow.rate)
            self._pass(when)

    def _release(self, rank: int) -> None:
        """A rank begins its next step: what its peers are ready for as well departs."""
        step = self.step_of(rank)
        if step < 0:
            return
        for flow in self.of_step[rank][step]:
            if self.step_of(flow.src) == step == self.step_of(flow.dst) and not flow.gone:
                flow.gone = True
                flow.start = self.now
                flow.wait = self.begun[flow.dst]
                self._push(self.now + flow.link.latency * flow.link.slow, 0, flow)

    def _push(self, when: float, what: int, flow: _Flow) -> None:
        self.count += 1
        heapq.heappush(self.pending, (when, what, self.count, flow))

    def _pass(self, when: float) -> None:
        """Let time pass to the next event, and do all that happens then."""
        span, self.now = when - self.now, when
        slop = SAME * max(1.0, when)
        still: list[_Flow] = []
        arrived: list[_Flow] = []
        for flow in self.moving:
            flow.left -= span * flow.rate
            (still if flow.left > slop * flow.rate else arrived).append(flow)
        self.moving = still
        for flow in arrived:
            self._arrive(flow)
        changed = bool(arrived)
        ended = []
        while self.pending and self.pending[0][0] <= when + slop:
            _, what, _, flow = heapq.heappop(self.pending)
            if what == 0 and flow.left > 0:
                self.moving.append(flow)
                changed = True
            elif what == 0:
                self._arrive(flow)
            else:
                ended.append(flow)
        for flow in ended:
            self._end(flow)
        if changed:
            _share(self.moving)

    def _arrive(self, flow: _Flow) -> None:
        if not flow.reduce or not self.add:
            self._push(self.now, 1, flow)
            return
        done = max(self.now, self.adder[flow.dst]) + flow.bytes * self.add
        self.adder[flow.dst] = done
        self._push(done, 1, flow)

    def _end(self, flow: _Flow) -> None:
        flow.end = self.now
        for rank in (flow.src, flow.dst):
            self.todo[rank][flow.step] -= 1
            if not self.todo[rank][flow.step]:
                self.at[rank] += 1
                self.begun[rank] = self.now
                self._release(rank)


def _share(flows: Sequence[_Flow]) -> None:
    """Max-min fair rates."""
    capacity: dict[Resource, float] = {}
    users: dict[Resource, list[_Flow]] = defaultdict(list)
    for flow in flows:
        flow.rate = 0.0
        for resource, gbps in flow.link.resources:
            capacity[resource] = gbps
            users[resource].append(flow)
    waiting = {r: len(u) for r, u in users.items()}
    while waiting:
        least = min(capacity[r] / n for r, n in waiting.items())
        for resource in [r for r, n in waiting.items() if capacity[r] / n <= least * (1 + SAME)]:
            for flow in users[resource]:
                if flow.rate:
                    continue
                flow.rate = least
                for other, _ in flow.link.resources:
                    capacity[other] -= least
                    waiting[other] -= 1
        waiting = {r: n for r, n in waiting.items() if n > 0}
