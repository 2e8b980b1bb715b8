"""Rules 6, 7, 8 and 19: what is launched one by one and could be one launch. Times in us."""

from __future__ import annotations

import pytest

from profiler.analysis import analyze
from tests.made import Made
from tests.unit.profiler.eager import Eager, bare
from tests.unit.profiler.said import loud, said


def stepping(kernels: int = 200, host: float = 10, us: float = 2, steps: int = 5, model: int = -1) -> Eager:
    run = Eager()
    for _ in range(steps):
        run.begin()
        for number in range(kernels):
            run.launch("Mul" if number % 2 else "Add", us, host=host, model=model)
        run.end()
    return run


class TestSingleOpMode:
    def test_positive(self) -> None:
        """A step takes 200 launches of 10 and 1 for the wait: 2001. As one launch: kernels from 2 on, 200 of 2 and 199 gaps of
        0.6, and 1: 522.4."""
        (finding,) = loud(stepping().made, "single-op-mode")
        assert (finding.facts["per_step"], finding.severity) == (200, "critical")
        assert finding.facts["busy_share"] == pytest.approx(0.2, abs=0.01)
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(5 * (2001 - 522.4) * 1000, rel=0.002)
        assert (finding.gain.at_most, finding.sites) == (True, ("train.py:7",))

    def test_the_chains_of_small_kernels_are_its_symptom(self) -> None:
        run = Eager()
        for _ in range(5):
            run.begin()
            for _ in range(40):
                run.launch("MatMul", 2, host=10)
                for _ in range(4):
                    run.launch("Add", 2, host=10)
            run.end()
        found = {f.id: f for f in analyze(run.made.trace()).findings}
        assert (found["small-kernel-chain"].cause, found["small-kernel-chain"].gain) == ("single-op-mode", None)
        assert found["single-op-mode"].cause == ""

    def test_near_miss_199_kernels(self) -> None:
        assert said(stepping(kernels=199).made, "single-op-mode") == []

    def test_near_miss_the_device_is_the_slower_one(self) -> None:
        assert said(stepping(us=15).made, "single-op-mode") == []

    def test_near_miss_kernels_of_a_model(self) -> None:
        assert said(stepping(model=3).made, "single-op-mode") == []

    def test_near_miss_another_sequence_each_step(self) -> None:
        run = Eager()
        for step in range(5):
            run.begin()
            for number in range(200):
                run.launch(f"Op{(number * (step + 1)) % 7}", 2, host=10)
            run.end()
        assert said(run.made, "single-op-mode") == []


def model(shapes: list[str], launches: int = 5, state: str = "dynamic") -> Made:
    """Executions that launch their operators one by one: 1 before the first launch, 10 each, 1 behind the last."""
    made = Made()
    now, number = 0.0, 0
    for shape in shapes:
        begun = now
        now += 1
        for _ in range(launches):
            number += 1
            made.api("launch", now, now + 10, level="node", correlation=number, blocking=0)
            made.task("kernel", now + 2, now + 4, correlation=number, model=1, op_state=state, in_shapes=shape, op_type="Conv2D")
            now += 10
        made.api("aclmdlExecuteAsync", begun, now + 1, blocking=0, site="infer.py:4")
        made.api("aclrtSynchronizeStream", now + 1, now + 2, stream=1, blocking=1)
        now += 2
    return made


SHAPE = "8,3,224,224;64,3,7,7"


class TestDynamicFallback:
    def test_positive(self) -> None:
        """53 an execution: 1, five launches of 10, 1, 1 for the wait. In one launch the kernels run from 3 to 15.4 (5 of 2, 4
        gaps of 0.6), and the wait ends with them."""
        (finding,) = loud(model([SHAPE] * 10), "dynamic-fallback")
        assert (finding.facts["count"], finding.facts["launches"], finding.facts["dynamic"]) == (10, 5, 10)
        assert finding.facts["shape"] == "8,3,224,224"
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(10 * (53 - 15.4) * 1000, rel=0.06)

    def test_near_miss_two_executions(self) -> None:
        assert said(model([SHAPE] * 2), "dynamic-fallback") == []

    def test_near_miss_two_launches_are_no_fallback(self) -> None:
        assert said(model([SHAPE] * 10, launches=2), "dynamic-fallback") == []

    def test_near_miss_varying_shapes_belong_to_the_gears(self) -> None:
        assert said(model([SHAPE, "16,3,224,224"] * 5), "dynamic-fallback") == []

    def test_clean_kernels_of_eager_code_may_be_dynamic(self) -> None:
        run = stepping(kernels=20)
        for row in run.made.rows["task"]:
            row["op_state"] = "dynamic"
        assert said(run.made, "dynamic-fallback") == []
        assert said(run.made, "missing-gears") == []


