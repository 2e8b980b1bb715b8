"""Errors on sources that had no part in the fit: what such rows must not know."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import pytest

from npu.cost import errors, kernel
from npu.cost.work import Work
from npu.soc import find

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "tests/data/calibration_sample.csv"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(ROOT / "bench"))
    yield importlib.import_module("fit_costs")
    sys.path.remove(str(ROOT / "bench"))


@pytest.fixture(scope="module")
def measured(bench):
    with SAMPLE.open(encoding="utf-8", newline="") as stream:
        return bench.points(csv.DictReader(stream))


def test_constants_nobody_else_can_give_are_forgotten(bench, measured):
    tables = bench.start()
    assert bench.forget(tables, []).vector.keys() < tables.vector.keys()
    left = bench.forget(tables, [])
    assert all(("layout", "Transpose", "") not in t.vector for t in (left,)) and ("vector", "Sub", "") in left.vector  # not fitted
    assert not [k for k in left.cube if "@" in k[0] and k[0] in {p.group for p in bench.PLANS}]
    kept = bench.forget(tables, [p for p in measured for _ in range(4)])
    assert ("layout", "Transpose", "") in kept.vector


def test_rows_only_one_source_measured_are_not_judged(bench, measured):
    decode = [p for p in measured if p.case.family == "attention_decode"]
    assert decode and not bench.known(decode[0], [p for p in measured if p.source != decode[0].source])
    conv = next(p for p in measured if p.case.family == "elementwise")
    assert bench.known(conv, [])  # its form's own constants stay


def test_left_out_rows_are_judged_by_a_fit_without_them(bench, measured):
    rows = [p for p in measured if p.case.family == "layout"]
    found = bench.without(rows, bench.start(), lambda i, p: p.source)
    assert set(found) == {"layout"} and len(found["layout"]) == len(rows)
    told = bench.errors(rows, bench.start())["layout"]
    assert sum(found["layout"]) > sum(told)  # what was fitted to them knew more


def test_the_table_names_families_without_another_source():
    table = errors.table()
    assert table["attention_decode"].left_out is None and table["attention_decode"].left_out_rows == 0
    assert table["conv"].left_out_rows == table["conv"].rows
    assert all(0 < e.median <= 1 for e in table.values())


def test_rows_of_odd_lengths_take_three_times_as_long():
    chip = find("Ascend910B2")
    even, odd = (
        kernel(Work("layout", "Transpose", "float16", (4096 * n, 4096), 8192 * n, 8192 * n), chip).duration / 1000 for n in (1024, 1023)
    )
    # 11.64 us fixed; 2 x 8.39 MB at 2.5 TB/s are 6.711 us, and 336 bytes for each row of 2048 make them 7.812, which count 0.5712
    # times, and 3.081 times that in odd rows (6.704 us, 7.805 with 336 for each of 2046 bytes)
    assert even == pytest.approx(11.64 + 0.5712 * 7.812, rel=0.002)
    assert odd == pytest.approx(11.64 + 0.5712 * 3.081 * 7.805, rel=0.002)
