"""The condensed sweep gives what the definition of a node's time gives, node by node, whatever the edits were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.analysis import sweep as sweeping
from profiler.analysis.context import Context
from profiler.analysis.draft import Draft
from profiler.analysis.edits import DropCalls, Edit, Move, Overlap, Remove, Scale, SetTo, Unblock
from profiler.analysis.graph import NEVER
from profiler.trace import Array
from tests.truth.machine import Machine, fused
from tests.unit.profiler.drawn import Row, drawn

CALLS = ("aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtMemcpy", "aclnnAdd", "aclnnMul", "aclrtRecordEvent")
call = st.tuples(st.integers(0, 1), st.sampled_from(CALLS), st.integers(0, 80), st.integers(0, 20), st.integers(-1, 12))
task = st.tuples(st.integers(0, 2), st.sampled_from(("kernel", "copy", "record", "wait")), st.integers(0, 80), st.integers(0, 20),
                 st.integers(-1, 12))  # fmt: skip


def by_definition(draft: Draft) -> list[int]:
    """time = max(floor, time[node - 1] + link, time[source] + weight) + after, in topological order."""
    graph = draft.graph
    into: dict[int, list[tuple[int, int]]] = {}
    edges = list(zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True))
    edges = [e for e, held in zip(edges, draft.alive.tolist(), strict=True) if held]
    for sources, targets, weights in draft.added:
        edges += zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True)
    for source, target, weight in edges:
        into.setdefault(target, []).append((source, weight))
    times = [0] * len(graph.time)
    for node in np.lexsort((graph.depth, graph.time)).tolist():
        held = [int(draft.floor[node])]
        if draft.linked[node]:
            held.append(times[node - 1] + int(draft.link[node]))
        held += [times[source] + weight for source, weight in into.get(node, [])]
        times[node] = max(held) + int(draft.after[node])
    return times


@settings(max_examples=150, deadline=None)
@given(st.lists(call, max_size=14), st.lists(task, min_size=1, max_size=14), st.data())
def test_any_edits_of_any_rows(calls: Sequence[Row], tasks: Sequence[Row], data: st.DataObject) -> None:
    context = Context(drawn(calls, tasks).trace())
    draft = Draft(context.trace, context.launches, context.graph)

    def some(count: int) -> Array:
        return np.array(data.draw(st.lists(st.integers(0, count - 1), unique=True)) if count else [], np.int64)

    edits: list[Edit] = [Scale(some(len(tasks)), 3.0), Remove(some(len(tasks))), SetTo(some(len(tasks)), np.int64(7_000)),
                         DropCalls(some(len(calls))), Unblock(some(len(calls)), 1_000), Overlap(some(len(calls)), 1_000),
                         Move(some(len(tasks)))]  # fmt: skip
    for edit in data.draw(st.lists(st.sampled_from(edits), unique=True)):
        draft.apply(edit)
    swept = draft.sweep()
    expected = by_definition(draft)
    assert min(expected) > NEVER  # something holds every node, whatever was cut
    assert swept.times().tolist() == expected
    few = some(len(context.graph.time))
    assert swept.times(few).tolist() == [expected[n] for n in few.tolist()]


def test_launches_between_two_waits_are_one_item() -> None:
    """Ten launches of one kernel and a wait, three times: the sweep visits per turn the wait and the kernels, and the heads."""
    machine = Machine()
    for _ in range(3):
        for _ in range(10):
            machine.execute(fused(1))
        machine.sync()
    context = Context(machine.made.trace())
    assert len(context.graph.shape.nodes) == 1 + 3 * 11  # the head of the thread; waits and first tasks of launches
    assert len(context.graph.shape.first) == 1 + 3 * 2
    assert (context.replay.times() == context.graph.time).all()


def test_items_too_far_apart_for_one_running_maximum() -> None:
    """Costs that differ by more than an int64 has room for when items are lifted above each other: the same result."""
    values = np.array([5, sweeping.LOW, 1 << 59, sweeping.LOW, sweeping.LOW, -3])
    sweeping._running_maximum(values, np.array([0, 0, 0, 1, 2, 2]), 3)
    assert values.tolist() == [5, 5, 1 << 59, sweeping.LOW, sweeping.LOW, -3]


def test_items_whose_edges_are_all_gone_add_nothing() -> None:
    values = np.full(4, sweeping.LOW)
    sweeping._running_maximum(values, np.array([0, 0, 1, 1]), 2)
    assert values.tolist() == [sweeping.LOW] * 4
