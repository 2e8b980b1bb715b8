"""What all rules share, worked out once: launches, steps, window, graph, replay, and the views.

Sets a rule finds here (all lazy, all cached):
  launches      which call launched which task                    idle          idle intervals by device
  steps, window which steps there are, which time is judged       breakdown     view V3 by device and step
  graph, replay the dependency graph and its replays              views         views V4 to V19, one property each
  path          nodes on the critical path                        basis         what a view is made from
  critical      task rows on it                                   held          do other ranks hold collectives here
  collectives   inside of collectives (view V4), which the graph needs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from npu import soc
from profiler.analysis import breakdown, critical_path, gaps, graph, ignored, medians, steps
from profiler.analysis.calls import outer_calls
from profiler.analysis.dispatch import dispatched
from profiler.analysis.draft import Draft
from profiler.analysis.edits import Edit
from profiler.analysis.launches import join
from profiler.analysis.own_time import OwnTimes, own_times
from profiler.analysis.replay import Replay
from profiler.analysis.views.all import Views
from profiler.analysis.views.basis import Basis
from profiler.analysis.views.collectives import Collectives, collectives
from profiler.findings import Breakdown, Evidence, Finding, Ignored, ReplayQuality
from profiler.trace import Array, Columns, Trace

Made = TypeVar("Made")


class Context:
    """One trace under judgement, without what the user told it to ignore. All times ns on the timeline of what is left."""

    def __init__(self, trace: Trace) -> None:
        self.file = trace
        found = dispatched(trace)
        self.called = bool(trace.api)  # else api rows are moments of launching (profiler.analysis.dispatch)
        self._entries = None if found is None else found.marker
        self.cut = ignored.cut(trace if found is None else found.trace)
        self.trace = trace = self.cut.trace
        self.launches = join(trace)
        self.steps = steps.find(trace, self.launches)
        self.window = steps.window(trace, self.steps)
        self.count = max(1, self.steps.judged)
        self._once: dict[Callable[[Context], Any], Any] = {}

    def once(self, make: Callable[[Context], Made]) -> Made:
        """What a function makes of this context, made when first asked for: for what several rules share but not all."""
        if make not in self._once:
            self._once[make] = make(self)
        made: Made = self._once[make]
        return made

    @property
    def length(self) -> int:
        """Length of the judged window, at least 1 ns."""
        return max(1, self.window[1] - self.window[0])

    def in_file(self, table: str, row: int) -> tuple[str, int]:
        """(table, row) of the file that a row of a table here is."""
        row = self.cut.row(table, row)
        return ("marker", int(self._entries[row])) if table == "api" and self._entries is not None else (table, row)

    def told(self, finding: Finding) -> Finding:
        """A finding with its evidence where it stands in the file."""
        if not self.cut.ranges and self._entries is None:
            return finding
        return replace(finding, evidence=tuple(map(self._placed, finding.evidence)))

    def _placed(self, evidence: Evidence) -> Evidence:
        start, end = self.cut.back((evidence.start, evidence.end))
        places = [self.in_file(evidence.table, r) for r in evidence.rows]
        table = places[0][0] if places else evidence.table
        return evidence._replace(start=start, end=end, table=table, rows=tuple(r for _, r in places))

    @property
    def ignored(self) -> Ignored:
        """How many ranges were left out, and how much of the window as the file has it."""
        begin, end = self.cut.back(self.window)
        return Ignored(self.cut.ranges, end - begin - (self.window[1] - self.window[0]))

    @cached_property
    def chip(self) -> soc.Soc:
        """The chip of the trace; the default one where the trace does not say or names an unknown one."""
        try:
            return soc.find(str(self.trace.meta.get("soc", soc.DEFAULT)))
        except KeyError:
            return soc.find(soc.DEFAULT)

    @cached_property
    def basis(self) -> Basis:
        return Basis(self.trace, self.launches, self.steps, self.window, self.count, self.chip)

    @cached_property
    def views(self) -> Views:
        """The views; each is worked out when it is first asked for."""
        return Views(self.basis, self.collectives, self.idle, self.breakdown)

    @cached_property
    def collectives(self) -> Collectives:
        return collectives(self.trace)

    @cached_property
    def graph(self) -> graph.Graph:
        return graph.build(self.trace, self.launches, self.collectives)

    @cached_property
    def path(self) -> Array:
        """Mask over the graph's nodes: on the critical path of the window."""
        return critical_path.on_path(self.graph, self.replay.ends)

    @cached_property
    def critical(self) -> Array:
        """Mask over task rows: on the critical path of the window."""
        chains = self.graph.chains
        return self.path[chains.task] & ~chains.member

    @cached_property
    def replay(self) -> Replay:
        return Replay(self.trace, self.launches, self.graph, self.window)

    @cached_property
    def breakdown(self) -> tuple[Breakdown, ...]:
        return breakdown.breakdown(self.trace, self.steps, self.launches)

    @cached_property
    def idle(self) -> dict[int, gaps.Gaps]:
        """Idle intervals by device."""
        return {d: gaps.idle(self.trace, self.launches, d, self.window) for d in breakdown.devices(self.trace)}

    @cached_property
    def outer(self) -> Array:
        """Rows of calls that lie in no other call of their thread, by thread and start."""
        return outer_calls(self.trace)

    @cached_property
    def own_times(self) -> OwnTimes:
        """The time threads spend in their own code between calls of the window."""
        return own_times(self.trace, self.outer, self.window, self.idle.values())

    @cached_property
    def quality(self) -> ReplayQuality:
        """The window measured, replayed with class medians, and the explained share of the critical path."""
        if not len(self.replay.ends):
            return ReplayQuality(self.length, self.length, 1.0)
        unexplained = critical_path.unexplained(self.graph, self.path, self.window)
        draft = Draft(self.trace, self.launches, self.graph)
        medians.to_medians(draft, self.replay.goals)
        ordered = int(draft.link.min()) >= 0 and int(draft.after.min()) >= 0  # nothing ends before what stands before it
        goals = self.replay.ends if ordered else self.replay.goals
        off = int(draft.sweep().times(goals).max()) - self.replay.end  # what follows the last row stays
        return ReplayQuality(self.length, max(0, self.length + off), max(0.0, 1 - unexplained / self.length))

    def gain(self, edits: Iterable[Edit], alike: bool = False) -> int:
        """Recoverable time of the window, ns. alike: when all ranks are edited as this one is."""
        return self.replay.gain(edits, alike)

    @property
    def held(self) -> bool:
        """True when some collective was held by another rank, so that gains here and on all ranks differ."""
        return len(self.graph.external) > 0

    def calls_in_window(self, mask: Array) -> Array:
        """Rows of an api mask that start inside the window, by thread and start."""
        api = self.trace.api
        rows = (
            np.flatnonzero(mask & (api["start"] >= self.window[0]) & (api["start"] < self.window[1]))
            if api
            else np.zeros(0, np.int64)
        )
        return rows[np.lexsort((api["start"][rows], api["thread"][rows]))] if len(rows) else rows

    def tasks_in_window(self, mask: Array) -> Array:
        """Rows of a task mask that were launched inside the window."""
        time = self.launches.time
        return np.flatnonzero(mask & (time >= self.window[0]) & (time < self.window[1]))

    def calls_shown(self, rows: Array) -> tuple[Evidence, ...]:
        """Calls as evidence, in the given order."""
        return self._shown(self.trace.api, "api", rows, self.trace.api.get("site"))

    def tasks_shown(self, rows: Array) -> tuple[Evidence, ...]:
        """Tasks as evidence, in the given order, with the call site of their launch."""
        sites = self.trace.api.get("site")
        launch = self.launches.row[rows]
        return self._shown(self.trace.task, "task", rows, sites, launch)

    def _shown(
        self, table: Columns, name: str, rows: Array, sites: Array | None, at: Array | None = None
    ) -> tuple[Evidence, ...]:
        names, text = table.get("name"), self.trace.strings
        stacks = self.trace.api.get("stack")
        calls = rows if at is None else at
        return tuple(
            Evidence(
                text[int(names[r])] if names is not None else "",
                int(table["start"][r]),
                int(table["end"][r]),
                name,
                (int(r),),
                text[int(sites[c])] if sites is not None and c >= 0 else "",
                text[int(stacks[c])] if stacks is not None and c >= 0 else "",
            )
            for r, c in zip(rows.tolist(), calls.tolist(), strict=True)
        )

    def sites(self, rows: Array, most: int = 3) -> tuple[str, ...]:
        """Call sites of api rows, the most frequent first."""
        column = self.trace.api.get("site")
        if column is None or not len(rows):
            return ()
        found, counts = np.unique(column[rows], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return tuple(self.trace.strings[int(s)] for s in found[order] if s >= 0)[:most]
