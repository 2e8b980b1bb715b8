"""A copy of the graph's numbers that edits change: links, edges, what a node adds.

An edit only ever lets things happen earlier or adds an edge along the measured order, so one order serves all replays.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.edits import (
    Aside,
    CallTime,
    DropCalls,
    Edit,
    Meet,
    Move,
    Narrow,
    OneLaunch,
    Overlap,
    OwnTime,
    Remove,
    Rewire,
    Scale,
    SetTo,
    Shorten,
    Skip,
    Spread,
    Unblock,
)
from profiler.analysis.graph import ENGINE, EVENT, LAUNCH, NEVER, WAIT, Graph
from profiler.analysis.groups import changes, ranges, room_for
from profiler.analysis.launches import Launches, around
from profiler.analysis.sweep import Swept, condense, sweep
from profiler.trace import Array, Trace


class Draft:
    """A copy of the graph's numbers, to be edited and then swept.

    alike: the other ranks change as this one does, so collectives keep their waiting; else their arrivals stay.
    """

    def __init__(self, trace: Trace, launches: Launches, graph: Graph, alike: bool = False) -> None:
        self.trace, self.launches, self.graph = trace, launches, graph
        self.linked, self.link, self.after = graph.linked.copy(), graph.link.copy(), graph.after.copy()
        self.alike = alike
        if alike and len(graph.external):
            self.floor[graph.external] = graph.own_floor
            after = self.after[graph.external] + graph.waited
            self.after = room_for(self.after, after)
            self.after[graph.external] = after
        self.alive = np.ones(len(graph.source), bool)
        self.relinked = self.loose = False
        self.added: list[tuple[Array, Array, Array]] = []

    @cached_property
    def floor(self) -> Array:
        """The least time of each node; made when an edit changes some."""
        return self.graph.floor

    def _floor_of(self, nodes: Array) -> Array:
        return self.floor[nodes] if "floor" in self.__dict__ else self.graph.floor_of(nodes)

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
            case Skip(api):
                self._skip(api)
            case OneLaunch(api, gap):
                self._one_launch(api, gap)
            case Spread():
                self._spread(edit)
            case OwnTime(api, ns):
                nodes = self.graph.chains.call_start[api]
                self.link[nodes] = np.minimum(self.link[nodes], ns)
            case CallTime(api, ns):
                self._call_time(api, ns)
            case Aside(api, ns, item):
                self._aside(api, ns, item)
            case Narrow(api):
                self._narrow(api)
            case Rewire(task, source):
                self._rewire(task, source)
            case Meet(comm):
                self._meet(comm)
            case Shorten(comm, ns):
                nodes = self.graph.chains.collective[comm]
                self.after[nodes] = np.maximum(self.after[nodes] - ns, 0)

    def _duration(self, task: Array) -> Array:
        nodes = self.graph.chains.task[task]
        return self.graph.time[nodes] - self.graph.chains.start_of(nodes)

    def _set(self, task: Array, ns: Array) -> None:
        nodes = self.graph.chains.task[task]
        after = self.graph.residual_of(nodes) + ns
        self.after = room_for(self.after, after)
        self.after[nodes] = after

    def _remove(self, task: Array) -> None:
        nodes = self.graph.chains.task[task]
        self.after[nodes] = 0
        self.link[nodes] = 0
        engines = np.flatnonzero(self.graph.kind == ENGINE)
        if not len(engines):
            return
        gone = np.zeros(len(self.link), bool)
        gone[nodes] = True
        # An engine does not wait for what it no longer runs; what nothing else holds keeps the edge.
        edges = engines[gone[self.graph.source[engines]]]
        target = self.graph.target[edges]
        others = np.bincount(self.graph.target[self.graph.kind != ENGINE], minlength=len(self.link))
        self.alive[edges[self.linked[target] | (others[target] > 0)]] = False

    def _cut(self, kind: int, rows: Array) -> None:
        """Take away the edges of a kind that belong to these calls."""
        if not len(rows):
            return
        mine = np.zeros(len(self.trace.api) + 1, bool)  # an owner of -1 finds the last place
        mine[rows] = True
        edges, owner = self.graph.of_kind(kind)
        self.alive[edges[np.take(mine, owner)]] = False
        self.loose = True

    def _drop_calls(self, rows: Array) -> None:
        if len(rows):
            self._cut(WAIT, rows)
            nodes = self.graph.chains.call_end[rows]
            self.link[nodes] = self.after[nodes] = 0

    def _skip(self, rows: Array) -> None:
        chains = self.graph.chains
        rows = rows[~chains.hidden[rows]]
        if not len(rows):
            return
        begin, end = chains.call_start[rows], chains.call_end[rows]  # a thread's moments are numbered in their order
        inside = np.zeros(len(self.link) + 1, np.int64)
        np.add.at(inside, begin + 1, 1)
        np.add.at(inside, end + 1, -1)
        nodes = np.flatnonzero(np.cumsum(inside[:-1]) > 0)
        self.link[nodes] = self.after[nodes] = 0
        self._cut(WAIT, chains.row[nodes])

    def _one_launch(self, rows: Array, gap: int) -> None:
        chains = self.graph.chains
        rows = rows[~chains.hidden[rows]]
        if not len(rows):
            return
        nodes = np.arange(chains.call_end[rows[0]] + 1, chains.call_end[rows[-1]] + 1)
        self.link[nodes] = 0
        free = np.ones(len(self.after), bool)
        free[self.graph.target[self.graph.kind == WAIT]] = False
        self.after[nodes[free[nodes]]] = 0
        self._cut(LAUNCH, rows[1:])
        mine = np.zeros(len(self.trace.api) + 1, bool)
        mine[rows[1:]] = True
        tasks = chains.task[np.flatnonzero(mine[self.launches.row])]
        self.link[tasks] = np.minimum(self.link[tasks], gap)
        # What no edge explained was waiting for the launch.
        self.after[tasks] -= self.graph.residual_of(tasks)

    def _unblock(self, rows: Array, call_ns: int) -> None:
        self._cut(WAIT, rows)
        nodes = self.graph.chains.call_end[rows]
        self.link[nodes] = np.minimum(self.graph.time[nodes] - self.graph.time[np.maximum(nodes - 1, 0)], call_ns)
        self.after[nodes] = 0

    def _add(self, source: Array, target: Array, weight: Array | int = 0) -> None:
        """Edges along the measured order; one against it would close a circle and is left out."""
        weights = np.broadcast_to(np.asarray(weight, np.int64), source.shape)
        good = self.graph.earlier(source, target)
        self.added.append((source[good], target[good], weights[good]))

    def _feed_next(self, rows: Array) -> None:
        """Let the first task of the next launch on the thread wait for the last task of each call."""
        last, (_, _, after) = self.launches.last[rows], around(self.trace, self.launches, self.graph.chains.hidden, rows)
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
        bridged = (before >= 0) & (chains.chain_of(np.maximum(before, 0)) == chains.chain_of(next_))
        self._add(before[bridged], next_[bridged], self.link[next_[bridged]])
        self.linked[nodes] = False
        self.relinked = True
        launched = np.zeros(len(self.linked), bool)
        launched[self.graph.target[self.graph.kind == LAUNCH]] = True
        bare = nodes[~launched[nodes]]  # held by their stream only: from now on by their own call, or by the time they began
        calls = self.launches.row[chains.row[bare]]
        known = calls >= 0
        self._add(chains.call_start[chains.outer[calls[known]]], bare[known])
        if not known.all():
            self.floor[bare[~known]] = self.graph.chains.start_of(bare[~known])
        order = nodes[np.lexsort((self.graph.depth[nodes], self.graph.time[nodes]))]
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
        before, second, _ = around(self.trace, self.launches, self.graph.chains.hidden, rows)
        early = before >= 0
        self._cut(LAUNCH, rows[early])
        nodes = chains.task[copies]
        called = chains.call_start[rows[early]]
        prepared = np.where(self.linked[called], self.link[called], 0)  # the host's own work right before the call
        self._add(chains.call_end[before[early]], nodes[early], prepared + call_ns)
        freed = second >= 0
        self._add(chains.task[launches.last[second[freed]]], nodes[freed])

    def _spread(self, edit: Spread) -> None:
        chains = self.graph.chains
        order = np.argsort(chains.task[edit.task], kind="stable")
        task, item = edit.task[order], edit.item[order]
        nodes = chains.task[task]
        heads = np.zeros(len(nodes), bool)
        heads[1:] = (np.diff(nodes) == 1) & self.linked[nodes[1:]] & (item[1:] != item[:-1])
        self._turns(nodes, item, nodes[heads], item[heads], edit.streams)
        kernels = chains.is_kernel(nodes)
        first = kernels.copy()
        first[kernels] = changes(chains.chain_of(nodes[kernels]), item[kernels])
        self._turns(nodes[kernels], item[kernels], nodes[first], item[first], edit.kernels)
        self.linked[nodes[heads]] = False
        self.relinked = True
        copies = np.flatnonzero(self.trace.tasks_of("copy", "memset")[task])
        copies = copies[np.lexsort((self.graph.time[nodes[copies]], column(self.trace, "task", "direction")[task[copies]]))]
        engine = self.trace.task["device"][task[copies]], column(self.trace, "task", "direction")[task[copies]]
        same = ~changes(*engine)[1:]
        self._add(nodes[copies][:-1][same], nodes[copies][1:][same])

    def _turns(self, nodes: Array, item: Array, heads: Array, numbers: Array, width: int) -> None:
        """Each head waits for the last node of the item `width` turns before its own on its chain."""
        chain_of = self.graph.chains.chain_of
        scale = int(item.max(initial=0)) + width + 2
        keys = chain_of(nodes) * scale + item
        wanted = chain_of(heads) * scale + numbers - width
        at = np.searchsorted(keys, wanted, side="right") - 1
        good = (at >= 0) & (keys[np.maximum(at, 0)] == wanted) & (numbers >= width)
        self._add(nodes[at[good]], heads[good], self.link[heads[good]])

    def _call_time(self, rows: Array, ns: Array) -> None:
        chains = self.graph.chains
        begin, end = chains.call_start[rows], chains.call_end[rows]
        plain = end == begin + 1
        nodes = end[plain]
        self.link[nodes] = np.minimum(self.link[nodes], ns[plain])
        inner = ~plain & ~chains.hidden[rows]
        for first, last, wanted in zip(begin[inner].tolist(), end[inner].tolist(), ns[inner].tolist(), strict=True):
            inside = slice(first + 1, last + 1)
            own = int(self.link[inside].sum())
            if own > wanted:
                self.link[inside] = self.link[inside] * wanted // own

    def _aside(self, rows: Array, ns: Array, item: Array) -> None:
        if not len(rows):
            return
        nodes = self.graph.chains.call_start[rows]
        thread = self.trace.api["thread"][rows]
        heads = np.flatnonzero(changes(thread, item))
        number = np.cumsum(changes(thread, item)) - 1
        first = changes(thread[heads])  # the first item of each thread
        moved = np.where(self.linked[nodes] & ~first[number], np.minimum(ns, self.link[nodes]), 0)
        self.link[nodes] -= moved
        lasts = np.append(heads[1:], len(rows)) - 1
        work = np.add.reduceat(moved, heads)
        later = np.flatnonzero(~first)
        self._add(nodes[lasts[later - 1]], nodes[lasts[later]], work[later])

    def _narrow(self, rows: Array) -> None:
        self._cut(WAIT, rows)
        chains, launches, api = self.graph.chains, self.launches, self.trace.api
        tasks = np.flatnonzero(launches.row >= 0)
        tasks = tasks[np.lexsort((self.graph.time[chains.task[tasks]], launches.time[tasks]))]
        thread, begun = api["thread"].astype(np.int64), api["start"]
        for caller in np.unique(thread[rows]):
            mine, own = rows[thread[rows] == caller], tasks[thread[launches.row[tasks]] == caller]
            kernels = own[chains.is_kernel(chains.task[own])]
            at = np.searchsorted(launches.time[kernels], begun[mine]) - 1
            mine, at = mine[at >= 0], at[at >= 0]
            stream = self.trace.task["stream"][kernels[at]]
            for number in np.unique(stream):
                there, calls = own[self.trace.task["stream"][own] == number], mine[stream == number]
                last = there[np.searchsorted(launches.time[there], begun[calls]) - 1]
                self._add(chains.task[last], chains.call_end[calls])

    def _rewire(self, task: Array, source: Array) -> None:
        nodes = self.graph.chains.task
        mine = np.zeros(len(self.link), bool)
        mine[nodes[task]] = True
        self.alive &= ~((self.graph.kind == EVENT) & mine[self.graph.target])
        self.after[nodes[task]] = 0  # a wait task has no length of its own
        self.loose = True
        known = source >= 0
        self._add(nodes[source[known]], nodes[task[known]])

    def _meet(self, rows: Array) -> None:
        met = np.isin(self.graph.external, self.graph.chains.collective[rows])
        nodes = self.graph.external[met]
        self.floor[nodes] = self.graph.own_floor[met]
        if self.alike:
            self.after[nodes] -= self.graph.waited[met]

    def edges(self) -> tuple[Array, Array, Array, Array | None]:
        """Source, target and weight by target, with a mask of those that hold (None: all); what nothing holds any more begins
        when it began."""
        graph = self.graph
        source, target, weight, alive = graph.source, graph.target, graph.weight, None if self.alive.all() else self.alive
        if self.added:
            source, target, weight = (np.concatenate(c) for c in zip((source, target, weight), *self.added, strict=True))
            if alive is not None:
                held = np.ones(len(source), bool)
                held[: len(alive)] = alive
                source, target, weight, alive = source[held], target[held], weight[held], None
            order = np.argsort(target, kind="stable")
            source, target, weight = source[order], target[order], weight[order]
        if self.relinked or self.loose:
            bare = np.flatnonzero(~self.linked).astype(target.dtype)
            bare = bare[self._floor_of(bare) == NEVER]
            first, behind = (np.searchsorted(target, bare, side=side) for side in ("left", "right"))
            held = first < behind
            if alive is not None and held.any():
                counts = (behind - first)[held]
                held[held] = np.logical_or.reduceat(alive[ranges(first[held], counts)], np.cumsum(counts) - counts)
            bare = bare[~held]
            if len(bare):
                self.floor[bare] = graph.chains.start_of(bare)
        return source, target, weight, alive

    def sweep(self) -> Swept:
        """What the edited numbers give."""
        graph, (source, target, weight, alive) = self.graph, self.edges()
        shape = graph.shape
        if self.added or self.relinked:
            floored = self.floor > NEVER if "floor" in self.__dict__ else graph.floored
            shape = condense(self.linked, floored, source, target, graph.time, graph.depth)
        return sweep(shape, self.link, self.after, self._floor_of(shape.heads), source, target, weight, alive)
