"""Damaged profiles: a file of each reader, changed at random places, gives a Trace or an Unreadable; nothing else, not slowly, and
without eating memory. Of those that can be read some are judged, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.read import open_trace
from tests.faults.mutations import JUDGED_EVERY, run
from tests.faults.small_profiles import SMALL


def test_what_is_damaged_can_be_read_before(tmp_path: Path) -> None:
    """Else the tests below would only see refusals."""
    for number, (name, make) in enumerate(SMALL.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        trace = open_trace(make(folder).opened)
        rows = sum(len(t) for t in (trace.api, trace.task, trace.comm, trace.memory, trace.marker))
        assert rows or trace.meta.get("tables") or name == "operator_details", name


@pytest.mark.parametrize("name", SMALL)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    found = run(name, tmp_path, 60, seed=1)
    assert found.files == 60


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_thousand_damaged_files(tmp_path: Path, name: str) -> None:
    found = run(name, tmp_path, 1000, seed=2)
    assert found.read > 100 and found.judged >= found.read // JUDGED_EVERY


@pytest.mark.mutations
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SMALL)
def test_ten_thousand_damaged_files(tmp_path: Path, name: str) -> None:
    assert run(name, tmp_path, 10_000, seed=3).files == 10_000
