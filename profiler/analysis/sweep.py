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


class Condensed(NamedTuple):
    """joint: of each node, the last one at or before it. nodes: of each joint. edge: first of each joint. item: of each joint.
    first, last: joints of each item. chained: it continues the item before it. feeds: joint that feeds an item with one source,
    NO_SOURCE, MANY. single: joints of items with one source. order: a topological one of the items. degree: edges of joints."""

    joint: Array
    nodes: Array
    edge: Array
    degree: Array
    item: Array
    first: Array
    last: Array
    chained: Array
    feeds: Array
    single: Array
    order: Array


def condense(linked: Array, floored: Array, source: Array, target: Array, time: Array, depth: Array) -> Condensed:
    """The joints and items of a graph whose edges are sorted by target. The order is that of time, depth, number."""
    is_joint = ~linked | floored
    is_joint[target] = True
    joint = np.cumsum(is_joint, dtype=np.int32) - 1
    nodes = np.flatnonzero(is_joint).astype(np.int32)
    degree = np.bincount(joint[target], minlength=len(nodes)).astype(np.int32)
    edge = np.cumsum(degree, dtype=np.int32) - degree
    fed = np.full(len(nodes), NO_SOURCE, np.int32)
    fed[degree > 1] = MANY
    single = degree == 1
    fed[single] = joint[source[edge[single]]]
    chained = linked[nodes]
    heads = np.ones(len(nodes), bool)
    heads[1:] = ~(chained[1:] & (fed[1:] >= 0) & (fed[1:] == fed[:-1]) & ~floored[nodes[1:]])
    first = np.flatnonzero(heads).astype(np.int32)
    item = np.cumsum(heads, dtype=np.int32) - 1
    last = np.append(first, len(nodes))[1:].astype(np.int32) - 1
    head = nodes[first]
    order = np.lexsort((depth[head], time[head]))
    return Condensed(joint, nodes, edge, degree, item, first, last, chained[first], fed[first], np.flatnonzero(single), order)


class Swept(NamedTuple):
    """The outcome of a sweep, worked out for all nodes or for a few."""

    shape: Condensed
    distance: Array  # D of each node
    before: Array  # S before each item
    source: Array  # S of what feeds it
    adds: Array  # M of each joint

    def times(self, nodes: Array | None = None) -> Array:
        """Times of some nodes (all of them), ns."""
        joint = self.shape.joint if nodes is None else self.shape.joint[nodes]
        item = self.shape.item
        if nodes is None:
            times: Array = np.maximum(self.before[item], self.source[item] + self.adds)[joint]
            times += self.distance
            return times
        settled: Array = np.maximum(self.before[item[joint]], self.source[item[joint]] + self.adds[joint])
        settled += self.distance[nodes]
        return settled


def sweep(
    shape: Condensed,
    linked: Array,
    link: Array,
    after: Array,
    floor: Array,
    source: Array,
    target: Array,
    weight: Array,
    alive: Array | None,
) -> Swept:
    """Times from costs. Edges sorted by target; `alive` masks those that still hold (None: all)."""
    distance = np.add(link, after, dtype=np.int64)
    distance *= linked
    np.cumsum(distance, out=distance)
    cost = distance[source] + weight
    cost += after[target]
    cost -= distance[target]
    if alive is not None:
        cost[~alive] = LOW
    nodes, first, last, feeds = shape.nodes, shape.first, shape.last, shape.feeds
    adds = np.full(len(nodes), LOW)
    adds[shape.single] = cost[shape.edge[shape.single]]
    _running_maximum(adds, shape)

    head = nodes[first]
    rooted = np.maximum(floor[head] + after[head] - distance[head], LOW)
    safe = np.maximum(feeds, 0)
    from_item = np.where(feeds >= 0, shape.item[safe], feeds) if len(nodes) else feeds
    items = _Items(
        roots=rooted.tolist(),
        chained=shape.chained.tolist(),
        feeds=from_item.tolist(),
        feed_adds=adds[safe].tolist(),
        adds=adds[last].tolist(),
    )
    many = np.flatnonzero(feeds == MANY)
    joints = first[many]
    edges = _ranges(shape.edge[joints], shape.degree[joints])
    from_joint = shape.joint[source[edges]]
    fan = _Fans(
        dict(zip(many.tolist(), np.cumsum(shape.degree[joints]).tolist(), strict=True)),
        dict(zip(many.tolist(), shape.degree[joints].tolist(), strict=True)),
        shape.item[from_joint].tolist(),
        adds[from_joint].tolist(),
        cost[edges].tolist(),
    )
    before, fed = _visit(shape.order.tolist(), items, fan)
    return Swept(shape, distance, np.array(before, np.int64), np.array(fed, np.int64), adds)


class _Items(NamedTuple):
    roots: list[int]
    chained: list[bool]
    feeds: list[int]
    feed_adds: list[int]
    adds: list[int]


class _Fans(NamedTuple):
    """Edges of the items with several: where each item's end, how many, and per edge its source's item, M, and cost."""

    end: dict[int, int]
    degree: dict[int, int]
    item: list[int]
    adds: list[int]
    cost: list[int]


def _visit(order: list[int], items: _Items, fan: _Fans) -> tuple[list[int], list[int]]:
    """S before each item, and S of what feeds it."""
    roots, chained, feeds, feed_adds, adds = items
    before = roots
    fed = [LOW] * len(roots)
    reached = [LOW] * len(roots)
    for number in order:
        best = roots[number]
        if chained[number] and reached[number - 1] > best:
            best = reached[number - 1]
        origin = feeds[number]
        if origin >= 0:
            slack = before[origin]
            other = fed[origin] + feed_adds[number]
            if other > slack:
                slack = other
            before[number] = best
            fed[number] = slack
            slack += adds[number]
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


def _running_maximum(values: Array, shape: Condensed) -> None:
    """Running maxima within each item, in place; LOW counts as nothing."""
    if len(shape.first) == len(values):
        return
    known = values != LOW
    base = np.minimum.reduceat(np.where(known, values, -LOW), shape.first)[shape.item]
    # The items are lifted above each other, so that one running maximum serves them all.
    values -= base
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
    reached = values > 0
    values += base - 1
    values[~reached] = LOW


def _ranges(starts: Array, counts: Array) -> Array:
    """The numbers of several ranges one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    numbers: Array = np.arange(int(ends[-1]) if len(ends) else 0)
    numbers += np.repeat(starts - (ends - counts), counts)
    return numbers
