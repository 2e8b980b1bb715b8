"""The sweep of a replay over a graph that was condensed once.

1. Along a chain a node follows the one before it at a fixed distance. With D the running sum of these distances, the slack
   S = time - D is a running maximum along the chain: only edges from other chains can raise it.
2. Nodes with such edges, and nodes that nothing precedes, are the joints. Between two joints S is constant.
3. Joints that follow each other on a chain and are all fed from one stretch of another chain (the launches between two waits)
   are one item: with M the running maximum of what the edges add, S = max(S before the item, S of that stretch + M). An item
   ends where it feeds another one, so that only its last S is asked for.
So what an edit changes is worked out for all nodes at once (D, M), and Python visits each item once, in topological order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.groups import ranges
from profiler.trace import Array

LOW = -(1 << 60)  # below every slack; a sum of two of them is still an int64
NO_SOURCE, MANY = -1, -2
BATCH = 1 << 16  # items, nodes or edges worked on at once: what they take stays in the processor's cache
FEW = 16  # nodes whose times are looked up one by one


class Condensed(NamedTuple):
    """nodes: of each joint, ascending. edge: first of each joint, and where the last ones end. item: of each joint.
    first: joint of each item. chained: it continues the item before it. feeds: item whose end feeds an item with one source,
    NO_SOURCE, MANY. single: joints of items with one source. order: a topological one of the items.
    fans: edges of the items with several sources, and the item whose end each comes from."""

    nodes: Array
    edge: Array
    item: Array
    first: Array
    chained: Array
    feeds: Array
    single: Array
    order: Array
    fans: tuple[Array, Array]

    @property
    def heads(self) -> Array:
        """The first node of each item."""
        heads: Array = self.nodes[self.first]
        return heads

    def joint_of(self, nodes: Array) -> Array:
        """The last joint at or before each of these nodes."""
        return _joint_of(self.nodes, nodes)


def _joint_of(joints: Array, nodes: Array) -> Array:
    joint: Array = np.searchsorted(joints, nodes.astype(joints.dtype, copy=False), side="right") - 1
    return joint


def condense(linked: Array, floored: Array, source: Array, target: Array, time: Array, depth: Array) -> Condensed:
    """The joints and items of a graph whose edges are sorted by target. The order is that of time, depth, number."""
    is_joint = ~linked
    is_joint |= floored
    is_joint[target] = True
    nodes = np.flatnonzero(is_joint).astype(np.int32)
    joint = np.cumsum(is_joint, dtype=np.int32)
    joint -= 1
    edge = np.zeros(len(nodes) + 1, np.int32)
    degree = np.bincount(np.take(joint, target), minlength=len(nodes))
    np.cumsum(degree, out=edge[1:])
    fed = np.full(len(nodes), NO_SOURCE, np.int32)
    fed[degree > 1] = MANY
    single = np.flatnonzero(degree == 1).astype(np.int32)
    fed[single] = np.take(joint, np.take(source, np.take(edge, single)))
    del joint, degree
    chained = linked[nodes]
    heads = np.ones(len(nodes) + 1, bool)
    heads[1:-1] = ~(chained[1:] & (fed[1:] >= 0) & (fed[1:] == fed[:-1]) & ~floored[nodes[1:]])
    many = np.flatnonzero(fed == MANY)
    edges = ranges(edge[many], edge[many + 1] - edge[many])
    origin = _joint_of(nodes, source[edges])
    feeds = fed[heads[:-1]]
    heads[feeds[feeds >= 0] + 1] = heads[origin + 1] = True  # an item ends with what feeds another one
    first = np.flatnonzero(heads[:-1]).astype(np.int32)
    item = np.cumsum(heads[:-1], dtype=np.int32)
    item -= 1
    feeds = fed[first]
    feeds[feeds >= 0] = item[feeds[feeds >= 0]]
    head = nodes[first]
    order = np.lexsort((depth[head], time[head]))
    return Condensed(nodes, edge, item, first, chained[first], feeds, single, order, (edges, item[origin]))


class Swept(NamedTuple):
    """The outcome of a sweep, worked out for all nodes or for a few."""

    shape: Condensed
    distance: Array  # D of each node
    before: Array  # S before each item
    source: Array  # S of what feeds it
    cost: Array  # what each edge adds

    def times(self, nodes: Array | None = None) -> Array:
        """Times of some nodes (all of them), ns."""
        shape = self.shape
        item = shape.item
        if nodes is None:
            slack = np.take(self.source, item)
            slack += self._adds()
            np.maximum(slack, np.take(self.before, item), out=slack)
            times: Array = np.repeat(slack, np.diff(np.append(shape.nodes, len(self.distance))))
            times += self.distance
            return times
        joint = shape.joint_of(nodes)
        adds = self._adds()[joint] if len(nodes) > FEW else np.array([self._adds_at(j) for j in joint.tolist()], np.int64)
        settled: Array = np.maximum(self.before[item[joint]], self.source[item[joint]] + adds)
        settled += self.distance[nodes]
        return settled

    def _adds(self) -> Array:
        """M of each joint."""
        shape = self.shape
        adds = np.full(len(shape.nodes), LOW)
        adds[shape.single] = np.take(self.cost, np.take(shape.edge, shape.single))
        _running_maximum(adds, shape.item, len(shape.first))
        return adds

    def _adds_at(self, joint: int) -> int:
        shape = self.shape
        item = int(shape.item[joint])
        if shape.feeds[item] < 0:
            return LOW
        return int(self.cost[shape.edge[shape.first[item]] : shape.edge[joint] + 1].max())


def sweep(
    shape: Condensed, link: Array, after: Array, floor: Array, source: Array, target: Array, weight: Array, alive: Array | None
) -> Swept:
    """Times from costs. floor: of the head of each item. Edges by target; `alive` masks those that still hold (None: all)."""
    distance = _distances(link, after)
    cost = _costs(distance, after, source, target, weight)
    if alive is not None:
        np.copyto(cost[:-1], LOW, where=~alive)
    head, feeds = shape.heads, shape.feeds
    adds = np.maximum.reduceat(cost, shape.edge[shape.first]) if len(head) else cost[:0]
    adds[feeds < 0] = LOW
    rooted = np.maximum(floor + after[head] - distance[head], LOW)
    reached = _visit(shape, rooted, adds, cost)
    before = np.maximum(rooted, reached[_chained(shape)])
    before[feeds == MANY] = reached[:-1][feeds == MANY]
    return Swept(shape, distance, before, reached[np.maximum(feeds, NO_SOURCE)], cost)


def _chained(shape: Condensed) -> Array:
    """The item each one continues, -1 without one."""
    return np.where(shape.chained, np.arange(-1, len(shape.first) - 1), -1)


def _distances(link: Array, after: Array) -> Array:
    """The running sum of both over all nodes; what stands across the borders of chains cancels out."""
    distance = np.empty(len(link), np.int64)
    reached = np.int64(0)
    for at in range(0, len(link), BATCH):
        part = distance[at : at + BATCH]
        np.add(link[at : at + BATCH], after[at : at + BATCH], out=part, dtype=np.int64)
        part[0] += reached
        np.cumsum(part, out=part)
        reached = part[-1]
    return distance


def _costs(distance: Array, after: Array, source: Array, target: Array, weight: Array) -> Array:
    """How far each edge lifts its target above its source, and LOW behind the last."""
    cost = np.empty(len(source) + 1, np.int64)
    cost[-1] = LOW
    for at in range(0, len(source), BATCH):
        here = slice(at, min(at + BATCH, len(source)))
        part = cost[here]
        np.subtract(np.take(distance, source[here]), np.take(distance, target[here]), out=part)
        part += weight[here]
        part += np.take(after, target[here])
    return cost


def _visit(shape: Condensed, rooted: Array, adds: Array, cost: Array) -> Array:
    """S at the end of each item, and LOW behind the last, where -1 finds it."""
    many = np.flatnonzero(shape.feeds == MANY)
    degree = shape.edge[shape.first[many] + 1] - shape.edge[shape.first[many]]
    ends = dict(zip(many.tolist(), np.cumsum(degree).tolist(), strict=True))
    degrees = dict(zip(many.tolist(), degree.tolist(), strict=True))
    edges, fan_items = shape.fans
    origins, costs = fan_items.tolist(), cost[edges].tolist()
    reached = [LOW] * (len(shape.order) + 1)
    columns = (rooted, _chained(shape), shape.feeds, adds)
    for at in range(0, len(shape.order), BATCH):  # numbers of Python take ten times the room of an array's
        numbers = shape.order[at : at + BATCH]
        for number, best, chained, origin, add in zip(numbers.tolist(), *(c[numbers].tolist() for c in columns), strict=True):
            slack = reached[chained]
            if slack > best:
                best = slack
            if origin == MANY:
                end = ends[number]
                for edge in range(end - degrees[number], end):
                    slack = reached[origins[edge]] + costs[edge]
                    if slack > best:
                        best = slack
            else:
                slack = reached[origin] + add
                if slack > best:
                    best = slack
            reached[number] = best
    return np.array(reached, np.int64)


def _running_maximum(values: Array, item: Array, items: int) -> None:
    """Running maxima within each item, in place; LOW counts as nothing."""
    known = values != LOW
    if len(values) == items or not known.any():
        return
    lowest = int(values.min(initial=-LOW, where=known))
    height = int(values.max(initial=LOW, where=known)) - lowest + 2
    if height < -LOW // items:
        # The items are lifted above each other, so that one running maximum serves them all.
        values -= lowest - 1
        values[~known] = 0
        lift = item * np.int64(height)
        values += lift
        np.maximum.accumulate(values, out=values)
        values -= lift
        reached = values > 0
        values += lowest - 1
        values[~reached] = LOW
        return
    heads = np.flatnonzero(np.diff(item, prepend=-1))
    for start, end in zip(heads.tolist(), np.append(heads[1:], len(item)).tolist(), strict=True):
        np.maximum.accumulate(values[start:end], out=values[start:end])
