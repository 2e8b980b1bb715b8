"""Rules 23 to 26, 29, 33, 44: the host's own code makes the device wait. Times in us."""

from __future__ import annotations

import pytest

from profiler.analysis import analyze
from profiler.texts import claim
from tests.made import Made
from tests.unit.profiler.said import loud, said

PICTURE = 4 * 3 * 224 * 224  # bytes of a float image


def inference(
    count: int = 10, prepare: float = 300, work: float = 0, kernel: float = 200, marker: str = "", shape: str = ""
) -> Made:
    """A turn: `prepare` of own code, an asynchronous copy (5 on the device, its call 4), a launch (5, kernel from 2 into it), the
    wait, a blocking copy of the result (call 12, task 10), `work` of own code."""
    made = Made()
    now = 0.0
    for turn in range(count):
        if marker:
            made.marker(marker, marker, now, now + prepare)
        now += prepare
        facts = {"correlation": 3 * turn, "bytes": PICTURE, "direction": "h2d", "host_kind": "pinned"}
        made.api("aclrtMemcpyAsync", now, now + 4, stream=1, blocking=0, site="loop.py:2", **facts)
        made.task("copy", now + 1, now + 6, **facts)
        made.api("aclmdlExecuteAsync", now + 4, now + 9, stream=1, correlation=3 * turn + 1, blocking=0)
        end = now + 6 + kernel
        made.task("kernel", now + 6, end, correlation=3 * turn + 1, model=1, op_type="Conv2D", in_shapes=shape)
        made.api("aclrtSynchronizeStream", now + 9, end, stream=1, blocking=1)
        facts = {"correlation": 3 * turn + 2, "bytes": 4000, "direction": "d2h", "host_kind": "pinned"}
        made.api("aclrtMemcpy", end, end + 12, blocking=1, site="loop.py:5", **facts)
        made.task("copy", end + 1, end + 11, stream=9, **facts)
        now = end + 12 + work
    return made


class TestHostPreprocess:
    def test_positive(self) -> None:
        """A turn of 300 + 218 becomes 300: the nine later preparations run beside the turn before. The window begins with the
        first copy, so nine preparations lie in it; the first of them is the worker's start and stays."""
        (finding,) = loud(inference(), "host-preprocess")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["each_ns"], finding.facts["idle_ns"]) == (9, 300_000, 2_700_000)
        assert finding.gain.ns == 8 * 218_000
        assert (finding.gain.confidence, finding.severity, finding.sites) == ("medium", "critical", ("loop.py:2",))

    def test_a_preparation_shorter_than_the_rest_hides_wholly(self) -> None:
        (finding,) = loud(inference(prepare=100), "host-preprocess")
        assert finding.gain is not None and finding.gain.ns == 8 * 100_000

    def test_near_miss_less_than_five_percent(self) -> None:
        assert said(inference(prepare=11), "host-preprocess") == []
        assert len(said(inference(prepare=13), "host-preprocess")) == 1

    def test_near_miss_the_device_is_busy_meanwhile(self) -> None:
        made = inference()
        made.task("kernel", 0, 6000, stream=7)
        assert said(made, "host-preprocess") == []

    def test_near_miss_data_loading_has_a_rule_of_its_own(self) -> None:
        assert said(inference(marker="dataloader"), "host-preprocess") == []

    def test_clean_own_code_that_no_copy_follows(self) -> None:
        made = inference(prepare=0, work=0)
        assert said(made, "host-preprocess") == []


class TestPostProcess:
    def test_positive(self) -> None:
        """Work of 104 on results before a launch without a new copy; the first one stays where it is."""
        made = inference(prepare=0, work=100)
        for table in ("api", "task"):
            made.rows[table] = [r for r in made.rows[table] if r["direction"] != "h2d"]
        (finding,) = loud(made, "post-process-serial")
        assert finding.gain is not None
        assert finding.facts["count"] == 9
        assert finding.gain.ns == 8 * 104_000 and finding.gain.at_most

    def test_near_miss_three_percent(self) -> None:
        assert said(inference(prepare=0, work=6), "post-process-serial") == []
        assert len(said(inference(prepare=0, work=8), "post-process-serial")) == 1

    def test_near_miss_results_that_stay_on_the_device(self) -> None:
        made = inference(prepare=0, work=100)
        made.rows["api"] = [r for r in made.rows["api"] if r["direction"] != "d2h"]
        made.rows["task"] = [r for r in made.rows["task"] if r["direction"] != "d2h"]
        assert said(made, "post-process-serial") == []

    def test_clean(self) -> None:
        assert said(inference(prepare=0, work=0), "post-process-serial") == []


