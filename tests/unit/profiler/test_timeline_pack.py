"""Columns packed into the page and unpacked again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiler.report.pack import Pack
from tests.pages import unpacked


@given(st.lists(st.integers(-(2**52), 2**52), max_size=40))
def test_whole_numbers_come_back_exactly(values: list[int]) -> None:
    pack = Pack()
    pack.ints(np.array([1, 2, 300]))
    entry = pack.ints(np.array(values, np.int64))
    assert unpacked(pack.base64(), entry).tolist() == values


def test_a_constant_column_needs_no_bytes() -> None:
    assert Pack().ints(np.full(1000, 5))["planes"] == 0


def test_counters_with_three_decimals_are_kept_exactly_and_small() -> None:
    pack = Pack()
    entry = pack.reals(np.array([0.125, 0.998, np.nan, 0.0]))
    assert (entry["form"], entry["planes"]) == ("milli", 2)
    entry["form"] = "int"
    assert unpacked(pack.base64(), entry).tolist() == [125, 998, -1, 0]


def test_other_reals_are_single_floats() -> None:
    pack = Pack()
    entry = pack.reals(np.array([-1.5, 1e30, np.nan]))
    assert entry["form"] == "real"
    np.testing.assert_array_equal(unpacked(pack.base64(), entry), np.array([-1.5, 1e30, np.nan], np.float32))
