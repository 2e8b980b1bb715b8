"""The dependency graph of a trace: what had to happen before what (spec of the analyzer, section 4).

Nodes are moments: the end of each task, and the start and the end of each call. They are numbered chain by chain, a thread or
a stream being a chain in time order, so that "the one before" is node - 1 and most of a replay is a running sum. A node's time is

    time = max(floor, time[node - 1] + link, time[source] + weight of every edge into it) + after

where `after` is its duration and the residual r >= 0 that no edge explains. A task constrains by its end; its inputs
constrain its start. Weights are clamped so that the measured times fit every edge: a replay without edits is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from profiler.analysis.calls import blocking
from profiler.analysis.chains import Chains, lay_out
from profiler.analysis.edges import Edges, engine, launched, own_cost, recorded, waited
from profiler.analysis.groups import narrow, rises, room_for
from profiler.analysis.host_edges import backwards, handed_over, queue_full
from profiler.analysis.launches import Launches
from profiler.analysis.sweep import Condensed, condense
from profiler.analysis.views.collectives import Collectives
from profiler.trace import Array, Trace

NEVER = -(1 << 62)
CLOCK_SLOP = 25_000  # ns; flow heads up to 23.6 us before their tails seen in real files
GAP_FLOOR = 2_000  # ns; queued AIV 0.4-1.3 us, AIC 1.0-2.3 us (measured kernel_details)
QUEUED = 100_000  # ns; launched this long before its predecessor ended: the gap between them is the device's own (view V5)
PAIRS_MIN = 20  # fewer such pairs tell no floor
LAUNCH, EVENT, WAIT, ENGINE, QUEUE = range(5)


@dataclass
class Graph:
    """time: measured, ns. linked: the chain edge node-1 -> node holds, with weight link. after: what a node adds. length: of the
    tasks (in order of their nodes), the part of it that is not residual. rooted, begins: nodes that have a floor, and which.
    source, target, weight, kind, owner (api row that waits or launches): the edges across chains, by their target.
    depth: orders nodes of one time. dropped: edges the measured times contradict by more than the clock's slop.
    external: collectives held by another rank's arrival, which is their floor; waited: what it adds to what holds them here;
    own_floor: their floor without it."""

    chains: Chains
    time: Array
    linked: Array
    link: Array
    rooted: Array
    begins: Array
    after: Array
    length: Array
    source: Array
    target: Array
    weight: Array
    kind: Array
    owner: Array
    depth: Array
    gap_floor: int
    dropped: int
    external: Array
    waited: Array
    own_floor: Array
    _of_kind: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def start(self) -> Array:
        """Of tasks when they began, of other nodes their time."""
        return self.chains.start

    @property
    def floor(self) -> Array:
        """The least time of each node, NEVER without one."""
        floor = np.full(len(self.time), NEVER)
        floor[self.rooted] = self.begins
        return floor

    @property
    def floored(self) -> Array:
        """Mask over nodes: those with a floor."""
        mask = np.zeros(len(self.time), bool)
        mask[self.rooted] = True
        return mask

    def floor_of(self, nodes: Array) -> Array:
        """The least time of these nodes, NEVER for those without one."""
        if not len(self.rooted):
            return np.full(len(nodes), NEVER)
        at = np.minimum(np.searchsorted(self.rooted, nodes.astype(np.int32, copy=False)), len(self.rooted) - 1)
        return np.where(self.rooted[at] == nodes, self.begins[at], NEVER)

    @property
    def residual(self) -> Array:
        """What no edge explains of each node's time."""
        return self.residual_of(np.arange(len(self.time)))

    def residual_of(self, nodes: Array) -> Array:
        """What no edge explains of these nodes' times."""
        residual: Array = np.take(self.after, nodes).astype(np.int64, copy=False)
        mine, at = self.chains.tasks_among(nodes)
        residual[mine] -= np.take(self.length, at)
        return residual

    def earlier(self, left: Array, right: Array) -> Array:
        """Mask: the left nodes stand before the right ones in the topological order (time, depth, number)."""
        return stands_before(self.time, self.depth, left, right)

    def of_kind(self, kind: int) -> tuple[Array, Array]:
        """(the edges of a kind, their owners)."""
        if kind not in self._of_kind:
            edges = np.flatnonzero(self.kind == kind).astype(np.int32)
            self._of_kind[kind] = edges, np.take(self.owner, edges)
        return self._of_kind[kind]

    @cached_property
    def shape(self) -> Condensed:
        """The graph condensed for sweeps."""
        return condense(self.linked, self.floored, self.source, self.target, self.time, self.depth)