class TestInputStarved:
    def test_positive(self) -> None:
        """As with preprocessing: eight of nine loads hide behind the 218 of the turn before."""
        (finding,) = loud(inference(marker="dataloader"), "input-starved")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["each_ns"]) == (9, 300_000)
        assert finding.gain.ns == 8 * 218_000
        assert finding.gain.confidence == "high"

    def queue(self, waits: list[float], op: str = "GetNext") -> Made:
        """A turn: a kernel that takes the next item out of the queue, and one of 200 behind it on the stream."""
        made = Made()
        now = 0.0
        for wait in waits:
            made.task("aicpu", now, now + wait, op_type=op, name=op, task_type="AI_CPU")
            made.task("kernel", now + wait + 1, now + wait + 201, op_type="MatMulV3", task_type="AI_CORE")
            now += wait + 202
        return made

    def test_an_empty_queue_on_the_device(self) -> None:
        """10 is enough; five take 110. At most all of them take 10."""
        (finding,) = loud(self.queue([10, 110] * 5), "input-starved")
        assert finding.gain is not None
        assert (finding.id, finding.facts["longest_ns"], finding.facts["shortest_ns"]) == ("input-queue-empty", 110_000, 10_000)
        assert (finding.gain.ns, finding.gain.at_most) == (5 * 100_000, True)

    def test_near_miss_one_long_wait_and_other_operators(self) -> None:
        assert said(self.queue([10, 10, 10, 500, 10]), "input-starved") == []
        assert said(self.queue([10, 14] * 5), "input-starved") == []
        assert said(self.queue([10, 110] * 5, op="Unique"), "input-starved") == []

    def test_a_loader_on_a_thread_that_makes_no_calls(self) -> None:
        made = inference(marker="dataloader")
        for row in made.rows["marker"]:
            row["thread"] = 7
        (finding,) = loud(made, "input-starved")
        assert finding.gain is not None and finding.gain.ns == 8 * 218_000

    def test_near_miss_only_the_first_step_of_an_epoch(self) -> None:
        made = inference(prepare=1)
        for turn in range(10):
            start = turn * 219
            made.marker("dataloader", "next", start, start + 1)
        made.marker("dataloader", "next", 700, 860)
        assert said(made, "input-starved") == []

    def test_near_miss_loading_beside_computing(self) -> None:
        made = inference(marker="dataloader")
        made.task("kernel", 0, 6000, stream=7)
        assert said(made, "input-starved") == []

    def test_clean_without_markers(self) -> None:
        assert said(inference(), "input-starved") == []


class TestPythonGc:
    def gc(self, count: int, each: float) -> Made:
        """Turns of 218 + 2000 own code; in the first `count` of them a collection of `each`."""
        made = inference(count=12, prepare=2000)
        for turn in range(count):
            start = (turn + 2) * 2218 + 100
            made.marker("gc", "gc", start, start + each)
        return made

    def test_positive(self) -> None:
        (finding,) = loud(self.gc(3, 1500), "python-gc")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.gain.ns, finding.gain.confidence) == (3, 3 * 1_500_000, "high")

    def test_near_miss_under_a_millisecond(self) -> None:
        assert said(self.gc(2, 499), "python-gc") == []
        assert len(said(self.gc(2, 500), "python-gc")) == 1

    def test_near_miss_once_per_run(self) -> None:
        assert said(self.gc(1, 1500), "python-gc") == []

    def test_regular_pauses_without_a_record_are_a_guess(self) -> None:
        made = Made()
        now = 0.0
        for turn in range(40):
            now += 60_000 if turn % 10 == 5 else 100
            made.api("aclmdlExecuteAsync", now, now + 5, stream=1, correlation=turn, blocking=0)
            made.task("kernel", now + 2, now + 202, correlation=turn, model=1)
            made.api("aclrtSynchronizeStream", now + 5, now + 202, stream=1, blocking=1)
            now += 202
        (finding,) = loud(made, "python-gc")
        assert finding.gain is not None
        assert (finding.id, finding.facts["count"]) == ("gc-like-pauses", 4)
        assert (finding.gain.confidence, finding.gain.at_most) == ("low", True)
        assert finding.gain.ns == 4 * (60_000 - 100) * 1000
        assert finding.severity != "critical"

    def test_near_miss_a_pause_in_every_step_is_no_collection(self) -> None:
        assert said(inference(count=8, prepare=60_000), "python-gc") == []

    def test_clean(self) -> None:
        assert said(inference(), "python-gc") == []


