"""Edges of collectives without tasks of their own and of backward threads: what a call waits for, worked out by hand. Times in us."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls, Scale, Shorten
from profiler.analysis.graph import QUEUE, WAIT
from profiler.trace import Array
from tests.made import Made


def rows(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def exchange(call: str, stream: int = 3, known: bool = True, late: float = 1) -> Made:
    """An all-reduce of 100 launched at 0 that no task row stands for; the host waits for it from 5, returns `late` after its end
    at 102, works 20 and launches a kernel of 10."""
    made = Made()
    made.api("HcclAllReduce", 0, 4, correlation=1, stream=3, blocking=0)
    made.comm("op", "hcom_allReduce__1_0_1", 2, 102, correlation=1, stream=3 if known else -1, group="world")
    made.api(call, 5, 102 + late, stream=stream, blocking=1)
    made.api("aclnnAdd", 122 + late, 124 + late, correlation=2, stream=1, blocking=0)
    made.task("kernel", 124 + late, 134 + late, correlation=2, name="k")
    return made


def waits(made: Made) -> int:
    graph = Context(made.trace()).graph
    return int((graph.kind == WAIT).sum())


@pytest.mark.parametrize(("call", "stream"), [("aclrtSynchronizeStream", 3), ("aclrtSynchronizeDevice", -1)])
def test_a_wait_waits_for_a_collective_without_tasks(call: str, stream: int) -> None:
    """30 less of the collective are 30 less for all that follows: the wait returned because it was over."""
    made = exchange(call, stream)
    assert waits(made) == 1
    assert Context(made.trace()).gain([Shorten(rows(0), rows(30_000))]) == 30_000


def test_without_the_wait_the_collective_and_the_kernel_run_beside_each_other() -> None:
    """The wait dropped, the host works 20 from 5 on and launches for 2, the kernel ends at 37 and the collective at 102, which ends
    it all: 33 less than 135."""
    assert Context(exchange("aclrtSynchronizeStream").trace()).gain([DropCalls(rows(1))]) == 33_000


def test_a_wait_for_another_stream_does_not_wait_for_it() -> None:
    assert waits(exchange("aclrtSynchronizeStream", stream=1)) == 0


def test_on_an_unknown_stream_the_time_of_return_tells() -> None:
    """It returns 1 after the collective's end: that was it. 40 after: something else was."""
    assert waits(exchange("aclrtSynchronizeStream", stream=1, known=False)) == 1
    assert waits(exchange("aclrtSynchronizeStream", stream=1, known=False, late=40)) == 0


def test_a_trace_of_collectives_and_calls_alone_has_the_wait() -> None:
    made = exchange("aclrtSynchronizeStream")
    made.rows["task"].clear()
    assert waits(made) == 1
    assert Context(made.trace()).gain([Shorten(rows(0), rows(30_000))]) == 30_000


def backward() -> Made:
    """Thread 0 loads for 30 and runs the forward operator until 50; the backward thread begins its operator at 52, launches at 54
    a kernel of 100, then a second operator whose forward one was long over."""
    made = Made()
    made.api("aclrtMemcpy", 0, 30, thread=0, blocking=0)
    made.api("aclnnRelu", 40, 45, thread=0, correlation=0, blocking=0)
    made.task("kernel", 42, 44, correlation=0, name="relu")
    made.marker("cpu_op", "aten::relu", 38, 50, thread=0, sequence=8, forward_thread=0)
    made.marker("cpu_op", "aten::mul", 31, 37, thread=0, sequence=7, forward_thread=0)
    made.marker("cpu_op", "ReluBackward0", 52, 60, thread=1, sequence=8, forward_thread=1)
    made.marker("cpu_op", "MulBackward0", 61, 70, thread=1, sequence=7, forward_thread=1)
    made.api("aclnnReluGrad", 54, 58, thread=1, correlation=1, blocking=0)
    made.task("kernel", 56, 156, correlation=1, name="grad")
    made.api("aclnnMulGrad", 63, 66, thread=1, correlation=2, blocking=0)
    made.task("kernel", 156, 176, correlation=2, name="grad2")
    return made


def test_the_backward_thread_waits_for_the_forward_operator() -> None:
    """Without the load of 30 the forward operator ends 30 sooner, and with it all that the backward thread does."""
    made = backward()
    graph = Context(made.trace()).graph
    assert int((graph.kind == QUEUE).sum()) == 2
    assert (Context(made.trace()).replay.times() == graph.time).all()
    assert Context(made.trace()).gain([DropCalls(rows(0))]) == 30_000


def test_only_the_first_backward_operator_waited() -> None:
    """What the backward thread did between its operators is its own time: 58 to 63 stays however soon the forward thread is."""
    context = Context(backward().trace())
    times = context.replay.times([DropCalls(rows(0))])
    chains = context.graph.chains
    assert times[chains.call_start[3]] - times[chains.call_end[2]] == 5_000


def test_operators_without_numbers_hand_nothing_over() -> None:
    made = backward()
    for row in made.rows["marker"]:
        row |= {"sequence": -1}
    assert not (Context(made.trace()).graph.kind == QUEUE).any()


operator = st.tuples(st.integers(0, 1), st.integers(0, 60), st.integers(0, 20), st.integers(-1, 3))


@settings(max_examples=100, deadline=None)
@given(st.lists(operator, max_size=8), st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60), st.integers(0, 20)), max_size=8),
       st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 60), st.integers(0, 30)), max_size=4))  # fmt: skip
def test_any_operators_and_collectives_replay_exactly(
    operators: Sequence[tuple[int, int, int, int]], calls: Sequence[tuple[int, int, int]], ops: Sequence[tuple[int, int, int]]
) -> None:
    made = Made()
    for thread, start, length, number in operators:
        made.marker("cpu_op", "op", start, start + length, thread=thread, sequence=number, forward_thread=thread)
    for n, (thread, start, length) in enumerate(calls):
        made.api(("aclrtSynchronizeStream", "aclnnAdd")[n % 2], start, start + length, thread=thread, stream=n % 3, correlation=n)
    for n, (stream, start, length) in enumerate(ops):
        made.comm("op", f"hcom_allReduce__1_{n}_1", start, start + length, stream=stream, correlation=n, group="world")
    context = Context(made.trace())
    assert (context.replay.times() == context.graph.time).all()
    shorter = context.replay.times([Scale(rows(), 0.5), Shorten(np.arange(len(ops)), np.full(len(ops), 5_000))])
    assert (shorter <= context.graph.time).all()