class TestMissingGears:
    def test_positive(self) -> None:
        (finding,) = loud(model([SHAPE, "16,3,224,224", SHAPE] * 4), "missing-gears")
        assert (finding.facts["shapes"], finding.facts["covered_share"]) == (2, 1.0)
        assert finding.facts["histogram"] == "8,3,224,224 (8x), 16,3,224,224 (4x)"
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(12 * (53 - 15.4) * 1000, rel=0.06)

    def test_near_miss_one_shape(self) -> None:
        assert said(model([SHAPE] * 10), "missing-gears") == []

    def test_near_miss_seventeen_shapes_of_equal_weight(self) -> None:
        assert said(model([f"{n},3,224,224" for n in range(1, 18)]), "missing-gears") == []

    def test_clean_one_launch_each(self) -> None:
        assert said(model([SHAPE, "16,3,224,224"] * 5, launches=1, state="static"), "missing-gears") == []


def padding(after: str, conv: float = 60, taken: str | None = None) -> Made:
    """Five times a conversion of 20 from [8, 12, 56, 56] and a convolution right behind it that takes the result; then 40."""
    formats = {"in_formats": "NCHW", "out_formats": "NC1HWC0"}
    return bare(
        [
            ("TransData", 20, {"in_shapes": "8,12,56,56", "out_shapes": after, **formats}),
            ("Conv2D", conv, {"in_shapes": f"{taken or after};9,1,16,16", "out_shapes": "8,1,56,56,16"}),
            ("Relu", 40, {"in_shapes": "8,1,56,56,16", "out_shapes": "8,1,56,56,16"}),
        ]
        * 5
    )


class TestPaddedLayout:
    def test_positive(self) -> None:
        """12 channels become 16: 4/3 of the elements. 60 become 45, five times."""
        (finding,) = said(padding("8,1,56,56,16"), "missing-gears")
        assert finding.id == "padded-layout"
        assert (finding.facts["count"], finding.facts["total_ns"], finding.facts["times"]) == (5, 300_000, 1.33)
        assert (finding.facts["before"], finding.facts["after"]) == ("8,12,56,56", "8,1,56,56,16")
        assert finding.gain is not None and finding.gain.ns == pytest.approx(75_000, abs=5)

    def test_near_miss_a_quarter_more(self) -> None:
        assert said(padding("8,1,56,56,15"), "missing-gears") == []

    def test_near_miss_the_next_kernel_takes_something_else(self) -> None:
        assert said(padding("8,1,56,56,16", taken="8,12,56,56"), "missing-gears") == []

    def test_near_miss_a_small_kernel(self) -> None:
        assert said(padding("8,1,56,56,16", conv=0.2), "missing-gears") == []

    def test_clean_nothing_is_padded(self) -> None:
        assert said(padding("8,1,56,56,12"), "missing-gears") == []


def filled(real: list[int], room: int = 8, sample: int = 3 * 32 * 32 * 2, buffers: bool = False) -> Made:
    """A turn: `real` samples copied into the input, one launch with two kernels of 50 that compute `room` samples, the wait."""
    made = Made()
    for turn, count in enumerate(real):
        now = turn * 200.0
        facts = {"correlation": 2 * turn, "bytes": count * sample, "direction": "h2d", "host_kind": "pinned"}
        made.api("aclrtMemcpyAsync", now, now + 4, stream=1, blocking=0, **facts)
        made.task("copy", now + 1, now + 6, writes=f"1+0:{count * sample}" if buffers else "", **facts)
        made.api("aclmdlExecuteAsync", now + 4, now + 9, stream=1, correlation=2 * turn + 1, blocking=0)
        for number in range(2):
            made.task("kernel", now + 7 + 51 * number, now + 57 + 51 * number, correlation=2 * turn + 1, model=1, op_type="Conv2D",
                      in_shapes=f"{room},3,32,32;8,3,3,3", in_dtypes="FLOAT16;FLOAT16",
                      reads=f"1+0:{room * sample}" if buffers else "")
        made.api("aclrtSynchronizeStream", now + 9, now + 108, stream=1, blocking=1)
    return made


