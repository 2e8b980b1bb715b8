"""Replay: the times of all nodes again, with some of them changed (spec of the analyzer, section 4).

1. Edits change the numbers of a copy of the graph (draft.py): links, edges, what a node adds.
2. Nodes with nothing but their chain link follow the node before them at a fixed distance: a running sum per chain.
3. What remains, the joints, is swept once in topological order (sweep.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from profiler.analysis.draft import Draft
from profiler.analysis.edits import Edit
from profiler.analysis.graph import Graph
from profiler.analysis.launches import Launches
from profiler.trace import Array, Trace


class Replay:
    """Replays of one trace. The identity replay gives back the measured times exactly."""

    def __init__(self, trace: Trace, launches: Launches, graph: Graph, window: tuple[int, int]) -> None:
        self.trace, self.launches, self.graph = trace, launches, graph
        self._inside = (graph.time >= window[0]) & (graph.time <= window[1])
        # Along a chain nothing ends before what stands before it: the last goal of each chain decides.
        last = self._inside.copy()
        last[:-1] &= ~(self._inside[1:] & graph.linked[1:])
        self.ends = np.flatnonzero(last)
        self.end = int(graph.time[self.ends].max()) if len(self.ends) else window[1]

    @property
    def goals(self) -> Array:
        """The nodes of the window."""
        return np.flatnonzero(self._inside).astype(np.int32)

    def times(self, edits: Iterable[Edit] = (), alike: bool = False) -> Array:
        """Time of every node after the edits, ns on the trace's timeline. alike: all ranks are edited as this one is."""
        return self._edited(edits, alike).sweep().times()

    def gain(self, edits: Iterable[Edit], alike: bool = False) -> int:
        """By how much sooner everything in the window is done, ns; negative when the edits make it later."""
        if not len(self.ends):
            return 0
        return self.end - int(self._edited(edits, alike).sweep().times(self.ends).max())

    def _edited(self, edits: Iterable[Edit], alike: bool) -> Draft:
        draft = Draft(self.trace, self.launches, self.graph, alike)
        for edit in edits:
            draft.apply(edit)
        return draft
