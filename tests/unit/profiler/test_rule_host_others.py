"""Rules 27, 28, 30, 31, 32 and 43. Times in us."""

from __future__ import annotations

from npu.cost import call_ns
from profiler.analysis import analyze
from profiler.analysis.latency import latency
from tests.made import Made
from tests.unit.profiler.said import loud, said
from tests.unit.profiler.test_rule_host_waits import sums


class TestOneStream:
    """Items of a kernel of 100 with 5 of 20 cores on stream 1, launched 5 apart, waited for at the end."""

    def feeds(self, count: int = 12, blocks: int = 5, threads: int = 1, dependent: bool = False, shared: bool = False) -> Made:
        made = Made()
        for item in range(count):
            thread = item % threads
            start = 5.0 * item
            out = 0 if shared else item % 6
            made.api(
                "aclmdlExecuteAsync", start, start + 5, thread=thread, stream=1, correlation=item, blocking=0, site="feed.py:4"
            )
            begun = 2 + 100.0 * item
            made.task(
                "kernel",
                begun,
                begun + 100,
                correlation=item,
                model=1,
                task_type="AI_CORE",
                block_dim=blocks,
                reads=f"{10 + (item if dependent else 100)}+0:64",
                writes=f"{(11 + item) if dependent else out}+0:64",
            )
        made.api("aclrtSynchronizeStream", 5 * count, 2 + 100 * count, stream=1, blocking=1)
        return made

    def test_positive_steps_with_buffers_of_their_own(self) -> None:
        """Twelve in turn take 1200; a quarter of the cores each: four side by side are three rounds. Six outputs in a ring let
        six streams work, but not more than four find cores."""
        (finding,) = loud(self.feeds(), "one-stream")
        assert finding.gain is not None
        assert (finding.facts["items"], finding.facts["streams"], finding.facts["fill_share"]) == (12, 4, 0.25)
        rounds = 900_000  # what three of four save; launches 5 apart and the gaps between kernels blur it a little
        assert abs(finding.gain.ns - rounds) < 60_000
        assert (finding.gain.confidence, finding.severity, finding.sites) == ("medium", "critical", ("feed.py:4",))

    def test_threads_are_independent_feeds(self) -> None:
        made = self.feeds(threads=3)
        for row in made.rows["task"]:
            row["reads"] = row["writes"] = ""
        (finding,) = loud(made, "one-stream")
        assert (finding.facts["threads"], finding.facts["streams"]) == (3, 3)

    def test_near_miss_each_item_reads_what_the_one_before_it_wrote(self) -> None:
        assert said(self.feeds(dependent=True), "one-stream") == []

    def test_near_miss_one_output_buffer_for_all(self) -> None:
        assert said(self.feeds(shared=True), "one-stream") == []

    def test_near_miss_eleven_of_twenty_cores_leave_no_room(self) -> None:
        assert said(self.feeds(blocks=11), "one-stream") == []
        assert len(said(self.feeds(blocks=10), "one-stream")) == 1

    def test_clean_items_on_streams_of_their_own(self) -> None:
        made = self.feeds(count=2)
        made.rows["task"][1]["stream"] = 2
        assert said(made, "one-stream") == []


