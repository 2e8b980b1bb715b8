"""Replay: the times of all nodes again, with some of them changed (spec of the analyzer, section 4).

1. Edits change the numbers of a copy of the graph: links, edges, what a node adds.
2. Nodes with nothing but their chain link follow the node before them at a fixed distance: a running sum per chain.
3. What remains, the joints, is swept once in topological order.
An edit only ever lets things happen earlier or adds an edge along the measured order, so one order serves all replays.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from profiler.analysis.edits import DropCalls, Edit, Move, Overlap, Remove, Scale, SetTo, Unblock
from profiler.analysis.graph import LAUNCH, WAIT, Graph
from profiler.analysis.launches import Launches
from profiler.trace import Array, Trace


class Draft:
    """A copy of the graph's numbers, to be edited and then swept."""

    def __init__(self, trace: Trace, launches: Launches, graph: Graph) -> None:
        self.trace, self.launches, self.graph = trace, launches, graph
        self.linked, self.link = graph.linked.copy(), graph.link.copy()
        self.floor, self.after = graph.floor.copy(), graph.after.copy()
        self.alive = np.ones(len(graph.source), bool)
        self.added: list[tuple[Array, Array, Array]] = []

    def apply(self, edit: Edit) -> None:
        """Change the draft by one edit."""
        match edit:
            case DropCalls(api):
                self._drop_calls(api)
            case Remove(task, api):
                self._remove(task)
                self._cut(LAUNCH, api)
                self._drop_calls(api)
            case SetTo(task, ns):
                self._set(task, ns)
            case Scale(task, factor):
                self._set(task, (self._duration(task) * factor).astype(np.int64))
            case Unblock(api, call_ns):
                self._unblock(api, call_ns)
                self._feed_next(api)
            case Move(task):
                self._move(task)
            case Overlap(api, call_ns):
                self._overlap(api, call_ns)

    def _duration(self, task: Array) -> Array:
        nodes = self.graph.chains.task[task]
        return self.graph.time[nodes] - self.graph.start[nodes]

    def _set(self, task: Array, ns: Array) -> None:
        nodes = self.graph.chains.task[task]
        self.after[nodes] = self.graph.residual[nodes] + ns

    def _remove(self, task: Array) -> None:
        nodes = self.graph.chains.task[task]
        self.after[nodes] = 0
        self.link[nodes] = 0

    def _cut(self, kind: int, rows: Array) -> None:
        """Take away the edges of a kind that belong to these calls."""
        self.alive &= ~((self.graph.kind == kind) & np.isin(self.graph.owner, rows))

    def _drop_calls(self, rows: Array) -> None:
        if len(rows):
            self._cut(WAIT, rows)
            nodes = self.graph.chains.call_end[rows]
            self.link[nodes] = self.after[nodes] = 0

    def _unblock(self, rows: Array, call_ns: int) -> None:
        self._cut(WAIT, rows)
        nodes = self.graph.chains.call_end[rows]
        self.link[nodes] = np.minimum(self.graph.time[nodes] - self.graph.time[np.maximum(nodes - 1, 0)], call_ns)
        self.after[nodes] = 0

    def _add(self, source: Array, target: Array, weight: Array | int = 0) -> None:
        """Edges along the measured order; one against it would close a circle and is left out."""
        weights = np.broadcast_to(np.asarray(weight, np.int64), source.shape)
        good = self.graph.rank[source] < self.graph.rank[target]
        self.added.append((source[good], target[good], weights[good]))

    def _submissions(self, rows: Array) -> tuple[Array, Array, Array]:
        """Per call: row of the kernel launch before it, of the one before that, and after it on its thread (-1 = none)."""
        api = self.trace.api
        runs = np.flatnonzero((self.launches.kernels > 0) & ~self.graph.chains.hidden)
        before, second, after = (np.full(len(rows), -1, np.int64) for _ in range(3))
        for thread in np.unique(api["thread"][rows]):
            own = runs[api["thread"][runs] == thread]
            own = own[np.argsort(api["start"][own], kind="stable")]
            if not len(own):
                continue
            mine = np.flatnonzero(api["thread"][rows] == thread)
            at = np.searchsorted(api["start"][own], api["start"][rows[mine]], side="left")
            for found, shift in ((before, -1), (second, -2), (after, 0)):
                index = at + shift
                good = (index >= 0) & (index < len(own))
                found[mine[good]] = own[index[good]]
        return before, second, after

    def _feed_next(self, rows: Array) -> None:
        """Let the first task of the next launch on the thread wait for the last task of each call."""
        last, (_, _, after) = self.launches.last[rows], self._submissions(rows)
        good = (last >= 0) & (after >= 0)
        task = self.graph.chains.task
        self._add(task[last[good]], task[self.launches.first[after[good]]])

    def _move(self, task: Array) -> None:
        """Take tasks out of their streams: neighbours close ranks, the successor still waits for the task."""
        chains = self.graph.chains
        nodes = np.sort(chains.task[task])
        moved = np.zeros(len(self.linked) + 1, bool)
        moved[nodes] = True
        places = np.arange(len(self.linked))
        stay = np.maximum.accumulate(np.where(moved[:-1], -1, places))  # the nearest node before that stays
        next_ = nodes[(nodes + 1 < len(self.linked)) & ~moved[nodes + 1]] + 1
        next_ = next_[self.linked[next_]]
        before = stay[next_ - 1]
        bridged = (before >= 0) & (chains.chain[np.maximum(before, 0)] == chains.chain[next_])
        self._add(before[bridged], next_[bridged], self.link[next_[bridged]])
        self.linked[nodes] = False
        launched = np.zeros(len(self.linked), bool)
        launched[self.graph.target[self.graph.kind == LAUNCH]] = True
        bare = nodes[~launched[nodes]]  # held by their stream only: from now on by their own call, or by the time they began
        calls = self.launches.row[chains.row[bare]]
        known = calls >= 0
        self._add(chains.call_start[chains.outer[calls[known]]], bare[known])
        self.floor[bare[~known]] = self.graph.start[bare[~known]]
        order = nodes[np.argsort(self.graph.rank[nodes], kind="stable")]
        device = self.trace.task["device"][chains.row[order]]
        same = device[1:] == device[:-1]
        self._add(order[:-1][same], order[1:][same])

    def _overlap(self, rows: Array, call_ns: int) -> None:
        chains, launches = self.graph.chains, self.launches
        rows = rows[launches.first[rows] >= 0]
        self._unblock(rows, call_ns)
        self._feed_next(rows)
        copies = launches.first[rows]
        self._move(copies)
        before, second, _ = self._submissions(rows)
        early = before >= 0
        self._cut(LAUNCH, rows[early])
        nodes = chains.task[copies]
        called = chains.call_start[rows[early]]
        prepared = np.where(self.linked[called], self.link[called], 0)  # the host's own work right before the call
        self._add(chains.call_end[before[early]], nodes[early], prepared + call_ns)
        freed = second >= 0
        self._add(chains.task[launches.last[second[freed]]], nodes[freed])

    def sweep(self) -> Array:
        """The time of every node."""
        graph = self.graph
        live = np.flatnonzero(self.alive)
        source, target, weight = graph.source[live], graph.target[live], graph.weight[live]
        if self.added:
            source, target, weight = (
                np.concatenate((old, *(a[i] for a in self.added))) for i, old in enumerate((source, target, weight))
            )
            order = np.argsort(graph.rank[target], kind="stable")
            source, target, weight = source[order], target[order], weight[order]
        return _swept(self.linked, self.link, self.floor, self.after, source, target, weight, graph.by_rank)


