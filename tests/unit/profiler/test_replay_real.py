"""The replay on real files: with median costs it must come within 5 % of what was measured, and the page must say what it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from profiler.analysis.context import Context
from profiler.analysis.run import report
from profiler.read import open_trace
from profiler.report.whatif import quality
from tests.made import Made

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "fidelity.md"
ROW = re.compile(r"^\| `(tests/data/[^`]+)` \| ([\d.,]+) ms \| ([+-][\d.]+) % \| (\d+) % \|", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
OFF = 0.05


def test_the_page_names_every_real_file_with_rows_in_time() -> None:
    folders = {p.parent for p in (ROOT / "tests" / "data").rglob("*") if p.name.startswith(("kernel_details", "trace_view", "op_summary"))}
    named = [ROOT / place for place, *_ in ROWS]
    missing = [f for f in folders if not any(n == f or n in f.parents or f in n.parents for n in named)]
    assert {f.name for f in missing} <= {"msprof-headers"}  # first lines only
    assert len(ROWS) >= 9


@pytest.mark.parametrize(("place", "measured", "off", "explained"), ROWS, ids=[r[0] for r in ROWS])
def test_median_costs_give_the_measured_time(place: str, measured: str, off: str, explained: str) -> None:
    found = Context(open_trace(ROOT / place)).quality
    share = found.modelled / found.measured - 1
    assert abs(share) <= OFF
    assert found.measured / 1e6 == pytest.approx(float(measured.replace(",", "")), abs=0.06)
    assert 100 * share == pytest.approx(float(off), abs=0.06)
    assert 100 * found.explained == pytest.approx(float(explained), abs=0.51)


def gaps() -> Made:
    """Kernels of 10 without host rows, each 40 after the one before it ended, the last 400 after."""
    made, now = Made(), 0.0
    for number in range(6):
        made.task("kernel", now, now + 10, name="k")
        now += 50 if number < 4 else 410
    return made


def test_gaps_nobody_recorded_a_cause_for_stay_as_measured() -> None:
    """5 gaps of 40, 40, 40, 40, 400 and 6 kernels of 10 are 620 either way. Kernels follow each other after 2 at best, so 38 of
    each gap and 398 of the last have no cause: 550 of 620."""
    found = Context(gaps().trace()).quality
    assert (found.measured, found.modelled) == (620_000, 620_000)
    assert found.explained == pytest.approx(1 - (4 * 38 + 398) / 620)


def test_an_odd_kernel_still_moves_the_model_where_gaps_stay() -> None:
    """Of kernels of 10, 10, 40 the median is 10: 30 less, and both gaps of 40 stay."""
    made = Made()
    for start, length in ((0, 10), (50, 10), (100, 40)):
        made.task("kernel", start, start + length, name="k")
    found = Context(made.trace()).quality
    assert (found.measured, found.modelled) == (140_000, 110_000)


def test_the_programs_own_code_stays_as_measured() -> None:
    """Three calls of 10, 10 and 40 and own code of 5 and 100 between them: the calls become 10 each, 30 less."""
    made = Made()
    for start, length in ((0, 10), (15, 10), (125, 40)):
        made.api("aclnnAdd", start, start + length, blocking=0)
    found = Context(made.trace()).quality
    assert (found.measured, found.modelled) == (165_000, 135_000)


def test_a_calls_inside_is_a_cost_of_the_call() -> None:
    """Calls of 30 with an inner one from 10 to 20; the third takes 40 before its inner one. 30 less, though no call follows own code."""
    made = Made()
    for start, lead in ((0, 10), (30, 10), (60, 40)):
        made.api("outer", start, start + lead + 20, blocking=0)
        made.api("inner", start + lead, start + lead + 10, blocking=0)
    found = Context(made.trace()).quality
    assert (found.measured, found.modelled) == (120_000, 90_000)


def test_a_class_of_two_keeps_its_sum() -> None:
    """Two kernels of 10 and 30: both 20."""
    made = Made()
    made.task("kernel", 0, 10, name="k")
    made.task("kernel", 10, 40, name="k")
    found = Context(made.trace()).quality
    assert (found.measured, found.modelled) == (40_000, 40_000)


@pytest.mark.parametrize(("lang", "said"), [("en", "keeps them as measured"), ("zh", "按实测保留")])
def test_a_report_says_that_unexplained_gaps_stay(lang: str, said: str) -> None:
    found = report(gaps().trace()).quality
    assert found is not None
    assert said in quality(found, lang)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_explained_replay_says_nothing_of_gaps(lang: str) -> None:
    made = Made()
    made.task("kernel", 0, 10, name="k")
    assert len(quality(Context(made.trace()).quality, lang)) < len(quality(Context(gaps().trace()).quality, lang))