class TestLaunchBound:
    """A launch of 10, the kernel from 2 into it; the next launch comes `apart` after the one before."""

    def eager(self, count: int = 60, kernel: float = 5, apart: float = 50) -> Made:
        made = Made()
        made.marker("step", "step 1", 0, count * apart)
        for number in range(count):
            start = number * apart
            made.api("launch", start, start + 10, level="node", correlation=number, site="net.py:3")
            made.task("kernel", start + 2, start + 2 + kernel, correlation=number, name=f"Op{number}")
        return made

    def test_positive(self) -> None:
        """59 gaps of 45 around 60 kernels of 5. Half of the 59 x 40 of own code between launches is won; in one launch the
        kernels would end at 2 + 60 x 5 + 59 x 0.6 instead of 2960, when the last launch returns."""
        (finding,) = loud(self.eager(), "launch-bound")
        assert finding.gain is not None
        assert (finding.facts["kernels"], finding.facts["idle_ns"], finding.facts["gap_ns"]) == (60, 59 * 45_000, 45_000)
        assert (finding.facts["launch_ns"], finding.facts["kernel_ns"]) == (10_000, 5_000)
        assert finding.facts["single_ns"] == 2_960_000 - 2_000 - 60 * 5_000 - 59 * 600
        assert (finding.gain.ns, finding.gain.at_most, finding.severity) == (59 * 20_000, True, "critical")
        assert finding.sites == ("net.py:3",)

    def test_nineteen_in_a_row_are_idle_time_only(self) -> None:
        """18 gaps of 45; what the host does in 18 x 40 of them is its own code, the launches take the rest."""
        (finding,) = said(self.eager(count=19), "launch-bound")
        assert (finding.id, finding.facts["reason"]) == ("device-idle-host", "user")
        assert finding.facts["reason_ns"] == 18 * 40_000

    def test_a_call_that_fills_the_gaps_is_named(self) -> None:
        made = self.eager()
        for number in range(60):
            made.api("HcclAllReduce", number * 50 + 12, number * 50 + 42)
        (finding,) = loud(made, "launch-bound")
        assert (finding.facts["between"], finding.facts["between_ns"]) == ("HcclAllReduce", 59 * 30_000)
        assert "the host is in HcclAllReduce for 1.77 ms" in claim(finding)

    def test_near_miss_a_tenth_of_the_window(self) -> None:
        assert said(self.eager(kernel=45.2), "launch-bound") == []  # nor a fifth of it
        assert len(said(self.eager(kernel=44.5), "launch-bound")) == 1

    def test_clean_kernels_that_are_queued(self) -> None:
        made = Made()
        for number in range(60):
            made.api("launch", number * 12, number * 12 + 10, level="node", correlation=number)
            made.task("kernel", 8 + number * 50, 57 + number * 50, correlation=number, name=f"Op{number}")
        assert said(made, "launch-bound") == []


class TestDeviceIdleHost:
    """Batches: five kernels of 200 queued at once, the wait for them, then `work` of own code before the next batch."""

    def batches(self, work: float, count: int = 12) -> Made:
        made = Made()
        now = 0.0
        for batch in range(count):
            for number in range(5):
                made.api("launch", now + 5 * number, now + 5 * number + 4, level="node", correlation=5 * batch + number)
                start = now + 10 + 201 * number
                made.task("kernel", start, start + 200, correlation=5 * batch + number, op_type="MatMulV3")
            made.api("aclrtSynchronizeEvent", now + 30, now + 1015, blocking=1)
            now += 1015 + work
        return made

    def test_positive(self) -> None:
        """Eleven gaps with 610 of own code each; the longest is left out, for what happens once is no habit."""
        found = analyze(self.batches(610).trace()).findings
        assert found[0].id == "device-idle-host" and found[0].gain is not None
        assert (found[0].facts["reason"], found[0].facts["idle_ns"]) == ("user", 10 * 610_000)
        assert found[0].gain.at_most and found[0].gain.confidence == "low"
        assert "user code" in claim(found[0]) and "用户代码" in claim(found[0], "zh")

    def test_near_miss_a_fifth_of_the_window(self) -> None:
        assert said(self.batches(200), "launch-bound") == []

    def test_clean(self) -> None:
        assert analyze(self.batches(0).trace()).findings == []

    def test_near_miss_one_long_step(self) -> None:
        """A checkpoint of 20000 in one step of twelve: it is a step of its own, and no habit of the host."""
        made = self.batches(20, count=12)
        for row in (*made.rows["api"], *made.rows["task"]):
            if int(str(row["start"])) >= 6 * 1_035_000:
                row["start"], row["end"] = int(str(row["start"])) + 20_000_000, int(str(row["end"])) + 20_000_000
        for batch in range(12):
            at = batch * 1035 + (20_000 if batch > 5 else 0)
            made.marker("step", f"ProfilerStep#{batch}", at, at + 1035 + (20_000 if batch == 5 else 0))
        assert said(made, "launch-bound") == []

    def test_a_cause_that_is_known_is_the_better_word(self) -> None:
        made = self.batches(610)
        for batch in range(12):
            made.marker("gc", "GC", batch * 1625 + 1020, batch * 1625 + 1600)
        found = analyze(made.trace()).findings
        assert [f.id for f in found] == ["python-gc"]


