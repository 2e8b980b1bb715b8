"""Columns to texts: what is picked by number must be what formatting row by row would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu import events
from npu.units import us3
from profiler.export import columns, csvtext, words


@given(st.lists(st.integers(-(10**15), 2 * 10**18), max_size=20))
def test_microseconds_agree_with_the_single_value_form(ns: list[int]) -> None:
    assert columns.microseconds(np.array(ns, np.int64)) == [us3(n) for n in ns]


ROW = st.tuples(st.integers(-2, 2), st.integers(0, 2), st.sampled_from([0.5, float("nan"), 0.0]))


@given(st.lists(ROW, min_size=1, max_size=40))
def test_distinct_rows_rebuild_every_column(rows: list[tuple[int, int, float]]) -> None:
    table = [np.array([r[0] for r in rows], np.int32), np.array([r[1] for r in rows], np.int8), np.array([r[2] for r in rows])]
    first, which = columns.distinct(table)
    for column in table:
        np.testing.assert_array_equal(column[first][which], column)
    assert len(first) == len({repr(r) for r in rows})


def test_rows_whose_hashes_clash_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = np.unique
    monkeypatch.setattr(columns.np, "unique", lambda hashes, **more: real(np.zeros_like(hashes), **more))
    first, which = columns.distinct([np.array([7, 8, 7])])
    assert first[which].tolist() == [0, 1, 2]


def test_counters_have_the_three_forms_of_the_real_files() -> None:
    values = np.array([0.0, 1.0, 0.0866, np.nan, 2910056.0])
    assert csvtext.counters("aic_mac_ratio", values) == ["0.0", "1.0", "0.087", "N/A", "2910056.0"]
    assert csvtext.counters("aiv_total_cycles", values) == ["0", "1", "0", "N/A", "2910056"]
    assert csvtext.counters("cube_utilization(%)", values) == ["0.000", "1.000", "0.087", "N/A", "2910056.000"]


def test_statistics_numbers_carry_no_trailing_zeros() -> None:
    assert [csvtext.short3(v) for v in (10.0, 9.78, 0.0004, 63128.66, -0.0)] == ["10", "9.78", "0", "63128.66", "0"]


def test_a_name_with_commas_or_quotes_stays_one_field() -> None:
    assert csvtext.field('a,"b"') == '"a,""b"""'
    assert csvtext.field("plain/name_1") == "plain/name_1"


@pytest.mark.parametrize(("kind", "direction", "text", "kernel_type", "stars"), [
    ("kernel", "", "AI_VECTOR_CORE", "KERNEL_AIVEC", "AI_VECTOR_CORE"),
    ("kernel", "", "MIX_AIC", "MIX_AIC", "MIX_AIC"),
    ("aicpu", "", "", "KERNEL_AICPU", "AI_CPU"),
    ("kernel", "", "", "N/A", "N/A"),
    ("copy", "h2d", "", "MEMCPY_ASYNC", "PCIE_DMA_SQE"),
    ("copy", "d2d", "MEMCPY_ASYNC", "MEMCPY_ASYNC", "SDMA_SQE"),
    ("copy", "d2h", "SDMA_SQE", "MEMCPY_ASYNC", "SDMA_SQE"),
    ("record", "", "PLACE_HOLDER_SQE", "EVENT_RECORD", "PLACE_HOLDER_SQE"),
    ("wait", "", "", "EVENT_WAIT", "EVENT_WAIT_SQE"),
    ("other", "", "Write Value", "Write Value", "Write Value"),
])
def test_task_types_of_csv_and_timeline(kind: str, direction: str, text: str, kernel_type: str, stars: str) -> None:
    code = events.DIRECTIONS.index(direction) if direction else -1
    assert words.task_type(events.KINDS.index(kind), code, text) == (kernel_type, stars)


def test_every_kind_of_task_has_a_name() -> None:
    for code in range(len(events.KINDS)):
        assert all(words.task_type(code, -1, ""))
