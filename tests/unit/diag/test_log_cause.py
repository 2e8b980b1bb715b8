"""Which line is the cause: messages as people meet them, the order over time, files and ranks, and what stays unsaid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diag.log_facts import symbol_name
from diag.log_report import LogReport, read, read_text
from diag.log_text import said
from tests.unit.diag.log_messages import MESSAGES


def cause_of(report: LogReport) -> str | None:
    return report.cause.cause if report.cause is not None else None


@pytest.mark.parametrize(("expected", "text"), MESSAGES.values(), ids=list(MESSAGES))
def test_messages_people_meet(expected: str | None, text: str) -> None:
    report = read_text(text)
    assert cause_of(report) == expected
    for finding in [*([report.cause] if report.cause else []), *report.consequences, *report.notes]:
        for language in ("en", "zh"):
            texts = said(finding, language)
            assert texts.title
            assert not re.search(r"\{\w*\}", texts.title + texts.meaning + "".join(texts.do))


def core(time: str, text: str, pid: int = 5, module: str = "RUNTIME") -> str:
    return f"[ERROR] {module}({pid},python):2025-01-01-{time}.000 [a.cc:1]{pid} f:{text}"


OOM = "Alloc device memory failed. (devid=2; size=64; ret=6)"
PORT = "socket type[1], listen on ip[10.0.0.1] and specific port[16666] fail."
LATE = "wait socket establish timeout, role[1] rank[1] timeout[120]"


def test_the_earliest_of_sure_causes_counts_whatever_file_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(core("10:00:05.000", OOM))
    (tmp_path / "b.log").write_text(core("10:00:01.000", PORT, 6))
    report = read([tmp_path])
    assert cause_of(report) == "hccl_listen_port_in_use"
    assert report.cause is not None and (report.cause.lines[0].file, report.cause.lines[0].number) == ("b.log", 1)
    assert [f.cause for f in report.consequences] == ["device_out_of_memory"]


def test_who_waited_is_not_the_cause_when_another_rank_failed_before() -> None:
    report = read_text("\n".join([core("10:00:00.000", PORT, 6), core("10:02:00.000", LATE, 5)]))
    assert cause_of(report) == "hccl_listen_port_in_use"
    assert report.waiting == {1: 1}


def test_a_fault_long_after_everybody_gave_up_is_a_consequence() -> None:
    report = read_text("\n".join([core("10:00:00.000", LATE, 5), core("10:00:30.000", OOM, 6)]))
    assert cause_of(report) == "hccl_connect_timeout"
    assert [f.cause for f in report.consequences] == ["device_out_of_memory"]


def test_a_wait_that_fails_milliseconds_before_the_fault_is_told_is_a_consequence() -> None:
    first = core("10:00:00.215", "Task run failed, device_id=5, stream_id=6, task_id=9, sqe_type=7(notify wait), errType=0x20")
    second = core(
        "10:00:00.216", "device(chipId:5, dieId:0), serial number is 5, there is an exception of aivec error, core id is 8"
    )
    report = read_text(f"{first}\n{second}\n")
    assert cause_of(report) == "vector_core_exception"
    assert [f.cause for f in report.consequences] == ["task_wait_timeout"]


NOTIFY = (
    "EI0002: [PID: 400{rank}] 2026-10-24-18:41:29.600.901 The wait execution of the Notify register times out. Reason: The "
    "Notify register has not received the Notify record from remote rank: [2]. "
    "group information: [group:[w], rankSize[5], rankId[{rank}]]"
)


def test_only_a_returned_code_on_the_rank_all_wait_for(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        (tmp_path / f"rank{rank}.log").write_text(NOTIFY.format(rank=rank))
    crash = "[ERROR] ASCENDCL(4002,python3):2026-10-24-18:11:25.887.666 [stream.cpp:161]4002 sync failed, runtime result = 507015"
    (tmp_path / "rank2.log").write_text(crash)
    report = read([tmp_path])
    assert cause_of(report) == "aicore_exception"
    assert report.cause is not None and report.cause.ranks == (2,)
    assert report.waiting == {2: 3}
    assert report.silent == [4]  # of five ranks the only one without any error


def test_without_a_crash_the_rank_that_says_nothing_is_named(tmp_path: Path) -> None:
    for rank in (0, 1, 3, 4):
        (tmp_path / f"rank{rank}.log").write_text(NOTIFY.format(rank=rank))
    report = read([tmp_path])
    assert cause_of(report) == "hccl_notify_timeout"
    assert (report.waiting, report.silent) == ({2: 4}, [2])


def test_a_line_to_the_second_does_not_come_before_exact_ones_of_that_second() -> None:
    report = read_text(
        "[ERROR] 2025-06-19-07:31:05 (PID:5, Device:0, RankID:-1) ERR00100 PTA call acl api failed\n[Error]: Invalid device ID.\n"
        "[ERROR] RUNTIME(5,python):2025-06-19-07:31:05.377.234 [a.cc:1]5 f:invalid device, set drv device=100, "
        "valid device range is [0, 8)\n"
    )
    assert report.cause is not None
    assert (report.cause.cause, report.cause.lines[0].number) == ("invalid_device_id", 3)
    assert report.cause.facts["asked"] == "100" and report.cause.facts["last"] == "7"


def test_details_of_one_event_give_their_facts_to_the_cause() -> None:
    report = read_text("\n".join([
        core("10:00:00.001", "there is an exception of fftsplus aicore error, core id is 12, error code = 0x8000"),
        core("10:00:00.002", "Aicore kernel execute failed, device_id=3, stream_id=2, report_stream_id=2, task_id=118, "
                             "flip_num=0, fault kernel_name=MatMul_abc_1, program id=1"),
        core("10:00:00.003", "[AIC_INFO] block_dim:24"),
        core("10:01:00.000", "[AIC_INFO] tiling_key:7"),  # a minute later: another event
    ]))  # fmt: skip
    assert report.cause is not None
    facts = report.cause.facts
    assert (facts["core_id"], facts["device_id"], facts["kernel_name"], facts["block_dim"]) == ("12", "3", "MatMul_abc_1", "24")
    assert "tiling_key" not in facts


def test_the_programs_own_advice_is_no_evidence() -> None:
    report = read_text("        Solution: Check whether the device is out of memory: NPU out of memory.\n")
    assert report.cause is None


def test_harmless_lines_leave_the_log_clean() -> None:
    report = read_text(
        "WARNING 06-16 15:10:59 [_custom_ops.py:21] Failed to import from vllm._C with ImportError('libcudart.so.12: ...')\n"
        "[INFO] ATRACE(5,p):2026-02-10-08:05:00.000.785 [a.cc:1](tid:5) watchdog timeout, moduleId 7, timeout : 300s\n"
        "device: 0, GPU Compute Capability: 7.5, Driver API Version: 11.2, Runtime API Version: 10.1\n"
    )
    assert report.cause is None
    assert [f.cause for f in report.notes] == ["watchdog_note", "cuda_library_missing"]


# total - free - reserved = 60.96 GiB - 7.47 MiB - 4.37 GiB = 56.58 GiB; reserved - allocated = 133 MiB.
OUT = (
    "NPU out of memory. Tried to allocate {want} (NPU 3; 60.96 GiB total capacity; {used} already allocated; {used} current "
    "active; {free} free; {reserved} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
    "max_split_size_mb"
)


@pytest.mark.parametrize(("want", "used", "free", "reserved", "cause", "fact"), [
    ("88.00 MiB", "4.24 GiB", "7.47 MiB", "4.37 GiB", "memory_held_by_others", ("others", "56.6 GiB")),
    ("72.00 MiB", "56.05 GiB", "5.04 MiB", "58.39 GiB", "memory_fragmented", ("slack", "2.34 GiB")),
    ("30.00 MiB", "60.34 GiB", "15.87 MiB", "60.36 GiB", "allocator_out_of_memory", ("device_id", "3")),
])  # fmt: skip
def test_arithmetic_of_out_of_memory(want: str, used: str, free: str, reserved: str, cause: str, fact: tuple[str, str]) -> None:
    report = read_text("RuntimeError: " + OUT.format(want=want, used=used, free=free, reserved=reserved))
    assert cause_of(report) == cause
    assert report.cause is not None and report.cause.facts[fact[0]] == fact[1]
    advice = " ".join(said(report.cause).do + said(report.cause).commands)
    assert ("expandable_segments" in advice) is (cause == "memory_fragmented")


@pytest.mark.parametrize(("mangled", "name"), [
    ("_ZN3atb15CreateOperationINS_5infer14GroupTopkParamEEEiRKT_PPNS_9OperationE", "atb::CreateOperation"),
    ("_ZNK2ge14GetShapeErrMsgEjRKSsS1_", "ge::GetShapeErrMsg"),
    ("aclrtMalloc", "aclrtMalloc"),
    ("_ZN99x", "_ZN99x"),
])  # fmt: skip
def test_names_of_missing_symbols(mangled: str, name: str) -> None:
    assert symbol_name(mangled) == name
