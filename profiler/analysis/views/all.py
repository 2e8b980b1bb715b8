"""Every view of one trace, each worked out when it is first asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from profiler import intervals
from profiler.analysis.breakdown import Work
from profiler.analysis.gaps import Gaps
from profiler.analysis.views import (
    collectives,
    copies,
    counters,
    gap_classes,
    gap_floor,
    host_threads,
    launch_bound,
    links,
    losses,
    memory,
    queue_depth,
    ranks,
    roofline,
    utilisation,
)
from profiler.analysis.views.basis import Basis
from profiler.findings import Breakdown


class Views:
    """By device where a dict is given. See each module for its records."""

    def __init__(
        self, basis: Basis, inside: collectives.Collectives, idle: dict[int, Gaps], breakdown: tuple[Breakdown, ...]
    ) -> None:
        self.basis, self.collectives, self._idle, self._breakdown = basis, inside, idle, breakdown

    @cached_property
    def exposed(self) -> dict[int, collectives.Exposed | None]:
        """Collective time by what it was and what no kernel covers (V4)."""
        task = self.basis.trace.task
        made = {}
        for device in self._idle:
            rows = np.flatnonzero(Work(self.basis.trace, device).computing)
            computing = intervals.union(task["start"][rows], task["end"][rows]) if len(rows) else intervals.Spans(rows, rows)
            made[device] = collectives.exposed(self.basis.trace, self.collectives, device, computing)
        return made

    @cached_property
    def floors(self) -> dict[int, gap_floor.Floor]:
        """The gap floor f (V5)."""
        return {d: gap_floor.gap_floor(self.basis.trace, self.basis.launches, d) for d in self._idle}

    @cached_property
    def gaps(self) -> dict[int, gap_classes.GapClasses]:
        """Why the device was idle (V5)."""
        trace, launches = self.basis.trace, self.basis.launches
        return {d: gap_classes.gap_classes(trace, launches, gaps, d, self.floors[d]) for d, gaps in self._idle.items()}

    @cached_property
    def launch_bound(self) -> launch_bound.LaunchBound:
        """V6."""
        return launch_bound.launch_bound(self.basis)

    @cached_property
    def queues(self) -> tuple[queue_depth.Queue, ...]:
        """V7."""
        return queue_depth.queue_depth(self.basis, self._idle)

    @cached_property
    def roofline(self) -> roofline.Roofline:
        """V9."""
        return roofline.roofline(self.basis)

    @cached_property
    def utilisation(self) -> tuple[utilisation.Utilisation, ...]:
        """V10."""
        return utilisation.utilisation(self.basis, self.roofline, self._breakdown)

    @cached_property
    def memory(self) -> tuple[memory.Memory, ...]:
        """V12."""
        return memory.memory(self.basis)

    @cached_property
    def copies(self) -> tuple[copies.Copies, ...]:
        """V13."""
        return copies.copies(self.basis)

    @cached_property
    def host(self) -> host_threads.HostThreads:
        """V14."""
        return host_threads.host_threads(self.basis)

    @cached_property
    def rank_times(self) -> tuple[ranks.RankTime, ...]:
        """V15: this rank."""
        return ranks.rank_times(self.basis, self._breakdown, self.exposed, self.gaps)

    @cached_property
    def peers(self) -> tuple[ranks.Peer, ...]:
        """V15: the other ranks as seen from here."""
        return ranks.peers(self.basis, self.collectives)

    @cached_property
    def links(self) -> tuple[links.Link, ...]:
        """V16."""
        return links.links(self.basis)

    @cached_property
    def clocks(self) -> tuple[counters.ClockTime, ...]:
        """V17: the core clock."""
        return counters.clocks(self.basis)

    @cached_property
    def counters(self) -> tuple[counters.Counter, ...]:
        """V17: everything else that was sampled."""
        return counters.counters(self.basis)

    @cached_property
    def losses(self) -> losses.Losses:
        """V19."""
        return losses.losses(self.basis)