class TestFalseDependency:
    """Turns of 400. Stream 2: a copy of 20 into its buffer, then an unrelated one of 300, then the record; stream 1 waits for it
    and computes 50 on the first buffer."""

    def turns(self, count: int = 6, late: bool = True, unrelated: str = "9+0:64", known: bool = True) -> Made:
        made = Made()
        for turn in range(count):
            start, number = 400 * turn, 10 * turn
            facts = {"stream": 2, "direction": "h2d", "bytes": 64}
            made.api("aclrtMemcpyAsync", start, start + 1, stream=2, correlation=number, blocking=0)
            made.task("copy", start + 1, start + 21, correlation=number, writes="1+0:64" if known else "", **facts)
            record = start + 321 if late else start + 21
            if late:
                made.api("aclrtMemcpyAsync", start + 1, start + 2, stream=2, correlation=number + 1, blocking=0)
                made.task("copy", start + 21, record, correlation=number + 1, writes=unrelated if known else "", **facts)
            made.api("aclrtRecordEvent", start + 3, start + 4, stream=2, event=turn, correlation=number + 2, blocking=0)
            made.task("record", record, record, stream=2, event=turn, correlation=number + 2)
            made.api(
                "aclrtStreamWaitEvent",
                start + 4,
                start + 5,
                stream=1,
                event=turn,
                correlation=number + 3,
                blocking=0,
                site="w.py:1",
            )
            made.task("wait", start + 5, record, event=turn, correlation=number + 3)
            made.api("aclmdlExecuteAsync", start + 5, start + 6, stream=1, correlation=number + 4, blocking=0)
            texts = {"reads": "1+0:64", "writes": "2+0:64"} if known else {}
            made.task("kernel", record, record + 50, correlation=number + 4, model=1, **texts)
            made.api("aclrtSynchronizeStream", start + 6, record + 50, stream=1, blocking=1)
        return made

    def test_positive(self) -> None:
        """Each record comes 300 after the copy that matters. The first wait lies before the window and stays, so the second turn
        begins at 400 as before; from 401 on the copies set the pace with five times 320 and end at 2001, where the last kernel
        ended at 2371."""
        (finding,) = said(self.turns(), "false-dependency")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["late_ns"], finding.facts["needless"]) == (5, 300_000, 0)
        assert (finding.facts["stream"], finding.facts["other"]) == (1, 2)
        assert finding.gain.ns == 370_000 and finding.gain.confidence == "high"
        assert finding.sites == ("w.py:1",)

    def test_near_miss_the_late_copy_is_needed(self) -> None:
        assert said(self.turns(unrelated="1+32:64"), "false-dependency") == []

    def test_near_miss_the_late_copy_overwrites_nothing_but_is_overwritten(self) -> None:
        """The kernel writes allocation 2: a copy into it has to be over before."""
        assert said(self.turns(unrelated="2+0:8"), "false-dependency") == []

    def test_near_miss_buffers_not_known(self) -> None:
        assert said(self.turns(known=False), "false-dependency") == []

    def test_clean_records_right_behind_the_copy(self) -> None:
        assert said(self.turns(late=False), "false-dependency") == []


def loop(call: str, length: float, count: int = 10, every: int = 1, slow: tuple[int, ...] = (), slow_ns: float = 0) -> Made:
    """A turn: a copy to the device (4), the call, a launch of 5 with a kernel of 200 from 2 into it, the wait."""
    made = Made()
    now = 0.0
    for turn in range(count):
        facts = {"correlation": 2 * turn, "bytes": 4096, "direction": "h2d", "host_kind": "pinned"}
        made.api("aclrtMemcpyAsync", now, now + 4, stream=1, blocking=0, **facts)
        made.task("copy", now + 1, now + 3, **facts)
        now += 4
        if turn % every == 0:
            took = slow_ns if turn in slow else length
            made.api(call, now, now + took, site="loop.py:3")
            now += took
        made.api("aclmdlExecuteAsync", now, now + 5, stream=1, correlation=2 * turn + 1, blocking=0)
        made.task("kernel", now + 2, now + 202, correlation=2 * turn + 1, model=1)
        made.api("aclrtSynchronizeStream", now + 5, now + 202, stream=1, blocking=1)
        now += 202
    return made


class TestCreateDestroy:
    def test_positive(self) -> None:
        (finding,) = loud(loop("aclrtCreateStream", 500), "create-destroy-in-loop")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.gain.ns, finding.severity) == (10, 10 * 500_000, "critical")
        assert (finding.facts["calls"], finding.sites) == ("aclrtCreateStream", ("loop.py:3",))

    def test_without_device_rows_their_time_is_the_bound(self) -> None:
        made = loop("aclrtCreateStream", 500)
        made.rows["task"] = []
        (finding,) = said(made, "create-destroy-in-loop")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.at_most, finding.gain.method) == (10 * 500_000, True, "bound")
        assert finding.sites == ("loop.py:3",)

    def test_near_miss_every_third_step(self) -> None:
        assert said(loop("aclrtCreateStream", 500, count=12, every=3), "create-destroy-in-loop") == []

    def test_near_miss_below_the_note_level(self) -> None:
        assert loud(loop("aclrtCreateEvent", 3), "create-destroy-in-loop") == []

    def test_clean_all_before_the_loop(self) -> None:
        made = Made()
        for number in range(12):
            made.api("aclrtCreateEvent", number, number + 1)
        for turn in range(5):
            made.api("aclmdlExecuteAsync", 100 + turn, 101 + turn, correlation=turn, blocking=0)
            made.task("kernel", 200 + 100 * turn, 300 + 100 * turn, correlation=turn, model=1)
        assert said(made, "create-destroy-in-loop") == []


