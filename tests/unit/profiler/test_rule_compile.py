"""Rules 4, 5 and 9: compiling while steps run, in the first step, and for shapes that never settle. Times in us."""

from __future__ import annotations

import pytest

from profiler.analysis.context import Context
from profiler.findings import Finding
from tests.made import Made
from tests.unit.profiler.eager import Eager
from tests.unit.profiler.said import loud, said


def training(compiles: set[int], steps: int = 10, cost: float = 500, kernel: float = 300) -> Made:
    """A step: sometimes a compile, a launch inside it or after it, a kernel, a wait."""
    run = Eager()
    for step in range(steps):
        run.begin()
        if step in compiles:
            run.call("aclopCompileAndExecute", cost, op_type="Conv2D")
        run.launch("Conv2D", kernel)
        run.end()
    return run.made


class TestOnlineCompile:
    def test_positive(self) -> None:
        """Compiles in steps 5, 6, 7 hold the host, and with it the device, for 500 each."""
        (finding,) = loud(training({5, 6, 7}), "online-compile")
        assert (finding.facts["count"], finding.facts["total_ns"], finding.facts["uncovered_ns"]) == (3, 1_500_000, 1_500_000)
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.confidence, finding.gain.on_all_ns) == (1_500_000, "high", None)

    def test_compiles_behind_kernels_gain_nothing(self) -> None:
        """The host is far ahead: 20 kernels of 300 are queued when it compiles for 500."""
        run = Eager()
        for step in range(5):
            run.begin()
            for number in range(20):
                if step >= 2 and number == 10:
                    run.call("aclopCompileAndExecute", 500)
                run.launch("Conv2D", 300)
            run.end()
        (finding,) = said(run.made, "online-compile")
        assert finding.gain is not None and finding.gain.ns == 0
        assert finding.facts["uncovered_ns"] == 3_000  # the microsecond between kernels, three times
        assert loud(run.made, "online-compile") == []

    def test_near_miss_all_in_warm_up(self) -> None:
        assert said(training({0}), "online-compile") == []

    def test_clean(self) -> None:
        assert said(training(set()), "online-compile") == []

    def test_nested_calls_count_once(self) -> None:
        made = training({5, 6, 7})
        outer = next(r for r in made.rows["api"] if r["name"] == "aclopCompileAndExecute")
        made.api("opCompile", int(str(outer["start"])) / 1000 + 10, int(str(outer["end"])) / 1000 - 10)
        (finding,) = said(made, "online-compile")
        assert (finding.facts["count"], finding.facts["total_ns"]) == (3, 1_500_000)
        assert finding.gain is not None and finding.gain.ns == 1_500_000

    def test_the_other_ranks_decide(self) -> None:
        """A collective after the compile waits for rank 1 until 3000 after its own start: here nothing is gained, on all ranks
        alike the compile's 500."""
        made = Made()
        made.meta["rank"] = 0
        made.marker("step", "ProfilerStep#0", 0, 4000)
        made.api("launch", 10, 15, level="node", correlation=1)
        made.task("kernel", 12, 50, correlation=1)
        made.api("aclopCompileAndExecute", 100, 600)
        made.api("hcom_allReduce_", 600, 610, correlation=2)
        made.comm("op", "hcom_allReduce__1", 620, 3720, correlation=2, stream=5)
        wait, move = 2, 0
        made.comm("part", "Notify_Wait", 621, 3620, part=wait, src=0, dst=1, stream=5)
        made.comm("part", "Memcpy", 3621, 3719, part=move, src=0, dst=1, stream=5)
        made.task("notify_wait", 620, 3620, correlation=2, stream=5)
        made.task("other", 3621, 3720, correlation=2, stream=5)
        made.api("aclrtSynchronizeStream", 610, 3722, stream=5, blocking=1)
        (finding,) = said(made, "online-compile")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.on_all_ns) == (0, 500_000)

    def test_with_sums_only_the_total_is_the_bound(self) -> None:
        made = Made()
        made.meta["tables"] = {
            "api_statistic": {
                "name": ["aclopCompileAndExecute", "launch"],
                "level": ["acl", "node"],
                "count": [30, 4000],
                "total": [60_000_000, 12_000_000],
            }
        }
        (finding,) = said(made, "online-compile")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.method, finding.gain.at_most) == (60_000_000, "bound", True)
        made.meta["tables"]["api_statistic"]["total"] = [300_000, 12_000_000]  # type: ignore[index]
        assert said(made, "online-compile") == []

    def test_collectives_without_tasks_are_launched_as_well(self) -> None:
        made = Made()
        made.marker("step", "ProfilerStep#0", 0, 700)
        made.api("aclopCompileAndExecute", 0, 500)
        made.api("hcom_allReduce_", 500, 510, correlation=2)
        made.comm("op", "hcom_allReduce__1", 520, 700, correlation=2)
        (finding,) = said(made, "online-compile")
        assert finding.gain is not None and finding.gain.ns == 500_000


class TestFirstStepCompile:
    def first(self, cost: float, steps: int = 6, rest: float = 100_000) -> list[Finding]:
        run = Eager()
        for step in range(steps):
            run.begin()
            if step == 0:
                run.call("aclopCompileAndExecuteV2", cost)
                run.user(rest)
            run.launch("Conv2D", 300)
            run.end()
        return loud(run.made, "first-step-compile")

    def test_positive(self) -> None:
        """2 s of compiling in a step of 2 s + 100 ms of other things + launch lead, kernel and wait."""
        (finding,) = self.first(2_000_000)
        assert (finding.facts["step"], finding.facts["count"], finding.facts["spent_ns"]) == (0, 1, 2_000_000_000)
        assert finding.facts["step_ns"] == 2_000_000_000 + 100_000_000 + 303_000
        assert finding.facts["later_ns"] == 303_000
        assert finding.gain is None

    def test_near_miss_a_short_warm_up(self) -> None:
        assert self.first(800_000) == []

    def test_near_miss_a_small_part_of_the_step(self) -> None:
        (found,) = self.first(500_000, rest=2_000_000)
        assert found.id == "first-step-slow" and found.facts["step_ns"] > 2_500_000_000

    def test_the_step_is_left_out_of_averages(self) -> None:
        context = Context(training({0}).trace())
        assert (context.steps.first, context.count) == (1, 9)


class TestShapeChurn:
    def run(self, fresh: set[int], compiles: bool = True) -> Made:
        run = Eager()
        for step in range(12):
            run.begin()
            if step in fresh and compiles:
                run.call("aclopCompile", 400)
            run.launch("MatMul", 200, in_shapes=f"{step if step in fresh else 7},64")
            run.end()
        return run.made

    def test_positive(self) -> None:
        """Steps 4, 6, 8, 10 bring shapes and compile for 400 each."""
        (finding,) = loud(self.run({4, 6, 8, 10}), "shape-churn")
        assert (finding.facts["steps"], finding.facts["of"], finding.facts["calls"]) == (4, 12, 4)
        assert finding.gain is not None and finding.gain.ns == 4 * 400_000

    def test_near_miss_one_in_six(self) -> None:
        assert said(self.run({6, 10}), "shape-churn") == []

    def test_clean_without_cost(self) -> None:
        assert said(self.run({4, 6, 8, 10}, compiles=False), "shape-churn") == []


@pytest.mark.parametrize("rule", ["online-compile", "first-step-compile", "shape-churn"])
def test_a_trace_without_host_calls_says_nothing(rule: str) -> None:
    made = Made()
    made.task("kernel", 0, 10, op_type="MatMul")
    assert said(made, rule) == []
