"""Rules 50 to 54 and 56 on files of kernels with counters: what single kernels waste inside. Times in us, kernels 1 apart."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import Made
from tests.unit.profiler.eager import bare
from tests.unit.profiler.kernel_rows import OTHER, gain, matmul, unary
from tests.unit.profiler.said import loud, said


class TestScalarBound:
    def run(self, scalar: float = 0.9, vec: float = 0.4, us: float = 50, **more: object) -> Made:
        return bare([("MaxPool", us, {"aiv_scalar_ratio": scalar, "aiv_vec_ratio": vec, **more}), OTHER] * 4)

    def test_positive(self) -> None:
        """0.9 becomes 0.4: 50 become 25."""
        (finding,) = loud(self.run(), "scalar-bound")
        assert (finding.facts["scalar_share"], finding.facts["next_share"]) == (pytest.approx(0.9), pytest.approx(0.4))
        assert gain(self.run(), "scalar-bound") == pytest.approx(4 * 25, abs=0.01)

    def test_one_and_a_half_times_the_next_pipe(self) -> None:
        assert gain(self.run(scalar=0.61, vec=0.4), "scalar-bound") == pytest.approx(4 * 50 * 0.21, abs=0.01)

    def test_near_misses(self) -> None:
        assert said(self.run(scalar=0.6, vec=0.4), "scalar-bound") == []  # exactly 1.5 times
        assert said(self.run(scalar=0.85, vec=0.9), "scalar-bound") == []  # another pipe works more
        assert said(self.run(scalar=0.39, vec=0.1), "scalar-bound") == []  # no unit is busy
        assert said(self.run(us=4.9), "scalar-bound") == []
        assert said(self.run(task_type="MIX_AIC"), "scalar-bound") == []

    def test_near_miss_three_percent(self) -> None:
        rest = ("Relu", 1000.0, {"aiv_scalar_ratio": 0.1, "aiv_vec_ratio": 0.7})
        made = bare([("MaxPool", 29.0, {"aiv_scalar_ratio": 0.9, "aiv_vec_ratio": 0.1}), rest])
        assert said(made, "scalar-bound") == []

    def test_silent_without_counters(self) -> None:
        assert said(bare([("MaxPool", 50.0, {}), OTHER] * 4), "scalar-bound") == []


class TestNoOverlapInKernel:
    def run(
        self, us: float = 50, mte2: float = 0.55, vec: float = 0.4, mte3: float = 0.05, times: int = 4, **more: object
    ) -> Made:
        pipes = {"aiv_mte2_ratio": mte2, "aiv_vec_ratio": vec, "aiv_mte3_ratio": mte3}
        return bare([("MyKernel", us, {**pipes, **more}), OTHER] * times)

    def test_positive(self) -> None:
        (finding,) = loud(self.run(), "no-overlap-in-kernel")
        assert (finding.facts["first_share"], finding.facts["second_share"]) == (pytest.approx(0.55), pytest.approx(0.4))
        assert gain(self.run(), "no-overlap-in-kernel") == pytest.approx(4 * 50 * 0.45, abs=0.01)

    def test_near_misses(self) -> None:
        assert said(self.run(mte2=0.8), "no-overlap-in-kernel") == []  # one pipe is busy enough
        assert said(self.run(vec=0.3), "no-overlap-in-kernel") == []  # 0.85: latency
        assert said(self.run(us=19), "no-overlap-in-kernel") == []
        assert said(self.run(mte2=0.7, vec=0.6), "no-overlap-in-kernel") == []  # 1.35: they overlap
        assert said(self.run(times=2), "no-overlap-in-kernel") == []
        assert said(self.run(mte2=0.1, vec=0.3, aiv_scalar_ratio=0.7), "no-overlap-in-kernel") == []  # the scalar unit's matter
        assert said(self.run(task_type="MIX_AIV"), "no-overlap-in-kernel") == []


class TestBankConflict:
    def run(self, bank: float = 0.1, group: float = 0.2, us: float = 50) -> Made:
        facts = {"aiv_vec_bank_cflt_ratio": bank, "aiv_vec_bankgroup_cflt_ratio": group}
        return bare([("MyKernel", us, facts), OTHER] * 4)

    def test_positive(self) -> None:
        (finding,) = loud(self.run(), "bank-conflict")
        assert (finding.facts["count"], finding.facts["conflict_share"]) == (4, pytest.approx(0.2))
        assert gain(self.run(), "bank-conflict") == pytest.approx(4 * 10, abs=0.01)

    def test_near_misses(self) -> None:
        assert said(self.run(0.04, 0.03), "bank-conflict") == []
        assert said(self.run(us=0.9), "bank-conflict") == []  # 0.9 %
        assert said(bare([OTHER] * 4), "bank-conflict") == []


class TestFrequencyDrop:
    def run(self, mhz: float = 1200, us: float = 100, then: float | None = None, **more: object) -> Made:
        made = bare([("Gelu", us, more)] * 10, gap=0)
        made.counter("AI Core Freq", 0, mhz)
        if then is not None:
            made.counter("AI Core Freq", 5 * us, then)
        return made

    def test_positive(self) -> None:
        """At 1800 instead of 1200 MHz the ten take two thirds."""
        (finding,) = loud(self.run(), "frequency-drop")
        assert (finding.facts["mean_mhz"], finding.facts["least_mhz"], finding.facts["rated_mhz"]) == (1200, 1200, 1800)
        assert gain(self.run(), "frequency-drop") == pytest.approx(1000 / 3, abs=0.02)

    def test_only_the_slow_half_gains(self) -> None:
        (finding,) = said(self.run(then=1800), "frequency-drop")
        assert (finding.facts["count"], finding.facts["slow_share"]) == (5, 0.5)
        assert gain(self.run(then=1800), "frequency-drop") == pytest.approx(500 / 3, abs=0.02)

    def test_near_misses(self) -> None:
        assert said(self.run(mhz=1720), "frequency-drop") == []
        assert said(bare([("Gelu", 100.0, {})] * 10), "frequency-drop") == []

    def test_a_low_clock_between_kernels_does_not_count(self) -> None:
        made = bare([("Gelu", 100.0, {})] * 10, gap=100)
        for number in range(10):
            made.counter("AI Core Freq", number * 200, 1800)
            made.counter("AI Core Freq", number * 200 + 110, 800)
        assert said(made, "frequency-drop") == []

    def test_unknown_chip(self) -> None:
        made = self.run()
        del made.meta["soc"]
        assert said(made, "frequency-drop") == []

    def test_unknown_chip_whose_clock_falls(self) -> None:
        """The highest clock seen counts as the rated one: half at 1800, half at 1200."""
        made = self.run(then=1800)
        del made.meta["soc"]
        (finding,) = said(made, "frequency-drop")
        assert finding.gain is not None
        assert (finding.facts["rated_mhz"], finding.facts["count"], finding.gain.confidence) == (1800, 5, "low")


class TestKernelOutlier:
    def run(self, slow: int = 4, runs: int = 40, us: float = 300, op: str = "Gelu") -> Made:
        """Every (runs/slow)th run takes longer, the first of all never."""
        every = runs // slow if slow else runs + 1
        return bare([unary(op, us if n % every == every - 1 else 100, "1024,1024", "FLOAT16") for n in range(runs)])

    def test_positive(self) -> None:
        (finding,) = loud(self.run(), "kernel-outlier")
        assert (finding.facts["count"], finding.facts["excess_ns"]) == (4, 800_000)
        assert (finding.facts["longest_ns"], finding.facts["median_ns"]) == (300_000, 100_000)
        assert gain(self.run(), "kernel-outlier") == 800

    def test_near_misses(self) -> None:
        assert said(self.run(us=149), "kernel-outlier") == []
        assert said(self.run(runs=7, slow=1), "kernel-outlier") == []
        assert said(self.run(slow=1, runs=100), "kernel-outlier") == []  # the 95th percentile is as the others
        assert said(self.run(op="TopKV2"), "kernel-outlier") == []  # its work depends on values

    def test_explained_by_what_runs_beside_it(self) -> None:
        made = self.run()
        for row in list(made.rows["task"]):
            if row["end"] - row["start"] > 200_000:  # type: ignore[operator]
                start, end = (float(row[n]) / 1000 for n in ("start", "end"))  # type: ignore[arg-type]
                made.task("copy", start + 1, end - 1, stream=2)
        assert said(made, "kernel-outlier") == []

    def test_explained_by_a_lower_clock(self) -> None:
        made = bare([unary("Gelu", 300 if n >= 30 else 100, "1024,1024", "FLOAT16") for n in range(40)])
        made.counter("AI Core Freq", 0, 1800)
        made.counter("AI Core Freq", 30 * 101, 600)
        assert said(made, "kernel-outlier") == []

    def test_the_first_run_is_cold(self) -> None:
        made = bare([unary("Gelu", 900 if n == 0 else 100, "1024,1024", "FLOAT16") for n in range(10)])
        assert said(made, "kernel-outlier") == []


class TestL2Misses:
    def run(self, hits: float = 20, misses: float = 80, us: float = 100, **more: object) -> Made:
        """2048 x 4096 x 4096 of FLOAT16: 2 * (2 * 8 Mi + 16 Mi) = 64 MiB, which the 192 MiB hold."""
        facts = {"aic_r0_read_cache_hit": hits, "aic_r0_read_cache_miss_allocate": misses}
        return bare([matmul(us, 2048, 4096, 4096, **facts, **more), OTHER] * 4)

    def test_positive(self) -> None:
        """80 % of 67,108,864 bytes at 5.2 TB/s * 20 / 24 instead of 1.6."""
        (finding,) = loud(self.run(), "l2-misses")
        assert (finding.facts["hit_share"], finding.facts["largest_bytes"]) == (pytest.approx(0.2), 64 << 20)
        saved = 0.8 * (64 << 20) * (1 / 1600 - 1 / (5200 * 20 / 24)) / 1000
        assert gain(self.run(), "l2-misses") == pytest.approx(4 * saved, rel=1e-3)

    def test_near_misses(self) -> None:
        assert said(self.run(hits=50, misses=50), "l2-misses") == []
        assert said(self.run(us=4), "l2-misses") == []  # 4 of 104
        assert said(self.run(aic_mte2_ratio=0.5), "l2-misses") == []  # not what it waits for
        big = bare([matmul(100, 32768, 4096, 4096, aic_r0_read_cache_hit=20.0, aic_r0_read_cache_miss_allocate=80.0)] * 4)
        assert said(big, "l2-misses") == []

    def test_what_is_read_first_must_miss(self) -> None:
        facts = {"aiv_r0_read_cache_hit": 20.0, "aiv_r0_read_cache_miss_allocate": 80.0}
        first = unary("Relu", 100, "8000000", "FLOAT16", **facts)
        assert said(bare([first, matmul(9, 64, 64, 64)] * 4), "l2-misses") == []
        assert len(said(bare([unary("Mul", 9, "8000000", "FLOAT16"), first] * 4), "l2-misses")) == 1

    def test_rates_of_the_table_l2_cache(self) -> None:
        made = bare([matmul(100, 2048, 4096, 4096), OTHER] * 4)
        rows = [row for row in made.rows["task"] if row["op_type"] == "MatMulV2"]
        table = {"stream": [1] * 4, "task_id": [r["task_id"] for r in rows], "name": [r["name"] for r in rows]}
        made.meta["tables"] = {"l2_cache": {**table, "hit_rate": [0.2, None, 0.2, 0.9]}}
        (finding,) = said(made, "l2-misses")
        assert finding.facts["count"] == 2


def test_counters_that_are_missing_are_not_zero() -> None:
    """A kernel with no ratios beside one with them is not judged by them."""
    made = bare([("A", 50.0, {"aiv_scalar_ratio": np.nan, "aiv_vec_ratio": np.nan}), ("B", 50.0, {"aiv_vec_ratio": 0.9})] * 4)
    assert said(made, "scalar-bound") == [] and said(made, "no-overlap-in-kernel") == []