class TestAllocInLoop:
    def test_positive(self) -> None:
        """Ten turns of 206 + 100."""
        (finding,) = loud(loop("aclrtMalloc", 100), "alloc-in-loop")
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.method, finding.gain.confidence) == (1_000_000, "replay", "high")
        assert (finding.facts["p50_ns"], finding.facts["p50_without_ns"]) == (306_000, 206_000)
        assert (finding.facts["calls"], finding.sites) == ("aclrtMalloc", ("loop.py:3",))

    def test_waiting_for_the_device_is_told_apart(self) -> None:
        """A turn: a copy (4, the device's part 2), a launch of 5 with a kernel of 100 from 2 into it, a release that waits 97 for the
        kernel and then takes 10: 116, ten of them. Without the releases the device has copies and kernels alone, 102 a turn, the
        last of them ending at 106 + 9 * 102 = 1024; it ended at 9 * 116 + 106 = 1150."""
        made = Made()
        for turn in range(10):
            now = 116 * turn
            facts = {"correlation": 2 * turn, "bytes": 4096, "direction": "h2d", "host_kind": "pinned"}
            made.api("aclrtMemcpyAsync", now, now + 4, stream=1, blocking=0, **facts)
            made.task("copy", now + 1, now + 3, **facts)
            made.api("aclmdlExecuteAsync", now + 4, now + 9, stream=1, correlation=2 * turn + 1, blocking=0)
            made.task("kernel", now + 6, now + 106, correlation=2 * turn + 1, model=1)
            made.api("aclrtFree", now + 9, now + 116, blocking=1, site="loop.py:3")
        (finding,) = loud(made, "alloc-in-loop")
        assert (finding.facts["total_ns"], finding.facts["waited_ns"]) == (1_070_000, 970_000)
        assert finding.gain is not None and finding.gain.ns == 1_150_000 - 1_024_000

    def test_rare_allocations_that_make_the_slow_steps(self) -> None:
        made = loop("aclrtMalloc", 0.5, count=40, every=10, slow=(10, 20, 30), slow_ns=5000)
        (finding,) = said(made, "alloc-in-loop")
        assert (finding.facts["p50_ns"], finding.facts["p99_ns"], finding.facts["p99_without_ns"]) == (
            206_000,
            5_206_000,
            206_000,
        )

    def test_near_miss_rare_and_quick(self) -> None:
        assert said(loop("aclrtMalloc", 20, count=30, every=10), "alloc-in-loop") == []

    def test_near_miss_the_device_never_waits_for_it(self) -> None:
        made = loop("aclrtMalloc", 100)
        for row in made.rows["api"]:
            if row["name"] == "aclrtMalloc":
                row["thread"] = 1
        assert loud(made, "alloc-in-loop") == []

    def test_clean_growth_before_the_loop_only(self) -> None:
        made = loop("aclrtMalloc", 100, count=3)
        made.rows["api"] = [r for r in made.rows["api"] if r["name"] != "aclrtMalloc"]
        for number in range(10):
            made.api("aclrtMalloc", -200 + number * 10, -195 + number * 10)
        assert said(made, "alloc-in-loop") == []

    def test_sums(self) -> None:
        made = sums(("aclrtMalloc", 400, 40_000), ("aclrtFree", 400, 30_000), ("aclmdlExecuteAsync", 400, 12_000))
        (finding,) = analyze(made.trace()).findings
        assert finding.gain is not None
        assert (finding.id, finding.gain.ns, finding.gain.at_most, finding.facts["per_step"]) == (
            "alloc-in-loop-sums",
            70_000_000,
            True,
            2.0,
        )
        assert said(sums(("aclrtMalloc", 40, 40_000), ("aclmdlExecuteAsync", 400, 12_000)), "alloc-in-loop") == []

    def test_the_latency_view_names_it_as_well(self) -> None:
        from profiler.analysis.context import Context

        found = latency(Context(loop("aclrtMalloc", 0.5, count=40, every=10, slow=(10, 20, 30), slow_ns=5000).trace()))
        assert found is not None and found.excess[0].name == "aclrtMalloc"


