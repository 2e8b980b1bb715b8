"""Rules where a source holds little: files of sums, kernels without host calls, host calls without kernels. Figures by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from profiler.analysis import analyze
from profiler.findings import Finding
from profiler.ranks.job import judged
from profiler.ranks.places import places
from profiler.ranks.runners import Here
from profiler.read import open_trace
from profiler.texts import claim
from profiler.trace import Unreadable

STEPS = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing\n"
)
CALLS = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
KERNELS = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Dim\n"


def found(tmp_path: Path, name: str, text: str) -> dict[str, Finding]:
    (tmp_path / name).write_text(text)
    return {f.id: f for f in analyze(open_trace(tmp_path)).findings}


def steps(tmp_path: Path, computing: int, exposed: int, overlapped: int, free: int, bubble: int) -> dict[str, Finding]:
    """Two steps with these times in ms."""
    ms = [t * 1000 for t in (computing, exposed, overlapped, exposed + overlapped, free, computing + exposed + free, bubble, exposed)]
    rows = "".join(f"0,{step}," + ",".join(f"{t}.000" for t in ms) + ",0.000\n" for step in (1, 2))
    return found(tmp_path, "step_trace_time.csv", STEPS + rows)


def calls(tmp_path: Path, *rows: tuple[str, str, int, int]) -> dict[str, Finding]:
    """Rows of (level, name, total in us, count)."""
    text = "".join(f"0,{level},{name},{total}.000,{count},1,1,1,0\n" for level, name, total, count in rows)
    return found(tmp_path, "api_statistic.csv", CALLS + text)


def facts(finding: Finding, *names: str) -> tuple[object, ...]:
    return tuple(finding.facts[n] for n in names)


def test_free_time_of_steps(tmp_path: Path) -> None:
    said = steps(tmp_path, computing=300, exposed=50, overlapped=20, free=650, bubble=0)
    assert list(said) == ["device-idle-sums"]
    assert facts(said["device-idle-sums"], "steps", "each_ns", "step_ns", "part_share") == (2, 650_000_000, 1_000_000_000, 0.65)
    gain = said["device-idle-sums"].gain
    assert gain is not None and (gain.ns, gain.at_most, gain.confidence) == (1_300_000_000, True, "low")


def test_one_long_step_does_not_count_for_the_others(tmp_path: Path) -> None:
    """Eleven steps of 144 with 20 free, one with 900: 20 of 144 are free, and the long one is named."""
    rows = "".join(f"0,{n},120000,4000,1000,5000,{900000 if n == 15 else 20000},0,0,4000,2000\n" for n in range(10, 22))
    said = found(tmp_path, "step_trace_time.csv", STEPS + rows)
    assert list(said) == ["device-idle-sums", "outlier-step"]
    assert facts(said["device-idle-sums"], "steps", "each_ns", "step_ns") == (11, 20_000_000, 144_000_000)
    assert facts(said["outlier-step"], "count", "steps", "longest_ns", "median_ns") == (1, "15", 1_024_000_000, 144_000_000)
    assert "sums of steps" in claim(said["outlier-step"])


@pytest.mark.parametrize(("preparing", "said"), [(180, True), (6, False)])
def test_time_before_the_first_kernel(tmp_path: Path, preparing: int, said: bool) -> None:
    """180 before steps of 126; 6 of 132 is under a twentieth."""
    rows = "".join(f"0,{n},120000,4000,1000,5000,2000,126000,0,4000,{preparing * 1000}\n" for n in range(6))
    made = found(tmp_path, "step_trace_time.csv", STEPS + rows)
    assert ("step-start-stall-sums" in made) == said
    if said:
        gain = made["step-start-stall-sums"].gain
        assert gain is not None and gain.ns == 6 * 180_000_000
        assert facts(made["step-start-stall-sums"], "each_ns", "step_ns") == (180_000_000, 126_000_000)


def test_communication_of_steps_that_nothing_covers(tmp_path: Path) -> None:
    said = steps(tmp_path, computing=300, exposed=650, overlapped=20, free=50, bubble=0)
    assert list(said) == ["exposed-communication-sums"]
    finding = said["exposed-communication-sums"]
    assert facts(finding, "each_ns", "part_share") == (650_000_000, 0.65)
    assert finding.facts["overlap_share"] == pytest.approx(20 / 670)
    assert finding.gain is not None and finding.gain.ns == 2 * 280_000_000  # no more computing is left to hide it behind


def test_bubble_of_steps_is_no_exposed_communication(tmp_path: Path) -> None:
    said = steps(tmp_path, computing=600, exposed=380, overlapped=20, free=20, bubble=300)
    assert list(said) == ["pipeline-bubble-sums"]  # 80 ms of 1 s remain exposed
    assert facts(said["pipeline-bubble-sums"], "each_ns", "part_share") == (300_000_000, 0.3)


def test_healthy_steps_are_left_alone(tmp_path: Path) -> None:
    assert steps(tmp_path, computing=900, exposed=30, overlapped=90, free=20, bubble=0) == {}


LAUNCHES = ("node", "launch", 60_000, 20_000)


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("alloc-often-sums", [("acl", "aclrtMalloc", 900_000, 3000), ("acl", "aclrtFree", 600_000, 3000)]),
        ("blocking-copy-sums", [("acl", "aclrtMemcpy", 1_500_000, 6000)]),
        ("sync-often-sums", [("acl", "aclrtSynchronizeStreamWithTimeout", 1_500_000, 6000)]),
    ],
)
def test_calls_that_come_often_and_take_much_of_the_hosts_time(
    tmp_path: Path, rule: str, rows: list[tuple[str, str, int, int]]
) -> None:
    said = calls(tmp_path, LAUNCHES, *rows)
    assert list(said) == [rule]
    assert facts(said[rule], "count", "total_ns", "mean_ns", "launches") == (6000, 1_500_000_000, 250_000, 20_000)
    assert said[rule].facts["part_share"] == pytest.approx(1500 / 1560)


def test_a_wait_per_step_and_set_up_allocations_are_left_alone(tmp_path: Path) -> None:
    few = [("acl", "aclrtSynchronizeStream", 900_000, 200), ("acl", "aclrtMalloc", 90_000, 90), ("acl", "aclrtMemcpy", 9_000, 400)]
    assert calls(tmp_path, LAUNCHES, *few) == {}


def kernels(tmp_path: Path, gap: int, count: int = 40) -> dict[str, Finding]:
    """Kernels of 30 us, so many us apart."""
    rows = "".join(f"0,MatMul_{i},MatMulV2,AI_CORE,{1790000000000000 + i * (30 + gap)}.000,30.000,20\n" for i in range(count))
    return found(tmp_path, "op_summary_1.csv", KERNELS + rows)


def test_idle_time_without_host_calls_is_said(tmp_path: Path) -> None:
    said = kernels(tmp_path, gap=300)
    assert facts(said["device-idle"], "kernels", "idle_ns", "gap_ns", "kernel_ns") == (40, 39 * 300_000, 300_000, 30_000)
    assert said["device-idle"].severity == "warning"


def test_dense_or_few_kernels_are_not_idle(tmp_path: Path) -> None:
    assert "device-idle" not in kernels(tmp_path, gap=5)
    assert "device-idle" not in kernels(tmp_path, gap=300, count=10)


def test_a_window_of_nothing_but_an_optimizer(tmp_path: Path) -> None:
    kinds = ("Mul", "Addcmul", "Sqrt", "Addcdiv")
    rows = "".join(f"0,op_{i},{kinds[i % 4]},AI_VECTOR_CORE,{1790000000000000 + 3 * i}.000,2.000,1\n" for i in range(200))
    said = found(tmp_path, "op_summary_1.csv", KERNELS + rows)
    assert facts(said["per-tensor-optimizer"], "count", "kinds") == (200, 4)
    plain = "".join(f"0,op_{i},{('Mul', 'Add')[i % 2]},AI_VECTOR_CORE,{1790000000000000 + 3 * i}.000,2.000,1\n" for i in range(200))
    assert "per-tensor-optimizer" not in found(tmp_path, "op_summary_1.csv", KERNELS + plain)


def test_cube_kernels_on_24_cores_are_of_a_chip_with_as_many(tmp_path: Path) -> None:
    rows = "".join(f"0,MatMul_{i},MatMulV2,AI_CORE,{1790000000000000 + 301 * i}.000,300.000,24\n" for i in range(20))
    (tmp_path / "op_summary_1.csv").write_text(KERNELS + rows)
    trace = open_trace(tmp_path)
    assert trace.meta["soc"] == "Ascend910B1" and "block" in str(trace.meta["soc_inferred"])


def test_a_table_without_rows_and_rounded_times_are_said(tmp_path: Path) -> None:
    (tmp_path / "op_summary_1.csv").write_text(KERNELS)
    assert any("nothing stands below its header" in m.why for m in open_trace(tmp_path).missing)
    row = "0,MatMul,MatMulV2,AI_CORE,1.79E+15,30.000,20\n"
    (tmp_path / "op_summary_1.csv").write_text(KERNELS + row * 3)
    assert any("rounded" in m.why for m in open_trace(tmp_path).missing)


MEMORY = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"


def memory(tmp_path: Path, allocated: list[int]) -> dict[str, Finding]:
    """One sample a millisecond, MB."""
    rows = "".join(f"PTA,{1790000000000000 + i * 1000}.000,{a},60000,{a},9000,NPU:0\n" for i, a in enumerate(allocated))
    return found(tmp_path, "memory_record.csv", MEMORY + rows)


def test_memory_that_grows_without_steps(tmp_path: Path) -> None:
    said = memory(tmp_path, [10_000 + 100 * i + 500 * (i % 2) for i in range(300)])
    # the first tenth ends with sample 29 (10,000 + 2,900 + 500 MB), the last one with sample 299
    assert facts(said["memory-growth"], "first_bytes", "last_bytes") == (13_400 << 20, 40_400 << 20)


def test_memory_that_levels_off_or_goes_up_and_down(tmp_path: Path) -> None:
    assert "memory-growth" not in memory(tmp_path, [min(10_000 + 400 * i, 40_000) for i in range(300)])
    assert "memory-growth" not in memory(tmp_path, [10_000 + 5_000 * (i % 7) for i in range(300)])


def test_a_trace_of_the_host_alone_holds_no_device_rows(tmp_path: Path) -> None:
    def trace(count: int) -> str:
        calls = [{"ph": "X", "name": "Node@launch", "pid": 2, "tid": 4, "ts": 10 * i, "dur": 5} for i in range(count)]
        return json.dumps([{"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "CANN"}}, *calls])

    said = found(tmp_path, "trace_view.json", trace(100))
    assert said["capture-no-device"].facts["launched"] == 100
    assert "capture-no-device" not in found(tmp_path, "trace_view.json", trace(5))


OPS = "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"


def test_conversions_and_casts_in_sums_of_kernels(tmp_path: Path) -> None:
    rows = ("TransData,AI_VECTOR_CORE,4000,400000", "MatMulV2,AI_CORE,800,500000", "Cast,AI_VECTOR_CORE,1000,100000")
    said = found(tmp_path, "op_statistic.csv", OPS + "".join(f"0,{r},1,1,1,1\n" for r in rows))
    assert facts(said["layout-storm-sums"], "count", "total_ns", "mean_ns", "part_share") == (4000, 400_000_000, 100_000, 0.4)
    assert facts(said["cast-storm-sums"], "count", "total_ns", "part_share") == (1000, 100_000_000, 0.1)
    few = [r.replace("TransData,AI_VECTOR_CORE,4000,400000", "TransData,AI_VECTOR_CORE,90,400000") for r in rows[:2]]
    assert found(tmp_path, "op_statistic.csv", OPS + "".join(f"0,{r},1,1,1,1\n" for r in few)) == {}


def collectives(tmp_path: Path, waits: list[float], slow: tuple[int, int] | None = None) -> list[Finding]:
    """Ranks with sums of one collective of 30 ms each, its waiting in ms; 200 MB a link in 10 ms, in 80 ms on the slow one."""
    for rank, wait in enumerate(waits):
        folder = tmp_path / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        folder.mkdir(parents=True)
        (folder.parent / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
        time = {"Start Timestamp(us)": 1790000000000000.0, "Elapse Time(ms)": 30.0, "Transit Time(ms)": 10.0, "Wait Time(ms)": wait,
                "Synchronization Time(ms)": 0.0, "Idle Time(ms)": 0.1}  # fmt: skip
        op = {"Communication Time Info": time, "Communication Bandwidth Info": {}}
        (folder / "communication.json").write_text(json.dumps({"step": {"collective": {"hcom_allReduce__1_0_1@1": op}, "p2p": {}}}))
        links = {f"{a}-{b}": {"Transport Type": "HCCS", "Transit Size(MB)": 200.0,
                              "Transit Time(ms)": 80.0 if (a, b) == slow else 10.0}
                 for a in range(len(waits)) for b in range(len(waits)) if a != b and rank in (a, b)}  # fmt: skip
        matrix = {"step": {"collective": {"allreduce-top1@1": links, "total": links}, "p2p": {}}}
        (folder / "communication_matrix.json").write_text(json.dumps(matrix))
    _, report = judged(places(tmp_path), Here())
    assert report is not None
    return list(report.findings)


def test_the_late_rank_of_sums_of_collectives_waits_least(tmp_path: Path) -> None:
    (late,) = collectives(tmp_path, [20.0, 20.0, 0.2, 20.0])
    assert late.id == "late-rank-waits"
    assert facts(late, "rank", "waiting_ns", "median_ns", "cost_ns") == ("2", 200_000, 20_000_000, 19_800_000)


def test_a_slow_link_of_sums_is_counted_once(tmp_path: Path) -> None:
    (slow,) = collectives(tmp_path, [1.0, 1.0, 1.0, 1.0], slow=(0, 1))
    assert slow.id == "slow-link"
    assert facts(slow, "src", "dst", "lost_ns", "peers") == ("0", "1", 70_000_000, 11)


def test_profiles_that_claim_the_same_rank_are_judged_one_by_one(tmp_path: Path) -> None:
    event = {"ph": "X", "name": "k", "pid": 3, "tid": 2, "ts": 1, "dur": 5, "args": {"Task Type": "AI_CORE"}}
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": [event]}))
    made, report = judged(places(tmp_path), Here())
    assert len(made) == 2 and report is None and made[0].report is not None
    assert any("2 profiles say they are rank 0" in why for _, why in made[0].report.missing)


HEAD = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes"


def kernels_of(path: Path, *rows: str, delimiter: str = ",") -> list[int]:
    path.write_text("\n".join((HEAD.replace(",", delimiter), *rows)), encoding="utf-8")
    trace = open_trace(path)
    return (trace.task["end"] - trace.task["start"]).tolist()


def test_numbers_with_separators_for_thousands(tmp_path: Path) -> None:
    rows = ('0,a,Add,AI_CORE,"1,790,000,000,000,000.000","1,200.500","512,1024"', "0,b,Add,AI_CORE,1790000000002000.000,900.000,512")
    assert kernels_of(tmp_path / "op_summary_1.csv", *rows) == [1_200_500, 900_000]
    trace = open_trace(tmp_path / "op_summary_1.csv")
    assert trace.strings[int(trace.task["in_shapes"][0])] == "512,1024"


def test_decimal_commas_between_semicolons(tmp_path: Path) -> None:
    rows = ('0;a;Add;AI_CORE;1790000000000000,000;1.200,500;"512,1024"', "0;b;Add;AI_CORE;1790000000002000,000;900,250;512")
    assert kernels_of(tmp_path / "op_summary_1.csv", *rows, delimiter=";") == [1_200_500, 900_250]
    trace = open_trace(tmp_path / "op_summary_1.csv")
    assert trace.strings[int(trace.task["in_shapes"][0])] == "512,1024"


def test_rounded_times_lay_rows_one_behind_the_other(tmp_path: Path) -> None:
    rows = tuple(f"0,{op},{op},AI_CORE,1.79E+15,{us},512" for op, us in (("Add", 30), ("TransData", 50), ("Mul", 20)) * 4)
    assert kernels_of(tmp_path / "op_summary_1.csv", *rows) == [30_000, 50_000, 20_000] * 4
    report = analyze(open_trace(tmp_path / "op_summary_1.csv"))
    assert report.breakdown[0].computing == 400_000
    assert next(f for f in report.findings if f.id == "layout-storm").facts["computing_share"] == 0.5


def test_an_exponent_with_all_its_digits_is_a_time_like_any_other(tmp_path: Path) -> None:
    rows = ("0,a,Add,AI_CORE,1.790000000000000500E+15,30,512", "0,b,Add,AI_CORE,1.790000000000100e+15,30,512")
    kernels_of(tmp_path / "op_summary_1.csv", *rows)
    trace = open_trace(tmp_path / "op_summary_1.csv")
    assert int(trace.task["start"][1] - trace.task["start"][0]) == 99_500
    assert not any("rounded" in m.why for m in trace.missing)


def test_slow_launches_in_sums_of_calls(tmp_path: Path) -> None:
    """40 us for each of 40,000; usual are 5, so 1.4 s more than that."""
    said = calls(tmp_path, ("node", "launch", 1_600_000, 40_000), ("acl", "aclrtSynchronizeStream", 400_000, 10))
    assert list(said) == ["slow-launches-sums"]
    assert facts(said["slow-launches-sums"], "count", "mean_ns", "part_share") == (40_000, 40_000, 0.8)
    gain = said["slow-launches-sums"].gain
    assert gain is not None and (gain.ns, gain.at_most) == (1_400_000_000, True)


@pytest.mark.parametrize(("total", "count"), [(19_900, 1000), (999 * 40, 999)])
def test_usual_launches_and_few_ones_are_silent(tmp_path: Path, total: int, count: int) -> None:
    assert calls(tmp_path, ("node", "launch", total, count)) == {}


def waiting(tmp_path: Path, transit: float, count: int = 5) -> dict[str, Finding]:
    """Sums of collectives of 50 ms each, of which so much is transfer."""
    time = {"Elapse Time(ms)": 50.0, "Transit Time(ms)": transit, "Wait Time(ms)": 40.0, "Idle Time(ms)": 10.0 - transit}
    every = {f"hcom_allReduce__{n}@1": {"Communication Time Info": time | {"Start Timestamp(us)": 1e15 + 6e4 * n}} for n in range(count)}
    return found(tmp_path, "communication.json", json.dumps({"step1": {"collective": every, "p2p": {}}}))


def test_sums_of_collectives_that_mostly_wait(tmp_path: Path) -> None:
    said = waiting(tmp_path, 5)
    assert list(said) == ["late-rank-in-sums"]
    names = "count", "whole_ns", "transfer_ns", "waiting_ns", "longest_ns"
    assert facts(said["late-rank-in-sums"], *names) == (5, 250_000_000, 25_000_000, 225_000_000, 45_000_000)
    gain = said["late-rank-in-sums"].gain
    assert gain is not None and (gain.ns, gain.at_most) == (225_000_000, True)


@pytest.mark.parametrize(("transit", "count"), [(26, 5), (5, 1)])
def test_sums_of_collectives_that_mostly_move_or_are_single(tmp_path: Path, transit: float, count: int) -> None:
    assert "late-rank-in-sums" not in waiting(tmp_path, transit, count)


def test_casts_are_found_by_name_where_types_of_data_are_not_known(tmp_path: Path) -> None:
    rows = [("Cast", 30), ("MatMulV2", 60)] * 4
    text = KERNELS + "".join(f"0,k{n},{op},AI_VECTOR_CORE,{1000 + 100 * n}.000,{us},40\n" for n, (op, us) in enumerate(rows))
    said = found(tmp_path, "op_summary_1.csv", text)
    assert facts(said["cast-storm"], "count", "total_ns", "pairs", "source") == (4, 120_000, 0, "-")


@pytest.mark.parametrize("task_type", ["AI_CORE", "MIX_AIC"])
def test_blocks_of_kernels_tell_a_larger_chip(tmp_path: Path, task_type: str) -> None:
    """24 blocks fill a chip of 24 cores; on the default one they would not fill its 20."""
    text = KERNELS + "".join(f"0,k{n},FlashAttentionScore,{task_type},{1000 + 410 * n}.000,400,24\n" for n in range(10))
    assert found(tmp_path, "op_summary_1.csv", text) == {}
    assert open_trace(tmp_path).meta["soc"] == "Ascend910B1"


def test_archives_are_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "prof.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(Unreadable) as raised:
        open_trace(tmp_path)
    assert raised.value.next == "unpack prof.zip first, then give the folder it makes"