def build(trace: Trace, launches: Launches, collectives: Collectives) -> Graph:
    """The graph of one trace. Linear in rows but for sorting."""
    waits = blocking(trace)
    chains = lay_out(trace, waits)
    time, length = chains.time, chains.lasted
    ends = chains.call_end
    handed, back, full = handed_over(trace, chains), backwards(trace, chains), queue_full(trace, launches, chains)
    edges = Edges.joined(
        (LAUNCH, launched(trace, launches, chains)),
        (EVENT, recorded(trace, launches, chains, CLOCK_SLOP)),
        (WAIT, waited(trace, launches, chains, CLOCK_SLOP)),
        (ENGINE, engine(trace, chains)),
        (QUEUE, handed[:4]),
        (QUEUE, back[:4]),
        (QUEUE, full[:4]),
    )
    matched = edges.target[edges.kind == EVENT]
    if len(matched):  # a wait task is over when its record is: it has no length of its own
        length = length.copy()
        length[matched - chains.first_task] = 0

    def constrained(nodes: Array) -> Array:
        """What holds these nodes holds them until then: tasks begin, calls return."""
        moment: Array = np.take(time, nodes)
        mine, at = chains.tasks_among(nodes)
        moment[mine] -= np.take(length, at)
        return moment

    came = np.take(time, edges.source)
    room = constrained(edges.target)
    room -= came
    fits = (room >= -CLOCK_SLOP) & (came <= np.take(time, edges.target))
    dropped = int((~fits).sum())
    edges = edges._replace(weight=np.minimum(edges.weight, room)).only(fits)
    del came, room, fits  # 8 bytes an edge each; below, 8 bytes a node

    linked = np.ones(len(time), bool)
    linked[1:] = time[1:] >= time[:-1]
    linked[chains.heads] = False
    gap = rises(time)
    gap[chains.tasks] -= length
    floor_gap = _gap_floor(trace, launches, chains, gap, linked)
    np.minimum(gap[chains.tasks], floor_gap, out=gap[chains.tasks])
    rows = np.flatnonzero(waits)
    if len(rows):
        gap[ends[rows]] = np.minimum(gap[ends[rows]], own_cost(trace, rows))
    for queue in (handed, back, full):
        np.minimum.at(gap, queue.target, queue.link)
    gap[~linked] = 0
    link = narrow(gap)
    del gap

    depth = depths(time, lambda: chains.position, linked, edges)
    sound = stands_before(time, depth, edges.source, edges.target)
    dropped += int((~sound).sum())
    edges = edges.only(sound)
    after = rises(time)
    after -= link
    loose = np.flatnonzero(~linked)
    after[loose] = -NEVER
    np.minimum.at(after, edges.target, np.take(time, edges.target) - np.take(time, edges.source) - edges.weight)
    roots = loose[after[loose] == -NEVER]
    after[roots] = time[roots] - constrained(roots)
    external, arrival = _arrivals(collectives, chains)
    held = arrival - (time[external] - after[external])
    own_floor = np.where(np.isin(external, roots), constrained(external), NEVER)
    after[external] = time[external] - arrival
    if len(external):
        length = room_for(length.copy(), after[external])
        length[external - chains.first_task] = after[external]
        roots = np.union1d(roots, external)
    if (edges.target[1:] < edges.target[:-1]).any():
        edges = edges.take(np.argsort(edges.target, kind="stable"))
    return Graph(
        chains,
        time,
        linked,
        link,
        roots.astype(np.int32),
        time[roots] - after[roots],
        narrow(after),
        narrow(length),
        edges.source,
        edges.target,
        narrow(edges.weight),
        edges.kind,
        edges.owner,
        depth.astype(np.min_scalar_type(int(depth.max(initial=0)))),
        floor_gap,
        dropped,
        external,
        held,
        own_floor,
    )


def _arrivals(collectives: Collectives, chains: Chains) -> tuple[Array, Array]:
    """Nodes of the collectives that another rank held, and when it came."""
    held = np.flatnonzero(collectives.lag > 0)
    nodes = chains.collective[collectives.row[held]]
    order = np.argsort(nodes, kind="stable")
    return nodes[order], np.minimum(collectives.arrival[held], chains.time[nodes])[order]


def _gap_floor(trace: Trace, launches: Launches, chains: Chains, gap: Array, linked: Array) -> int:
    """f of view V5: 10th percentile of the gap before a kernel that was queued while its predecessor still ran, ns."""
    if not trace.task:
        return 0
    kernels = np.flatnonzero(trace.tasks_of("kernel", "aicpu"))
    nodes = np.take(chains.task, kernels)
    between = np.take(gap, nodes)
    pairs = np.take(linked, nodes) & (between >= 0) & chains.is_kernel(np.maximum(nodes - 1, 0))
    queued = pairs & (np.take(launches.time, kernels) <= np.take(chains.time, nodes - 1, mode="clip") - QUEUED)
    if queued.sum() >= PAIRS_MIN:
        return int(np.percentile(between[queued], 10))
    return int(min(between[pairs].min(), GAP_FLOOR)) if pairs.any() else 0


def depths(time: Array, position: Callable[[], Array], linked: Array, edges: Edges) -> Array:
    """Depth of each node among the edges that take no time: with it, order by time is a topological order. position: of each
    node on its chain, asked for where rows of one moment form a circle."""
    ties = np.take(time, edges.source) == np.take(time, edges.target)
    after = np.flatnonzero(linked[1:] & (time[1:] == time[:-1])) + 1
    sources = np.concatenate((edges.source[ties], after - 1))
    targets = np.concatenate((edges.target[ties], after))
    depth = np.zeros(len(time), np.int32)
    for _ in range(len(sources) + 1):
        deeper = depth[sources] + 1 > depth[targets]
        if not deeper.any():
            break
        np.maximum.at(depth, targets[deeper], depth[sources[deeper]] + 1)
        if depth.max() > len(sources):  # a circle of simultaneous rows: keep the chains, their other edges go
            return position()
    return depth


def stands_before(time: Array, depth: Array, left: Array, right: Array) -> Array:
    """Pairwise: whether the left node comes before the right one in the order of the sweep."""
    before, after = np.take(time, left), np.take(time, right)
    tied = np.flatnonzero(before == after)
    result: Array = before < after
    a, b = left[tied], right[tied]
    result[tied] = (depth[a] < depth[b]) | ((depth[a] == depth[b]) & (a < b))
    return result