class TestThreadContention:
    """Thread 0 launches kernels of 10 every 100, each call 10 alone; in the middle third thread 1 is inside a call all the time
    and each takes 50."""

    def run(self, beside: float = 50, other: bool = True, samples: int = 20) -> Made:
        made = Made()
        now = 0.0
        for number in range(3 * samples):
            slow = samples <= number < 2 * samples
            length = beside if slow else 10
            made.api("launch", now, now + length, level="node", correlation=number, site="a.py:1")
            made.task("kernel", now + length - 2, now + length + 8, correlation=number, name="Add")
            if slow and other:
                made.api("aclrtMallocHost", now - 5, now + length + 5, thread=1)
            now += 90 + length
        return made

    def test_positive(self) -> None:
        (finding,) = loud(self.run(), "thread-contention")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["alone_ns"], finding.facts["beside_ns"], finding.facts["ratio"]) == (
            20,
            10_000,
            50_000,
            5.0,
        )
        assert finding.facts["excess_ns"] == 20 * 40_000
        assert finding.gain.ns == 20 * 40_000

    def test_near_miss_under_three_times(self) -> None:
        assert said(self.run(beside=29), "thread-contention") == []
        assert len(said(self.run(beside=30), "thread-contention")) == 1

    def test_near_miss_four_samples(self) -> None:
        assert said(self.run(samples=4), "thread-contention") == []

    def test_clean_one_thread(self) -> None:
        assert said(self.run(other=False), "thread-contention") == []

    def test_items_that_lie_long_in_a_queue(self) -> None:
        """Twelve items fetched 5 after they were put, four of them 300 after."""
        made = Made()
        now = 0.0
        for number in range(12):
            lag = 300 if number % 3 == 2 else 5
            made.marker("enqueue", "put", now, now + 1, thread=5, correlation=number)
            made.marker("dequeue", "get", now + 1 + lag, now + 2 + lag, thread=0, correlation=number)
            made.api("launch", now + 2 + lag, now + 10 + lag, correlation=number, level="node")
            made.task("kernel", now + 12 + lag, now + 32 + lag, correlation=number, name="Add")
            made.api("query", now, now + 0.5, thread=1)
            now += lag + 40
        (finding,) = said(made, "thread-contention")
        assert finding.gain is not None
        assert (finding.id, finding.facts["count"], finding.facts["usual_ns"]) == ("late-dequeue", 4, 5_000)
        assert finding.gain.at_most and finding.gain.confidence == "low"


class TestApiOutliers:
    def test_positive(self) -> None:
        """Thirty turns with a call of 10; in two of them it takes 3000."""
        (finding,) = loud(loop("aclmdlGetDesc", 10, count=30, slow=(11, 23), slow_ns=3000), "api-outliers")
        assert finding.gain is not None
        assert (finding.facts["count"], finding.facts["longest_ns"], finding.facts["median_ns"]) == (2, 3_000_000, 10_000)
        assert finding.gain.ns == 2 * 2_990_000
        assert finding.sites == ("loop.py:3",)

    def test_near_miss_a_hundred_microseconds(self) -> None:
        assert said(loop("aclmdlGetDesc", 1, count=30, slow=(3, 7), slow_ns=100), "api-outliers") == []

    def test_near_miss_ten_times_the_median(self) -> None:
        assert said(loop("aclmdlGetDesc", 300, count=30, slow=(3, 7), slow_ns=3000), "api-outliers") == []

    def test_near_miss_allocations_have_a_rule_of_their_own(self) -> None:
        assert said(loop("aclrtMalloc", 10, count=30, slow=(3, 7), slow_ns=3000), "api-outliers") == []

    def test_near_miss_a_call_inside_has_a_reason_of_its_own(self) -> None:
        """An operator's call that compiled, and one in which garbage was collected, are explained; one that did half of it not."""
        for name, explained in (("opCompile", 2900.0), ("opCompile", 1400.0)):
            made = loop("aclmdlGetDesc", 10, count=30, slow=(11, 23), slow_ns=3000)
            for row in [r for r in made.rows["api"] if r["name"] == "aclmdlGetDesc" and int(str(r["end"])) - int(str(r["start"])) > 10**6]:
                start = int(str(row["start"])) / 1000
                made.api(name, start + 1, start + 1 + explained, level="node")
            assert len(said(made, "api-outliers")) == (explained < 1500)
        made = loop("aclmdlGetDesc", 10, count=30, slow=(11, 23), slow_ns=3000)
        for row in [r for r in made.rows["api"] if r["name"] == "aclmdlGetDesc" and int(str(r["end"])) - int(str(r["start"])) > 10**6]:
            made.marker("gc", "GC", int(str(row["start"])) / 1000 + 1, int(str(row["end"])) / 1000)
        assert said(made, "api-outliers") == []

    def test_near_miss_nine_calls_tell_no_median(self) -> None:
        assert said(loop("aclmdlGetDesc", 10, count=9, slow=(3,), slow_ns=3000), "api-outliers") == []

    def test_clean(self) -> None:
        assert said(loop("aclmdlGetDesc", call_ns("aclmdlGetDesc") / 1000, count=30), "api-outliers") == []
