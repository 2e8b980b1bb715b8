"""Numbering distinct values agrees with np.unique, whichever way it is done."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis.groups import changes, combined, largest, numbered


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
