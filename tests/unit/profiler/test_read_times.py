"""Microseconds as files write them become exact nanoseconds."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.read import tables, times


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1736408883704643.212", 1736408883704643212),
        ("1736408883704643.212\t", 1736408883704643212),  # timestamp columns end with a TAB
        ("1695115378713661", 1695115378713661000),  # 2023: no TAB, 0 to 4 decimals
        ("1695115378795017.5", 1695115378795017500),
        ("496.8508", 496851),
        ("0.0005", 0),
        ("0.0015", 2),
        ("-3.5", -3500),
        (1789901234565, 1789901234565000),
        (12.25, 12250),
        ("1.5e3", 1500000),
    ],
)
def test_forms_of_a_time(text: object, ns: int) -> None:
    assert times.one(text) == ns
    assert times.nanoseconds([text, text]).tolist() == [ns, ns]


@pytest.mark.parametrize("value", ["", "N/A", "nan", "inf", "abc", None, [], {}, True.__class__])
def test_no_time(value: object) -> None:
    assert times.one(value) == times.NONE


def test_numbers_beyond_all_time_are_cut_so_that_sums_fit() -> None:
    assert times.one(10**30) == times.MOST and times.one("-1e40") == -times.MOST
    assert times.nanoseconds(["9999999999999999.999"] * 2).tolist() == [times.MOST] * 2


@given(st.lists(st.integers(0, 2 * 10**18), min_size=1, max_size=20))
def test_text_with_three_decimals_is_exact(values: list[int]) -> None:
    texts = [f"{v // 1000}.{v % 1000:03d}" for v in values]
    assert times.nanoseconds(texts).tolist() == values
    assert times.nanoseconds([t + "\t" for t in texts]).tolist() == values


@given(st.lists(st.decimals(0, 10**15, places=5), min_size=1, max_size=10))
def test_other_texts_round_half_even(values: list[Decimal]) -> None:
    expected = [int((v * 1000).to_integral_value(ROUND_HALF_EVEN)) for v in values]
    assert times.nanoseconds([str(v) for v in values]).tolist() == expected


@given(st.lists(st.integers(0, 9 * 10**12), min_size=1))
def test_durations_are_exact(values: list[int]) -> None:
    assert times.durations([v / 1000 for v in values]).tolist() == values


def test_a_duration_of_centuries_is_not_lost_in_a_double() -> None:
    assert times.durations([7447680000000000, 10.0]).tolist() == [times.MOST, 10000]


def test_ids_are_names() -> None:
    """Ids above 2**64 link as well as small ones; texts and numbers of the same digits are the same id."""
    ids = tables.Ids()
    huge = 55 * 10**18
    assert ids(huge) == ids(str(huge)) != ids(huge + 1)
    assert ids("936") == ids(936) == 936
    assert ids(4294967295) == ids(18446744073709551615) == ids(None) == ids("N/A") == ids(-1) == -1
    assert ids("stream-7") == ids("stream-7") >= tables.MOST_ID


def test_no_value_is_not_zero() -> None:
    assert tables.integers(["0", "N/A", "", 4294967295, "18446744073709551615", "x", 2.0]).tolist() == [0, -1, -1, -1, -1, -1, 2]
    assert np.isnan(tables.floats(["N/A"])).all() and tables.floats(["0"]).tolist() == [0.0]
