"""onnx's node suite on the simulated stack: what does not pass stands in docs/node-suite.csv with its reason, and is little."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.scripts.conftest import start

SUITE = Path(__file__).with_name("node_suite.py")
DOCS = Path(__file__).parents[2] / "docs"
LEAST = 0.985  # of the cases with tensors as inputs and outputs

__all__ = ["start"]  # the fixture of the script tests


def listed() -> dict[str, str]:
    with (DOCS / "node-suite.csv").open(encoding="utf-8", newline="") as file:
        return {row["case"]: row["reason"] for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["0/2", "1/2"])
def test_all_cases(start, part: str) -> None:
    ran = start("python", "-m", "npu", str(SUITE), "--part", part, timeout=230)
    told = json.loads(ran.out.splitlines()[-1])
    failed = told["failed"]
    assert told["cases"] > 900, ran.err
    unknown = {name: why for name, why in failed.items() if name not in listed()}
    assert not unknown
    assert 1 - len(failed) / told["cases"] >= LEAST


@pytest.mark.slow
def test_one_case_by_name(start) -> None:
    """Alone, a case says what went wrong with it; an unknown name is not a pass."""
    ran = start("python", "-m", "npu", str(SUITE), "test_not_2d", timeout=120)
    assert ran.code == 1 and "Traceback" in ran.err and "E19010" in ran.out
    assert json.loads(ran.out.splitlines()[-1])["cases"] == 1
    assert start("python", "-m", "npu", str(SUITE), "test_no_such_case", timeout=120).code == 1


def test_every_listed_case_has_a_reason_and_the_page_counts_them() -> None:
    cases = listed()
    assert len(cases) == 18 and all(cases.values())
    page = (DOCS / "atc.md").read_text(encoding="utf-8")
    assert "1,837 of 1,855" in page and "node-suite.csv" in page
