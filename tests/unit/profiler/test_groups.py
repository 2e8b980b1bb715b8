"""Numbering distinct values agrees with np.unique, sorting with np.lexsort, whichever way it is done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis import groups
from profiler.analysis.groups import (
    changes,
    combined,
    in_order,
    largest,
    numbered,
    one_of_each,
    ranges,
    rises,
    sort_by,
    stretch,
    values_of,
)
from profiler.trace import Columns, Strings, Trace

SMALL = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30)


@given(st.lists(st.integers(-1, 5) | st.integers(-(1 << 60), 1 << 60)))
def test_numbered(values: list[int]) -> None:
    found, inverse = np.unique(np.array(values, np.int64), return_inverse=True)
    number, count = numbered(np.array(values, np.int64))
    assert count == len(found)
    assert (number == inverse).all()


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 1 << 40)), min_size=1))
def test_combined_tells_exactly_the_distinct_pairs_apart(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array(c, np.int64) for c in zip(*pairs, strict=True))
    numbers = combined(left, right).tolist()
    assert len(set(numbers)) == len(set(pairs))
    assert len(set(zip(numbers, pairs, strict=True))) == len(set(pairs))


def test_changes() -> None:
    assert changes(np.array([1, 1, 2, 2]), np.array([0, 1, 1, 1])).tolist() == [True, True, True, False]
    assert changes(np.zeros(0, np.int64)).tolist() == []


@given(st.lists(st.integers(-5, 5), max_size=30), st.integers(1, 8))
def test_the_largest_come_first_and_of_equal_ones_the_earlier(values: list[int], most: int) -> None:
    expected = sorted(range(len(values)), key=lambda n: (-values[n], n))[:most]
    assert largest(np.array(values, np.int64), most).tolist() == expected


def test_a_column_of_one_value_in_the_room_of_one() -> None:
    alike = np.broadcast_to(np.int32(7), 4)
    assert numbered(alike)[0].tolist() == [0, 0, 0, 0]
    assert numbered(alike)[1] == 1
    assert combined(alike, np.array([5, 3, 5, 3])).tolist() == [1, 0, 1, 0]
    assert in_order(alike, np.array([1, 2, 2, 3]))


def test_values_seen_late_are_numbered_as_well() -> None:
    values = np.append(np.zeros(3 * groups.BLOCK, np.int32), [2, 5])
    number, count = numbered(values)
    assert (number[-3:].tolist(), count) == ([0, 1, 2], 3)
    assert one_of_each(number, count)[1:].tolist() == [3 * groups.BLOCK, 3 * groups.BLOCK + 1]
    assert values_of(values).tolist() == [0, 2, 5]


@given(SMALL)
def test_rows_are_sorted_as_lexsort_does_and_known_to_be_in_order(rows: list[tuple[int, int]]) -> None:
    left, right = (np.array(c) for c in zip(*rows, strict=True))
    assert in_order(left, right) == (rows == sorted(rows))
    order = sort_by(left, right)
    assert order.tolist() == np.lexsort((right, left)).tolist()
    assert in_order(left[order], right[order])


def test_ascending_rows_side_by_side_are_a_slice() -> None:
    assert stretch(np.array([4, 5, 6])) == slice(4, 7)
    apart = np.array([4, 6])
    assert stretch(apart) is apart


def test_ranges_and_rises() -> None:
    assert ranges(np.array([3, 9]), np.array([2, 3])).tolist() == [3, 4, 9, 10, 11]
    assert rises(np.array([5, 7, 6])).tolist() == [5, 2, -1]


@given(st.lists(st.integers(-1, 4) | st.sampled_from((1 << 20, 1 << 40)), max_size=20))
def test_counts_of_a_column(values: list[int]) -> None:
    table = Columns({"name": np.array(values, np.int64)})
    assert table.counts("name") == {v: values.count(v) for v in values}


def test_rows_by_name_and_kind() -> None:
    trace = Trace(Path("none"), Strings(["a", "b", "c"]), api=Columns({"name": np.array([1, 0, 1])}),
                  task=Columns({"kind": np.broadcast_to(np.int8(0), 2)}))  # fmt: skip
    assert trace.api_named("b").tolist() == [True, False, True]
    assert trace.api_named("a", "b").tolist() == [True, True, True]
    assert trace.api_named("c", "never seen").tolist() == [False, False, False]
    assert trace.tasks_of("kernel").tolist() == [True, True]
    assert trace.tasks_of("copy").tolist() == [False, False]
