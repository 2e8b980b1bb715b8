"""The graphs of several ranks as one: every collective begins its transfer when the last of its ranks has come.

1. The ranks' nodes stand one behind the other, their times on the first rank's clock (meetings.offsets).
2. An operation several ranks run gets a node of its own, the meeting: all that holds the operation on one rank holds the meeting,
   by as much later as that rank came later than its own edges say. From the meeting the ranks leave after their own transfer.
3. Edits are made on each rank as they are on one alone (draft.Draft); then one sweep over all of it.
A rank whose profile is not here keeps its arrival as the floor of the meetings it came last to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.draft import Draft
from profiler.analysis.edges import Edges
from profiler.analysis.edits import Edit
from profiler.analysis.graph import NEVER, depths, stands_before
from profiler.analysis.ranks.meetings import Meeting, meetings, offsets
from profiler.analysis.sweep import condense, sweep
from profiler.trace import Array


class Together:
    """Replays of several ranks at once. Without edits the measured times come back. complete: no rank that others wait for is
    missing: all are here, or the parts of every collective tell whom it waited for."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self.contexts = contexts
        self.shared: list[Meeting] = meetings(contexts)
        self.offset = offsets(contexts, self.shared)
        sizes = [len(c.graph.time) for c in contexts]
        self.first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.time = np.concatenate([c.graph.time + o for c, o in zip(contexts, self.offset, strict=True)])
        start = np.concatenate([c.graph.start + o for c, o in zip(contexts, self.offset, strict=True)])
        self.position = np.concatenate([c.graph.chains.position for c in contexts])
        members = [(n, r, row) for n, meeting in enumerate(self.shared) for r, row in meeting.members]
        self.meeting = np.array([n for n, _, _ in members], np.int64)
        self.node = np.array([self.first[r] + contexts[r].graph.chains.collective[row] for _, r, row in members], np.int64)
        self.floor = self._absent(members)
        told = all(c.collectives.known.all() for c in contexts)
        self.complete = bool((self.floor == NEVER).all()) and (told or self._all_here())
        come = self.floor.copy()
        np.maximum.at(come, self.meeting, start[self.node])
        leave = np.full(len(self.shared), np.iinfo(np.int64).max)
        np.minimum.at(leave, self.meeting, self.time[self.node])
        self.met = np.minimum(come, leave)  # clocks err: nobody leaves before the last has come
        self.floor = np.minimum(self.floor, self.met)
        came = np.minimum(start[self.node], self.met[self.meeting])
        said = self._said()[self.node]
        self.late = np.zeros(len(self.time), np.int64)
        self.late[self.node] = np.where(said > NEVER, np.maximum(came - said, 0), 0)
        self.transfer = self.time[self.node] - self.met[self.meeting]
        self.goals = np.concatenate([c.replay.goals + f for c, f in zip(contexts, self.first, strict=False)])
        hubs = self._swept([() for _ in contexts])[len(self.time) :]
        self.floor[hubs < self.met] = self.met[hubs < self.met]  # nothing that fits its time is known to hold it: it stays
        self.end = self._end([() for _ in contexts])

    def gain(self, edits: Sequence[Iterable[Edit]]) -> int:
        """By how much sooner all ranks are done when each is edited by its own edits, ns."""
        return self.end - self._end(edits)

    def times(self, edits: Sequence[Iterable[Edit]]) -> list[Array]:
        """Times of each rank's nodes on the first rank's clock, ns."""
        made = self._swept(edits)
        return [made[a:b] for a, b in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)]

    def _end(self, edits: Sequence[Iterable[Edit]]) -> int:
        return int(self._swept(edits)[self.goals].max(initial=0)) if len(self.goals) else 0

    def _all_here(self) -> bool:
        sizes = [c.trace.meta.get("world_size") for c in self.contexts]
        return all(isinstance(n, int) and n <= len(self.contexts) for n in sizes)

    def _absent(self, members: Sequence[tuple[int, int, int]]) -> Array:
        """Per meeting the arrival of the last rank where that one's profile is not here, NEVER else."""
        floor = np.full(len(self.shared), NEVER)
        here = {c.trace.meta.get("rank") for c in self.contexts}
        found = [dict(zip(c.collectives.row.tolist(), range(len(c.collectives.row)), strict=True)) for c in self.contexts]
        for number, rank, row in members:
            inner, at = self.contexts[rank].collectives, found[rank].get(row)
            if at is not None and inner.lag[at] > 0 and int(inner.last[at]) not in here:
                floor[number] = max(floor[number], int(inner.arrival[at]) + int(self.offset[rank]))
        return floor

    def _swept(self, edits: Sequence[Iterable[Edit]]) -> Array:
        drafts = [_edited(c, e) for c, e in zip(self.contexts, edits, strict=True)]
        count = len(self.time)
        meeting = np.full(count, -1, np.int64)
        meeting[self.node] = self.meeting
        sources, targets, weights = [], [], []
        for draft, first, offset in zip(drafts, self.first.tolist(), self.offset.tolist(), strict=False):
            source, target, weight, alive = draft.edges()
            hold = slice(None) if alive is None else alive
            sources.append(source[hold] + first)
            targets.append(target[hold] + first)
            weights.append(weight[hold])
            draft.floor[draft.floor > NEVER] += offset
        columns = ("linked", "link", "after", "floor")
        linked, link, after, floor = (np.concatenate([getattr(d, n) for d in drafts]) for n in columns)
        after = after.astype(np.int64)
        changed = after - np.concatenate([c.graph.after for c in self.contexts])
        after[self.node] = self.transfer + changed[self.node]
        floor[self.node] = NEVER  # the others come as they do here, not as measured
        source, target, weight = (np.concatenate(x) for x in (sources, targets, weights))
        inner = meeting[target] >= 0
        into = np.flatnonzero(inner)
        chained = self.node[linked[self.node]]
        held_by = np.concatenate((source[into], chained - 1))
        holds = np.concatenate((target[into], chained))
        least = np.concatenate((weight[into], link[chained]))
        hub = count + meeting[holds]
        room = self.met[meeting[holds]] - self.time[held_by]
        fits = room >= 0
        linked[self.node] = False  # all that held the operation holds the meeting now
        source = np.concatenate((source[~inner], held_by[fits], count + self.meeting))
        target = np.concatenate((target[~inner], hub[fits], self.node))
        least = np.minimum(least + self.late[holds], room)[fits]
        weight = np.concatenate((weight[~inner], least, np.zeros(len(self.node), np.int64)))
        return self._times((source, target, weight), (linked, link, after, floor))

    def _said(self) -> Array:
        """Per node when its edges say that it begins, NEVER for one without."""
        said = np.full(len(self.time), NEVER)
        for context, first, offset in zip(self.contexts, self.first.tolist(), self.offset.tolist(), strict=False):
            graph = context.graph
            mine = said[first : first + len(graph.time)]
            np.maximum.at(mine, graph.target, graph.time[graph.source] + graph.weight + offset)
            chained = np.flatnonzero(graph.linked)
            np.maximum.at(mine, chained, graph.time[chained - 1] + graph.link[chained] + offset)
        return said

    def _times(self, edges: tuple[Array, Array, Array], numbers: tuple[Array, ...]) -> Array:
        (source, target, weight), (linked, link, after, floor) = edges, numbers
        nothing = np.zeros(len(self.met), np.int64)
        time = np.concatenate((self.time, self.met))
        linked, link, after = (np.concatenate((a, nothing.astype(a.dtype))) for a in (linked, link, after))
        fed = np.zeros(len(time), bool)
        fed[target] = True
        floor = np.concatenate((floor, np.where(fed[len(self.time) :], self.floor, self.met)))
        order = np.argsort(target, kind="stable")
        table = Edges(source[order], target[order], weight[order], source[order], source[order])
        depth = depths(time, lambda: np.concatenate((self.position, nothing)).astype(np.int32), linked, table)
        sound = stands_before(time, depth, table.source, table.target)
        table = table.take(sound)
        shape = condense(linked, floor > NEVER, table.source, table.target, time, depth)
        return sweep(shape, link, after, floor[shape.heads], table.source, table.target, table.weight, None).times()


def _edited(context: Context, edits: Iterable[Edit]) -> Draft:
    draft = Draft(context.trace, context.launches, context.graph)
    for edit in edits:
        draft.apply(edit)
    return draft