class TestStepStartStall:
    """A step of 1000: own code 200, a launch with a kernel of 600, 20 after it."""

    def steps(self, count: int = 8, prepare: float = 200, kernel: float = 600, tail: float = 20) -> Made:
        made = Made()
        whole = prepare + kernel + tail
        for number in range(count):
            start = number * whole
            made.marker("step", f"step {number}", start, start + whole)
            made.api("aclmdlExecuteAsync", start + prepare - 2, start + prepare + 3, stream=1, correlation=number, blocking=0)
            made.task("kernel", start + prepare, start + prepare + kernel, correlation=number, model=1)
            made.api("aclrtSynchronizeStream", start + prepare + 3, start + prepare + kernel, stream=1, blocking=1)
        return made

    def test_positive(self) -> None:
        """Own code of a step is that between its predecessor's wait and its launch: 20 of tail and 198. Seven of the eight steps
        have one before them; the first of these stays where it is."""
        (finding,) = loud(self.steps(), "step-start-stall")
        assert finding.gain is not None
        assert (finding.facts["preparing_ns"], finding.facts["tail_ns"]) == (8 * 200_000, 8 * 20_000)
        assert finding.gain.ns == 6 * 218_000 and finding.gain.at_most

    def test_a_single_step_is_a_note_with_a_bound(self) -> None:
        (finding,) = loud(self.steps(count=1), "step-start-stall")
        assert finding.gain is not None
        assert (finding.severity, finding.gain.ns, finding.gain.method) == ("note", 220_000, "bound")

    def test_near_miss_five_percent(self) -> None:
        assert said(self.steps(prepare=24, kernel=600, tail=6), "step-start-stall") == []
        assert len(said(self.steps(prepare=28, kernel=600, tail=6), "step-start-stall")) == 1

    def test_clean_without_step_markers(self) -> None:
        made = self.steps()
        made.rows["marker"] = []
        assert said(made, "step-start-stall") == []


class TestPreprocessOnDevice:
    def test_positive(self) -> None:
        """The copy of 5 shrinks to a quarter and the 300 before it go; the copy was hidden behind the launch already."""
        (finding,) = loud(inference(shape="1,3,224,224;64,3,7,7"), "preprocess-on-device")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["shape"], finding.facts["host_ns"]) == (10, "1x3x224x224", 2_700_000)
        assert finding.facts["saved_bytes"] == 10 * PICTURE * 3 // 4
        assert finding.gain.ns == pytest.approx(9 * 300_000, abs=1_000)

    @pytest.mark.parametrize("shape", ["1,224,224,3", "1,3,224,224"])
    def test_both_layouts(self, shape: str) -> None:
        assert len(said(inference(shape=shape), "preprocess-on-device")) == 1

    @pytest.mark.parametrize("shape", ["1,4,224,168", "3,224,224", "1,3,16,9408", ""])
    def test_near_misses_that_are_no_pictures(self, shape: str) -> None:
        assert said(inference(shape=shape), "preprocess-on-device") == []

    def test_pictures_in_half_precision_after_the_hosts_own_time(self) -> None:
        """Half the bytes of floats: a picture when the host prepared it, anything else when it did not."""
        run = inference(shape="2,3,224,224;64,3,7,7")
        (finding,) = loud(run, "preprocess-on-device")
        assert (finding.facts["shape"], finding.facts["saved_bytes"]) == ("2x3x224x224", 9 * PICTURE // 2)
        assert said(inference(shape="2,3,224,224;64,3,7,7", prepare=0), "preprocess-on-device") == []

    def test_clean_pictures_as_bytes(self) -> None:
        made = inference(shape="1,3,224,224")
        for row in (*made.rows["api"], *made.rows["task"]):
            if row["direction"] == "h2d":
                row["bytes"] = PICTURE // 4
        assert said(made, "preprocess-on-device") == []