def _swept(
    linked: Array, link: Array, floor: Array, after: Array, source: Array, target: Array, weight: Array, by_rank: Array
) -> Array:
    """Times of all nodes; edges sorted by rank of their target."""
    count = len(linked)
    if not count:
        return np.zeros(0, np.int64)
    joint = ~linked
    joint[target] = True
    distance = np.cumsum(np.where(joint, 0, link + after))
    root = np.maximum.accumulate(np.where(joint, np.arange(count), 0))
    offset = distance - distance[root]

    ordered = by_rank[joint[by_rank]]
    number = np.empty(count, np.int64)
    number[ordered] = np.arange(len(ordered))
    chained = linked[ordered]
    before = np.maximum(ordered - 1, 0)
    came = number[root[source]].tolist()
    cost = (offset[source] + weight).tolist()
    ends = np.cumsum(np.bincount(number[target], minlength=len(ordered))).tolist()
    previous = np.where(chained, number[root[before]], -1).tolist()
    carried = (offset[before] + link[ordered]).tolist()
    adds = after[ordered].tolist()
    times = floor[ordered].tolist()
    edge = 0
    for joint_number, end in enumerate(ends):
        best = times[joint_number]
        chain = previous[joint_number]
        if chain >= 0:
            value = times[chain] + carried[joint_number]
            if value > best:
                best = value
        while edge < end:
            value = times[came[edge]] + cost[edge]
            if value > best:
                best = value
            edge += 1
        times[joint_number] = best + adds[joint_number]
    settled = np.zeros(count, np.int64)
    settled[ordered] = times
    everywhere: Array = settled[root] + offset
    return everywhere


class Replay:
    """Replays of one trace. The identity replay gives back the measured times exactly."""

    def __init__(self, trace: Trace, launches: Launches, graph: Graph, window: tuple[int, int]) -> None:
        self.trace, self.launches, self.graph = trace, launches, graph
        inside = (graph.time >= window[0]) & (graph.time <= window[1])
        self.goals = np.flatnonzero(inside)
        self.end = int(graph.time[self.goals].max()) if len(self.goals) else window[1]

    def times(self, edits: Iterable[Edit] = ()) -> Array:
        """Time of every node after the edits, ns on the trace's timeline."""
        draft = Draft(self.trace, self.launches, self.graph)
        for edit in edits:
            draft.apply(edit)
        return draft.sweep()

    def gain(self, edits: Iterable[Edit]) -> int:
        """By how much sooner everything in the window is done, ns; negative when the edits make it later."""
        if not len(self.goals):
            return 0
        return self.end - int(self.times(edits)[self.goals].max())
