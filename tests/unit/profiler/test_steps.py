"""View V2: what is a step, what is warm-up, which window is judged. Times in us."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis.context import Context
from profiler.analysis.steps import Steps
from tests.made import Made


def test_marked_steps_win() -> None:
    made = Made()
    for step in range(4):
        made.marker("step", f"ProfilerStep#{step + 5}", step * 10, step * 10 + 10)
        made.api("aclmdlExecute", step * 10 + 1, step * 10 + 9, correlation=step)
        made.task("kernel", step * 10 + 2, step * 10 + 8, correlation=step)
    steps = Context(made.trace()).steps
    assert (steps.kind, list(steps.ids), steps.steady) == ("marker", [5, 6, 7, 8], 4)


def test_a_step_that_is_marked_twice_counts_once() -> None:
    made = Made()
    for step in range(4):
        for thread in (0, 7):
            made.marker("step", f"ProfilerStep#{step}", step * 10, step * 10 + 10, thread=thread)
        made.task("kernel", step * 10 + 2, step * 10 + 8)
    assert list(Context(made.trace()).steps.ids) == [0, 1, 2, 3]


def test_too_few_marked_steps_are_judged_without_averages() -> None:
    made = Made()
    made.marker("step", "ProfilerStep#3", 100, 200)
    made.marker("step", "ProfilerStep#4", 200, 300)
    made.task("kernel", 50, 60)
    made.task("kernel", 120, 130)
    made.task("kernel", 220, 230)
    context = Context(made.trace())
    assert (context.steps.steady, context.window, context.count) == (0, (100_000, 300_000), 2)


def test_a_step_of_executions_begins_with_the_copy_of_its_input() -> None:
    made = Made()
    for image in range(5):
        start = image * 100
        made.api("aclrtMemcpy", start, start + 10, direction="h2d", blocking=1)
        made.api("aclmdlExecuteAsync", start + 12, start + 20, correlation=image, stream=1, blocking=0)
        made.task("kernel", start + 15, start + 80, correlation=image, model=1)
        made.api("aclrtSynchronizeStream", start + 20, start + 80, stream=1, blocking=1)
    steps = Context(made.trace()).steps
    assert steps.kind == "execution"
    assert list(steps.starts // 1000) == [0, 100, 200, 300, 400]
    assert steps.ends[-1] == 480_000  # with the wait for the last one


def test_the_model_that_runs_most_makes_the_steps() -> None:
    made = Made()
    for number, model in enumerate((7, 1, 1, 2, 1, 2, 1)):
        made.api("aclmdlExecute", number * 10, number * 10 + 9, correlation=number, blocking=1)
        made.task("kernel", number * 10 + 1, number * 10 + 8, correlation=number, model=model)
    assert list(Context(made.trace()).steps.starts // 1000) == [10, 20, 40, 60]


def test_a_repeated_launch_sequence_makes_steps() -> None:
    made = Made()
    names = ["load", "a", "b", "c"] + ["a", "b", "b", "c"] * 4
    for number, name in enumerate(names):
        made.api("aclnn", number * 10, number * 10 + 5, correlation=number)
        made.task("kernel", number * 10 + 2, number * 10 + 8, correlation=number, name=name)
    steps = Context(made.trace()).steps
    assert (steps.kind, steps.steady) == ("sequence", 4)
    assert set(steps.ends - steps.starts) <= {40_000, 38_000}


def test_loading_and_slow_first_steps_are_warm_up() -> None:
    made = Made()
    start = 0
    for step, length in enumerate((900, 300, 100, 101, 99, 100, 100)):
        made.marker("step", f"Step {step}", start, start + length)
        made.task("kernel", start + 1, start + 50)
        if step == 0:
            made.api("aclmdlLoadFromFile", 5, 600)
        start += length
    context = Context(made.trace())
    assert (context.steps.first, context.steps.steady) == (2, 5)
    assert context.window == (1_200_000, 1_700_000)


def test_too_few_steps_judge_the_whole_span_of_device_work() -> None:
    made = Made()
    made.api("aclInit", 0, 5)
    made.task("kernel", 10, 30)
    made.task("kernel", 50, 90)
    context = Context(made.trace())
    assert (context.steps.kind, context.steps.steady, context.window) == ("none", 0, (10_000, 90_000))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6), st.lists(st.integers(-3, 70), max_size=20))
def test_the_step_of_sorted_times_is_that_of_times_in_any_order(gaps: list[tuple[int, int]], times: list[int]) -> None:
    """Times that come in order take a way of their own."""
    borders = np.cumsum(np.array(gaps, np.int64).reshape(-1))
    steps = Steps("marker", borders[::2], borders[1::2], np.arange(len(gaps)))
    inside = [next((n for n in reversed(range(len(gaps))) if borders[2 * n] <= t), -1) for t in times]
    expected = [n if n >= 0 and t < borders[2 * n + 1] else -1 for n, t in zip(inside, times, strict=True)]
    assert steps.of(np.array(times, np.int64)).tolist() == expected
    assert steps.of(np.array(sorted(times), np.int64)).tolist() == [n for _, n in sorted(zip(times, expected, strict=True))]


@pytest.mark.parametrize(("first", "warm_up"), [(109, 0), (111, 1)])
def test_a_first_step_that_takes_a_tenth_longer_is_no_warm_up(first: int, warm_up: int) -> None:
    """However alike the later ones are."""
    made = Made()
    start = 0
    for step, length in enumerate((first, 100, 100, 100, 100, 100)):
        made.marker("step", f"Step {step}", start, start + length)
        made.task("kernel", start + 1, start + 50)
        start += length
    assert Context(made.trace()).steps.first == warm_up
