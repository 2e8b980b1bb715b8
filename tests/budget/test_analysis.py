"""What an analysis costs grows with the tasks of a capture, not faster: the same run at two sizes, measured in turn in one process.
Processor time, the least of several rounds, so that other work on the machine counts little."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import profiler
from profiler.analysis.run import report
from profiler.trace import Trace
from tests.bench_script import bench_script

BENCH = Path(__file__).parents[2] / "bench" / "analysis.py"
SMALL, TIMES = 50_000, 4  # tasks
MOST = 5.0  # times as long for TIMES as many tasks
ROUNDS = 3


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Trace]:
    """A small and a large capture of one launch per kernel."""
    bench = bench_script("analysis")
    folder = tmp_path_factory.mktemp("runs")
    small, large = (profiler.open(bench.write(folder / str(n), "eager", n)) for n in (SMALL, SMALL * TIMES))
    return small, large


def seconds(trace: Trace) -> float:
    begun = time.process_time()
    report(trace)
    return time.process_time() - begun


@pytest.mark.slow
def test_time_grows_no_faster_than_the_tasks(traces: tuple[Trace, Trace]) -> None:
    small, large = traces
    seconds(small)  # what is loaded once is loaded from here on
    rounds = [(seconds(small), seconds(large)) for _ in range(ROUNDS)]
    ratio = min(b for _, b in rounds) / min(a for a, _ in rounds)
    assert ratio <= MOST, f"{TIMES} times as many tasks take {ratio:.1f} times as long"
