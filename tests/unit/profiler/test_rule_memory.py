"""Rule 71: a device of 64 GiB over steps of 100 us."""

from __future__ import annotations

import pytest

from profiler.analysis.context import Context
from tests.made import Made
from tests.unit.profiler.eager import Eager
from tests.unit.profiler.said import loud, said

GIB = 1 << 30


def of(made: Made, id: str) -> list[dict[str, object]]:
    return [dict(f.facts) for f in loud(made, "memory-trouble") if f.id == id]


def stepped(sizes: list[int], **more: object) -> Made:
    """Allocated bytes at the end of each step."""
    made = Made()
    for step, size in enumerate(sizes):
        made.marker("step", f"ProfilerStep#{step}", step * 100, step * 100 + 100)
        made.task("kernel", step * 100, step * 100 + 90, op_type="Add")
        made.memory("sample", step * 100 + 50, -1, allocated=size, **more)
    return made


class TestLeak:
    def test_positive(self) -> None:
        """1 GiB a step from 10: after eight steps 17, so 47 more until 64."""
        (facts,) = of(stepped([(10 + n) * GIB for n in range(8)]), "memory-leak")
        assert (facts["slope_bytes"], facts["steps"]) == (pytest.approx(GIB, rel=1e-9), 8)
        assert (facts["grown_bytes"], facts["left_steps"]) == (pytest.approx(7 * GIB, rel=1e-9), 47)

    def test_owners_are_named(self) -> None:
        made = Made()
        for step in range(6):
            made.marker("step", f"ProfilerStep#{step}", step * 100, step * 100 + 100)
            made.memory("alloc", step * 100 + 10, GIB, allocation=step, site="train.py:12")
        made.task("kernel", 0, 600, op_type="Add")
        (facts,) = of(made, "memory-leak")
        assert facts["owners"] == "train.py:12"

    def test_near_miss_four_steps(self) -> None:
        assert of(stepped([(10 + n) * GIB for n in range(4)]), "memory-leak") == []

    def test_near_miss_under_a_hundredth_of_the_device(self) -> None:
        """0.64 GiB is the limit over eight steps."""
        assert of(stepped([10 * GIB + n * GIB // 12 for n in range(8)]), "memory-leak") == []
        assert len(of(stepped([10 * GIB + n * GIB // 10 for n in range(8)]), "memory-leak")) == 1

    def test_near_miss_a_cache_that_fills(self) -> None:
        assert of(stepped([GIB * n for n in (10, 14, 17, 19, 20, 20, 20, 20, 20, 20)]), "memory-leak") == []

    def test_clean_up_and_down(self) -> None:
        assert of(stepped([(10 + n % 2 * 5) * GIB for n in range(10)]), "memory-leak") == []


class TestFragmentation:
    def run(self, used: int = 20, reserved: int = 40, samples: int = 12) -> Made:
        return stepped([used * GIB] * samples, reserved=reserved * GIB)

    def test_positive(self) -> None:
        (facts,) = of(self.run(), "memory-fragmentation")
        assert (facts["torn_share"], facts["torn_bytes"]) == (0.5, 20 * GIB)

    def test_the_highest_use_while_so_much_is_reserved_counts(self) -> None:
        """At the start of each step little is in use; that is no fragmentation."""
        made = self.run(used=2)
        made.memory("sample", 1150, -1, allocated=38 * GIB, reserved=40 * GIB)
        assert of(made, "memory-fragmentation") == []

    def test_near_misses(self) -> None:
        assert of(self.run(used=29), "memory-fragmentation") == []  # 27.5 %
        assert of(self.run(used=1, reserved=2), "memory-fragmentation") == []  # 1 GiB
        assert of(self.run(samples=9), "memory-fragmentation") == []

    def test_pools_are_not_mixed(self) -> None:
        """The process holds 40 GiB, of which the framework's pool reserves 20 and uses 19."""
        made = stepped([19 * GIB] * 12, reserved=20 * GIB, component="PTA")
        for step in range(12):
            made.memory("sample", step * 100 + 60, -1, reserved=40 * GIB, component="APP")
        (use,) = Context(made.trace()).views.memory
        assert (use.reserved_bytes, use.samples, use.fragmentation_share) == (20 * GIB, 12, pytest.approx(0.05))
        assert of(made, "memory-fragmentation") == []


class TestNearlyFull:
    def run(self, used: int = 60, us: float = 1500, ret: int = 0, times: int = 4) -> Made:
        run = Eager()
        for _ in range(times):
            run.call("aclrtMalloc", us, ret=ret)
            run.launch("Gelu", 500)
            run.sync()
        run.made.memory("sample", 10, -1, allocated=used * GIB)
        return run.made

    def test_positive(self) -> None:
        """The device idles during each malloc of 1500; the window begins behind the first one."""
        (finding,) = loud(self.run(), "memory-trouble")
        assert (finding.facts["stalls"], finding.facts["stalled_ns"], finding.facts["failed"]) == (3, 4_500_000, 0)
        assert finding.gain is not None and finding.gain.ns == 4_500_000

    def test_failed_calls_count(self) -> None:
        (finding,) = said(self.run(us=100, ret=207001), "memory-trouble")
        assert finding.facts["failed"] == 3

    def test_near_misses(self) -> None:
        assert said(self.run(used=57), "memory-trouble") == []  # 89 %
        assert said(self.run(us=900), "memory-trouble") == []


class TestHeadroom:
    def run(self, used: int = 6, user: float = 40) -> Made:
        run = Eager()
        for _ in range(60):
            run.user(user)
            run.launch("Gelu", 20)
        run.sync()
        run.made.memory("sample", 10, -1, allocated=used * GIB)
        return run.made

    def test_positive(self) -> None:
        """0.9 * 64 / 6 = 9.6, at most 8: seven eighths of the idle time."""
        (finding,) = loud(self.run(), "memory-trouble")
        assert (finding.id, finding.facts["times"]) == ("memory-headroom", 8)
        (slow,) = loud(self.run(), "launch-bound")
        assert finding.gain is not None
        assert finding.gain.ns == int(slow.facts["idle_ns"] * 7 / 8)  # type: ignore[operator]

    def test_near_misses(self) -> None:
        assert said(self.run(used=32), "memory-trouble") == []
        assert said(self.run(user=0), "memory-trouble") == []  # not launch-bound


class TestPool:
    """Rule 43 where only memory was recorded: reserved bytes in MiB, samples at 20, 50 and 80 of each step of 100 us."""

    @staticmethod
    def steps(samples: list[tuple[int, int, int]], component: str = "PTA") -> Made:
        made = Made()
        for step, sizes in enumerate(samples):
            made.marker("step", f"ProfilerStep#{step}", step * 100, step * 100 + 100)
            made.task("kernel", step * 100, step * 100 + 90, op_type="Add")
            for number, size in enumerate(sizes):
                made.memory("sample", step * 100 + 20 + 30 * number, -1, reserved=size << 20, component=component)
        return made

    @staticmethod
    def pool(made: Made) -> list[dict[str, object]]:
        return [dict(f.facts) for f in loud(made, "alloc-in-loop") if f.id == "alloc-in-loop-pool"]

    def test_positive(self) -> None:
        """Each step begins with 100, gives 40 back and takes 30 again; 10 more come between steps."""
        (facts,) = self.pool(self.steps([(100, 60, 90)] * 4))
        assert (facts["steps"], facts["of"]) == (4, 4)
        assert (facts["count"], facts["grown_bytes"]) == (4 + 3, (4 * 30 + 3 * 10) << 20)
        assert (facts["released_bytes"], facts["most_bytes"]) == (4 * 40 << 20, 100 << 20)

    def test_a_pool_that_only_grows_is_silent(self) -> None:
        assert self.pool(self.steps([(100 + n, 130 + n, 160 + n) for n in range(0, 240, 60)])) == []

    def test_near_miss_two_of_six_steps(self) -> None:
        assert self.pool(self.steps([(100, 60, 100)] * 2 + [(100, 100, 100)] * 4)) == []

    def test_near_miss_less_than_a_block(self) -> None:
        made = self.steps([(100, 100, 100)] * 4)
        for row in made.rows["memory"][1::3]:
            row["reserved"] = (100 << 20) - 1000
        assert self.pool(made) == []

    def test_two_pools_are_told_apart(self) -> None:
        """Samples of two steady pools take turns."""
        made = self.steps([(100, 100, 100)] * 4)
        for row in list(made.rows["memory"]):
            made.rows["memory"].append(row | {"component": "GE", "reserved": 7 << 20})
        made.rows["memory"].sort(key=lambda r: str(r["time"]).zfill(9))
        assert self.pool(made) == []

    def test_silent_where_calls_were_recorded(self) -> None:
        made = self.steps([(100, 60, 100)] * 4)
        made.api("launch", 1, 2)
        assert self.pool(made) == []
