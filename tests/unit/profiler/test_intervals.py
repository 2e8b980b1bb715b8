"""Interval sets against figures by hand, and against sets of whole nanoseconds for anything hypothesis finds."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.intervals import Spans, gaps, gaps_and_next, inside, intersect, length, subtract, union


def made(*pairs: tuple[int, int]) -> Spans:
    starts, ends = ([p[n] for p in pairs] for n in (0, 1))
    return union(np.array(starts, np.int64), np.array(ends, np.int64))


def pairs(spans: Spans) -> list[tuple[int, int]]:
    return list(zip(spans.starts.tolist(), spans.ends.tolist(), strict=True))


def test_overlapping_contained_and_touching_intervals_become_one() -> None:
    assert pairs(made((5, 9), (0, 4), (3, 5), (1, 2), (20, 30), (22, 24))) == [(0, 9), (20, 30)]


def test_empty_and_backward_intervals_cover_nothing() -> None:
    assert pairs(made((4, 4), (9, 2))) == []
    assert length(made()) == 0


def test_length_counts_covered_time_once() -> None:
    assert length(made((0, 10), (5, 12), (20, 21))) == 13


def test_intersection_is_what_both_cover() -> None:
    assert pairs(intersect(made((0, 10), (20, 30)), made((5, 25), (29, 40)))) == [(5, 10), (20, 25), (29, 30)]


def test_touching_sets_do_not_intersect() -> None:
    assert pairs(intersect(made((0, 10)), made((10, 20)))) == []


def test_difference_cuts_holes_and_ends() -> None:
    assert pairs(subtract(made((0, 10), (20, 30)), made((2, 3), (8, 22), (30, 31)))) == [(0, 2), (3, 8), (22, 30)]


def test_gaps_include_both_borders_of_the_window() -> None:
    assert pairs(gaps(made((2, 4), (6, 12)), 0, 10)) == [(0, 2), (4, 6)]
    assert pairs(gaps(made(), 3, 7)) == [(3, 7)]


def test_what_ends_each_gap() -> None:
    free, following = gaps_and_next(made((2, 4), (6, 12), (15, 16)), 3, 14)
    assert (pairs(free), following.tolist()) == ([(4, 6), (12, 14)], [1, -1])


def test_epoch_nanoseconds_stay_exact() -> None:
    epoch = 1_736_408_883_704_643_212
    assert pairs(subtract(made((epoch, epoch + 5)), made((epoch + 1, epoch + 2)))) == [(epoch, epoch + 1), (epoch + 2, epoch + 5)]


some = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


@given(some, some)
def test_all_operations_agree_with_sets_of_single_nanoseconds(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    left, right = made(*a), made(*b)
    held = [{t for start, end in given_pairs for t in range(start, end)} for given_pairs in (a, b)]

    def covered(spans: Spans) -> set[int]:
        held = pairs(spans)
        assert all(start < end for start, end in held)
        assert all(end < start for (_, end), (start, _) in itertools.pairwise(held))  # sorted, apart, joined
        return {t for start, end in held for t in range(start, end)}

    assert covered(left) == held[0] and length(left) == len(held[0])
    assert covered(intersect(left, right)) == held[0] & held[1]
    assert covered(subtract(left, right)) == held[0] - held[1]
    assert covered(gaps(left, 10, 30)) == set(range(10, 30)) - held[0]


some = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=30)


@given(some, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=3))
def test_how_much_of_a_set_lies_in_intervals_of_any_order(asked: list[tuple[int, int]], held: list[tuple[int, int]]) -> None:
    """Many sorted intervals and a small set take a way of their own."""
    spans = made(*((start, start + wide) for start, wide in held))
    covered = {t for start, end in pairs(spans) for t in range(start, end)}
    for intervals in (asked, list(zip(*(sorted(side) for side in zip(*asked, strict=True)), strict=True)) if asked else []):
        starts, ends = (np.array([i[n] for i in intervals], np.int64) for n in (0, 1))
        expected = [len(covered & set(range(start, end))) for start, end in intervals]
        assert inside(spans, starts, ends).tolist() == expected
