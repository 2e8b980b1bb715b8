"""The sweep of a replay over a graph that was condensed once.

1. Along a chain a node follows the one before it at a fixed distance. With D the running sum of these distances, the slack
   S = time - D is a running maximum along the chain: only edges from other chains can raise it.
2. Nodes with such edges, and nodes that nothing precedes, are the joints. Between two joints S is constant.
3. Joints that follow each other on a chain and are all fed from one stretch of another chain (the launches between two waits)
   are one item: with M the running maximum of what the edges add, S = max(S before the item, S of that stretch + M).
So what an edit changes is worked out for all nodes at once (D, M), and Python visits each item once, in topological order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.trace import Array

LOW = -(1 << 60)  # below every slack; a sum of two of them is still an int64
NO_SOURCE, MANY = -1, -2
BATCH = 1 << 16  # items


class Condensed(NamedTuple):
    """nodes: of each joint, ascending. edge: first of each joint, and where the last ones end. item: of each joint.
    first, last: joints of each item. chained: it continues the item before it. feeds: joint that feeds an item with one source,
    NO_SOURCE, MANY. single: joints of items with one source. order: a topological one of the items."""

    nodes: Array
    edge: Array
    item: Array
    first: Array
    last: Array
    chained: Array
    feeds: Array
    single: Array
    order: Array

    @property
    def heads(self) -> Array:
        """The first node of each item."""
        heads: Array = self.nodes[self.first]
        return heads

    def joint_of(self, nodes: Array) -> Array:
        """The last joint at or before each of these nodes."""
        joint: Array = np.searchsorted(self.nodes, nodes, side="right") - 1
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
    heads = np.ones(len(nodes), bool)
    heads[1:] = ~(chained[1:] & (fed[1:] >= 0) & (fed[1:] == fed[:-1]) & ~floored[nodes[1:]])
    first = np.flatnonzero(heads).astype(np.int32)
    item = np.cumsum(heads, dtype=np.int32) - 1
    last = np.append(first, len(nodes))[1:].astype(np.int32) - 1
    head = nodes[first]
    order = np.lexsort((depth[head], time[head]))
    return Condensed(nodes, edge, item, first, last, chained[first], fed[first], single, order)


class Swept(NamedTuple):
    """The outcome of a sweep, worked out for all nodes or for a few."""

    shape: Condensed
    distance: Array  # D of each node
    before: Array  # S before each item
    source: Array  # S of what feeds it
    adds: Array  # M of each joint

    def times(self, nodes: Array | None = None) -> Array:
        """Times of some nodes (all of them), ns."""
        item = self.shape.item
        if nodes is None:
            slack = np.take(self.source, item)
            slack += self.adds
            np.maximum(slack, np.take(self.before, item), out=slack)
            times: Array = np.repeat(slack, np.diff(np.append(self.shape.nodes, len(self.distance))))
            times += self.distance
            return times
        joint = self.shape.joint_of(nodes)
        settled: Array = np.maximum(self.before[item[joint]], self.source[item[joint]] + self.adds[joint])
        settled += self.distance[nodes]
        return settled


def sweep(
    shape: Condensed, link: Array, after: Array, floor: Array, source: Array, target: Array, weight: Array, alive: Array | None
) -> Swept:
    """Times from costs. floor: of the head of each item. Edges by target; `alive` masks those that still hold (None: all)."""
    distance = np.add(link, after, dtype=np.int64)
    np.cumsum(distance, out=distance)  # what stands across the borders of chains cancels out
    cost = np.take(distance, source)
    cost += weight
    cost += np.take(after, target)
    cost -= np.take(distance, target)
    if alive is not None:
        cost[~alive] = LOW
    nodes, first, last, feeds = shape.nodes, shape.first, shape.last, shape.feeds
    adds = np.full(len(nodes), LOW)
    adds[shape.single] = np.take(cost, np.take(shape.edge, shape.single))
    many = np.flatnonzero(feeds == MANY)
    begins = shape.edge[first[many]]
    degree = shape.edge[first[many] + 1] - begins
    edges = _ranges(begins, degree)
    fan_cost = cost[edges].tolist()
    del cost
    _running_maximum(adds, shape, alive is None)

    head = shape.heads
    rooted = np.maximum(floor + after[head] - distance[head], LOW)
    safe = np.maximum(feeds, 0)
    from_item = np.where(feeds >= 0, shape.item[safe], feeds) if len(nodes) else feeds
    items = _Items(rooted, shape.chained, from_item, adds[safe], adds[last])
    from_joint = shape.joint_of(source[edges])
    fan = _Fans(
        dict(zip(many.tolist(), np.cumsum(degree).tolist(), strict=True)),
        dict(zip(many.tolist(), degree.tolist(), strict=True)),
        shape.item[from_joint].tolist(),
        adds[from_joint].tolist(),
        fan_cost,
    )
    before, fed = _visit(shape.order, items, fan)
    return Swept(shape, distance, np.array(before, np.int64), np.array(fed, np.int64), adds)


class _Items(NamedTuple):
    roots: Array
    chained: Array
    feeds: Array
    feed_adds: Array
    adds: Array


class _Fans(NamedTuple):
    """Edges of the items with several: where each item's end, how many, and per edge its source's item, M, and cost."""

    end: dict[int, int]
    degree: dict[int, int]
    item: list[int]
    adds: list[int]
    cost: list[int]


def _visit(order: Array, items: _Items, fan: _Fans) -> tuple[list[int], list[int]]:
    """S before each item, and S of what feeds it."""
    before, fed, reached = ([LOW] * len(order) for _ in range(3))
    for at in range(0, len(order), BATCH):  # numbers of Python take ten times the room of an array's
        numbers = order[at : at + BATCH]
        rows = zip(numbers.tolist(), *(c[numbers].tolist() for c in items), strict=True)
        for number, best, chained, origin, feed_adds, adds in rows:
            if chained and reached[number - 1] > best:
                best = reached[number - 1]
            if origin >= 0:
                slack = before[origin]
                other = fed[origin] + feed_adds
                if other > slack:
                    slack = other
                before[number] = best
                fed[number] = slack
                slack += adds
                reached[number] = slack if slack > best else best
                continue
            if origin == MANY:
                end = fan.end[number]
                for edge in range(end - fan.degree[number], end):
                    origin = fan.item[edge]
                    slack = before[origin]
                    other = fed[origin] + fan.adds[edge]
                    if other > slack:
                        slack = other
                    slack += fan.cost[edge]
                    if slack > best:
                        best = slack
            before[number] = reached[number] = best
    return before, fed


def _running_maximum(values: Array, shape: Condensed, whole: bool) -> None:
    """Running maxima within each item, in place; LOW counts as nothing. whole: only items of one joint may be LOW."""
    if len(shape.first) == len(values):
        return
    known = None if whole else values != LOW
    base = np.minimum.reduceat(values if known is None else np.where(known, values, -LOW), shape.first)
    bases = np.take(base, shape.item)
    # The items are lifted above each other, so that one running maximum serves them all.
    values -= bases
    if known is not None:
        values += 1
        values[~known] = 0
    height = int(values.max()) + 1
    if height < -LOW // len(shape.first):
        lift = shape.item * np.int64(height)
        values += lift
        np.maximum.accumulate(values, out=values)
        values -= lift
    else:
        for start, end in zip(shape.first.tolist(), (shape.last + 1).tolist(), strict=True):
            np.maximum.accumulate(values[start:end], out=values[start:end])
    if known is None:
        values += bases
        return
    reached = values > 0
    values += bases
    values -= 1
    values[~reached] = LOW


def _ranges(starts: Array, counts: Array) -> Array:
    """The numbers of several ranges one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    numbers: Array = np.arange(int(ends[-1]) if len(ends) else 0)
    numbers += np.repeat(starts - (ends - counts), counts)
    return numbers