class TestPaddedGears:
    def test_positive(self) -> None:
        """Three of eight samples: 62.5 of each 100 are computed for nothing. Five executions of six are filled like that."""
        (finding,) = loud(filled([3, 3, 8, 3, 3, 3]), "missing-gears")
        assert (finding.id, finding.facts["count"], finding.facts["real"], finding.facts["room"]) == ("padded-gears", 5, 15, 40)
        assert finding.facts["histogram"] == "3/8 (5x)"
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.at_most, finding.gain.confidence) == (5 * 62_500, True, "low")

    def test_addresses_prove_it(self) -> None:
        (finding,) = loud(filled([3] * 6, buffers=True), "missing-gears")
        assert finding.gain is not None and finding.gain.confidence == "medium"

    def test_near_miss_seven_of_eight_and_two_executions(self) -> None:
        assert said(filled([7] * 6), "missing-gears") == []  # 8/7 is 14 % more
        assert said(filled([3, 3, 8, 8, 8, 8]), "missing-gears") == []

    def test_near_miss_a_copy_of_no_whole_sample(self) -> None:
        made = filled([3] * 6)
        for row in (*made.rows["api"], *made.rows["task"]):
            if row["direction"] == "h2d":
                row["bytes"] = 3 * 3 * 32 * 32 * 2 + 2
        assert said(made, "missing-gears") == []

    def test_near_miss_pixels_as_bytes(self) -> None:
        """Half of the input in every copy: as well all samples in elements of one byte. With other fillings beside it it is not."""
        assert said(filled([4] * 6), "missing-gears") == said(filled([2] * 6), "missing-gears") == []
        assert len(said(filled([4, 3] * 3), "missing-gears")) == 1

    def test_clean_full_inputs(self) -> None:
        assert said(filled([8] * 6), "missing-gears") == []


class TestGraphReplayMiss:
    def run(self, own: int, replay: str = "aclmdlRIExecuteAsync", replayed: int = 10) -> Made:
        """A step: one replay of `replayed` kernels of 5, then `own` kernels of 2 launched one by one."""
        run = Eager()
        for _ in range(5):
            run.begin()
            run.count += 1
            run.made.api(replay, run.now, run.now + 5, correlation=run.count, blocking=0)
            start = run.now + 2
            for _ in range(replayed):
                run.made.task("kernel", start, start + 5, correlation=run.count, model=1, op_type="MatMul")
                start += 5.6
            run.busy = start
            run.now += 5
            for _ in range(own):
                run.launch("Cast", 2, host=30, in_shapes="4,128")
            run.end()
        return run.made

    def test_positive(self) -> None:
        """Four kernels of fourteen fall out of the graph; the host needs 30 for each, 120 a step after the 5 of the replay. In
        one launch the last of them ends at 5 + 56 (the graph) + 1 + 4 * 2 + 3 * 0.6."""
        (finding,) = loud(self.run(own=4), "graph-replay-miss")
        assert (finding.facts["count"], finding.facts["kernels"], finding.facts["replays"]) == (20, 70, 5)
        assert (finding.facts["ops"], finding.facts["shapes"]) == ("Cast", "4,128")
        assert finding.gain is not None
        assert finding.gain.ns == pytest.approx(5 * (126 - 69) * 1000, rel=0.1)

    def test_near_miss_less_than_a_fifth(self) -> None:
        assert said(self.run(own=2), "graph-replay-miss") == []

    def test_near_miss_a_capture_only(self) -> None:
        assert said(self.run(own=4, replay="aclmdlRICaptureBegin"), "graph-replay-miss") == []

    def test_clean_no_graph_at_all(self) -> None:
        assert said(stepping().made, "graph-replay-miss") == []


class TestIdleThoughLaunched:
    """Thirty launches, one each 100 and 98 long; kernels of 50 begin some time after the beginning of their launch."""

    @staticmethod
    def run(late: float) -> Made:
        made = Made()
        for number in range(30):
            begin = 100.0 * number
            made.api("HcclAllReduce", begin, begin + 98, correlation=number, blocking=0)
            made.task("kernel", begin + late, begin + late + 50, correlation=number, op_type="Add", name="Add")
        return made

    def test_positive(self) -> None:
        """From 40 on: 29 gaps of 50, of which 10 lie before the launch and 2 are the way to the device."""
        found = {f.id: f for f in said(self.run(40), "launch-bound")}
        facts = found["device-idle-queued"].facts
        assert facts["idle_ns"] == 29 * 38_000 - 50_000  # without the longest gap, which may be a checkpoint
        assert (facts["call"], facts["call_ns"]) == ("HcclAllReduce", 98_000)
        assert found["launch-bound"].gain is not None and found["launch-bound"].gain.ns < 0.1 * 28 * 38_000

    def test_near_miss_a_fifth_of_the_window(self) -> None:
        """A fifth of 2900 is 580: 29 times 22 without a gap of 50 is 588, 29 times 21 is 559."""
        assert "device-idle-queued" in [f.id for f in said(self.run(24), "launch-bound")]
        assert "device-idle-queued" not in [f.id for f in said(self.run(23), "launch-bound")]

    def test_clean(self) -> None:
        assert loud(self.run(4), "launch-bound") == []
