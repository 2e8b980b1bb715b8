"""Tables without their header line are read by the usual order of their columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.read import open_trace
from profiler.trace import Unreadable

REAL = Path(__file__).parents[2] / "data" / "real"
LEVEL1 = REAL / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"


def cut(source: Path, target: Path) -> Path:
    target.write_bytes(source.read_bytes().split(b"\n", 1)[1])
    return target


def test_kernels_of_a_real_file(tmp_path: Path) -> None:
    whole = open_trace(LEVEL1 / "kernel_details.csv")
    trace = open_trace(cut(LEVEL1 / "kernel_details.csv", tmp_path / "kernel_details.csv"))
    assert len(trace.task) == len(whole.task)
    for name in ("start", "end", "stream", "block_dim"):
        assert (trace.task[name] == whole.task[name]).all()
    texts = [trace.strings[int(i)] for i in trace.task["op_type"]]
    assert texts == [whole.strings[int(i)] for i in whole.task["op_type"]]
    assert ("the header of kernel_details.csv", "its columns are taken in their usual order") in {
        (m.what, m.why) for m in trace.missing
    }


@pytest.mark.parametrize("name", ["api_statistic", "op_statistic", "step_trace_time"])
def test_sums_of_a_real_file(tmp_path: Path, name: str) -> None:
    whole = open_trace(LEVEL1 / f"{name}.csv").meta["tables"][name]
    assert open_trace(cut(LEVEL1 / f"{name}.csv", tmp_path / f"{name}.csv")).meta["tables"][name] == whole


def test_level0(tmp_path: Path) -> None:
    whole = open_trace(REAL / "level0" / "kernel_details.csv")
    trace = open_trace(cut(REAL / "level0" / "kernel_details.csv", tmp_path / "kernel_details.csv"))
    assert (trace.task["end"] == whole.task["end"]).all()


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n", "some,words,that,are,no,table,of,numbers\n", "1,2\n"])
def test_what_does_not_fit_stays_unreadable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kernel_details.csv"
    path.write_text(text)
    with pytest.raises(Unreadable):
        open_trace(tmp_path)
