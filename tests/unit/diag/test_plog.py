"""Log text as records: all forms a line comes in, prefixes and interleaved processes, encodings, cut and endless lines."""

from __future__ import annotations

import gzip
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diag.log_files import LONGEST, LogFile, decoded, find, is_binary, lines_of, raw_blocks
from diag.log_json import clock
from diag.plog import SAME_PLACE, Counted, Line, parsed, parsed_lines
from diag.plog_forms import nanoseconds

PLOG = "[ERROR] RUNTIME(31877,python3):2025-07-18-10:02:11.120.391 [stream.cc:347]32011 Sync:failed, retCode=0x26"


def lines(text: str, name: str = "x.log", **of: object) -> list[Line]:
    return list(parsed_lines(LogFile(Path(name), name, **of), text.encode().splitlines(), Counted()))  # type: ignore[arg-type]


def one(text: str) -> Line:
    (line,) = lines(text)
    return line


def test_host_line() -> None:
    line = one(PLOG)
    assert (line.level, line.module, line.pid, line.where) == ("ERROR", "RUNTIME", 31877, "stream.cc:347")
    assert line.text == "32011 Sync:failed, retCode=0x26"
    assert clock(line.time) == "2025-07-18 10:02:11.120391"


@pytest.mark.parametrize(("text", "module", "pid", "where"), [
    ("[ERROR] HCCL(860,):2025-01-01-00:00:00.000.001 [hccl_socket.cc:100] [860][Listen]fail", "HCCL", 860, "hccl_socket.cc:100"),
    ("[ERROR] 77(860,my app.bin):2025-01-01-00:00:00.000.001 [a/b/c.cc:1]1 fail", "77", 860, "a/b/c.cc:1"),
    ("[ERROR] TEFUSION(3536113,python):2023-07-14-20:35:57.663.851  ==END OF fail==", "TEFUSION", 3536113, ""),
    ("[ERROR] DEVICE(170414,fffe397fa1e0,python):2021-09-13-15:29:07.465.388 [mindspore/x.cc:62] Malloc] failed",
     "DEVICE", 170414, "mindspore/x.cc:62"),
    ("[EXCEPTION] DEVICE(1,ffff,python):2021-09-13-15:29:07.465.388 [mindspore/x.cc:62] f] error",
     "DEVICE", 1, "mindspore/x.cc:62"),
    ("some prefix we never saw: " + PLOG, "RUNTIME", 31877, "stream.cc:347"),
])  # fmt: skip
def test_other_writers(text: str, module: str, pid: int, where: str) -> None:
    line = one(text)
    assert (line.module, line.pid, line.where) == (module, pid, where)


def test_a_device_log_belongs_to_the_process_on_the_host(tmp_path: Path) -> None:
    folder = tmp_path / "log/debug/device-3"
    folder.mkdir(parents=True)
    text = "[ERROR] CCECPU(4412,aicpu_scheduler):2025-12-03-14:20:06.221.947 [ae.cc:412]4420 Open failed"
    (folder / "device-9135_20251203141937010.log").write_text(text)
    (file,) = find([tmp_path]).files
    (line,) = parsed(file, Counted())
    assert (line.pid, line.device, line.module) == (9135, 3, "CCECPU")


def test_torch_npu_line_tells_process_device_and_rank() -> None:
    line = one("[ERROR] 2025-08-06-16:15:27 (PID:2228607, Device:5, RankID:13) ERR00100 PTA call acl api failed")
    assert (line.pid, line.device, line.rank, line.module) == (2228607, 5, 13, "PTA")
    assert clock(line.time) == "2025-08-06 16:15:27"
    assert one("[ERROR] 2025-08-06-16:15:27 (PID:2, Device:0, RankID:-1) ERR00100 PTA call failed").rank is None


GENERATIONS = [
    "EI0006: Getting socket times out",
    "EI0006: 2024-08-05-18:15:21.270.506 Getting socket times out",
    "EI0006: [PID: 1292363] 2025-04-08-18:07:20.444.436 Getting socket times out",
    "[PID: 749] 2025-12-29-03:16:15.787.356 Get_Socket_Timeout(EI0006): Getting socket times out",
    "EI0006[PID: 833] 2026-01-01-00:00:00.000.001 (EI0006):  Getting socket times out",
    "[ACL ERROR] EI0006: [PID: 106] 2026-11-04-08:48:57.222.113 Getting socket times out",
    "[ERROR] RecentErrMsg: [PID: 81532] 2026-04-09-13:26:41.993.172 Some_Title/Else(EI0006): Getting socket times out",
    "CANN error: EI0006: Getting socket times out",
]  # fmt: skip


@pytest.mark.parametrize("text", GENERATIONS)
def test_four_generations_of_the_error_manager(text: str) -> None:
    line = one(text)
    assert (line.family, line.part, line.level) == ("EI0006", "headline", "ERROR")


def test_a_block_has_advice_and_a_trace_and_ends() -> None:
    told = lines("""EL0003: [PID: 7001] 2026-06-26-11:50:18.411.922 The argument is invalid.
        Possible Cause: something failed before.
        Solution: Try again with a valid argument.
        TraceBack (most recent call last):
        Failed to open device, retCode=0x7020014[FUNC:Init][FILE:raw_device.cc][LINE:126]
        New device failed, retCode=0x7010006[FUNC:SetDevice][FILE:api_impl.cc][LINE:3020]
note: nothing failed here
""")
    assert [(line.number, line.part, line.family) for line in told] == [
        (1, "headline", "EL0003"), (2, "hint", "EL0003"), (3, "hint", "EL0003"), (5, "trace", "EL0003"), (6, "trace", "EL0003"),
        (7, "", ""),
    ]  # fmt: skip
    assert {line.pid for line in told} == {7001}
    assert {line.time for line in told} == {told[0].time}


def test_python_traceback_gives_its_last_line_and_its_site() -> None:
    told = lines(
        'Traceback (most recent call last):\n  File "train.py", line 41, in <module>\n    go()\nRuntimeError: it failed\n'
    )
    assert (told[-1].part, told[-1].where, told[-1].text) == ("raised", "train.py:41", "RuntimeError: it failed")


@pytest.mark.parametrize(("prefix", "pid", "rank"), [
    ("(VllmWorker rank=1 pid=36111) ERROR 08-21 08:26:21 [multiproc_executor.py:546] ", 36111, 1),
    ("(EngineCore_DP0 pid=414) ", 414, None),
    ("(EngineCore_DP0 pid=118283) (RayWorkerWrapper pid=91798, ip=10.0.0.1) ", 91798, None),
    ("server-1  | (EngineCore_DP0 pid=414) ", 414, None),
    ("[rank3]: ", None, 3),
    ("[rank3]:[E1129 10:54:13.679153542 compiler_depend.ts:444] ", None, 3),
    ("2025-06-07T08:10:41.790Z stderr F [rank3]: ", None, 3),
    ("10.0.0.7: ", None, None),
    ("\x1b[31m", None, None),
])  # fmt: skip
def test_prefixes(prefix: str, pid: int | None, rank: int | None) -> None:
    line = one(prefix + "EI0006: Getting socket times out")
    assert (line.family, line.pid, line.rank) == ("EI0006", pid, rank)


def test_interleaved_processes_keep_their_own_blocks() -> None:
    told = lines("""(W rank=0 pid=10) EI0006: [PID: 10] 2025-04-08-18:07:20.444.436 Getting socket times out
(W rank=1 pid=11) EL0004: [PID: 11] 2025-04-08-18:07:19.444.436 Failed to allocate memory.
(W rank=0 pid=10)         TraceBack (most recent call last):
(W rank=1 pid=11)         TraceBack (most recent call last):
(W rank=0 pid=10)         wait failed[FUNC:A][FILE:a.cc][LINE:1]
(W rank=1 pid=11)         allocate failed[FUNC:B][FILE:b.cc][LINE:1]
""")
    assert [(line.family, line.rank, line.part) for line in told[2:]] == [("EI0006", 0, "trace"), ("EL0004", 1, "trace")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes((PLOG + end + PLOG.replace("failed", "失败 failed") + end).encode(encoding))
    (file,) = find([path]).files
    assert not is_binary(file)
    first, second = parsed(file, Counted())
    assert first.text == "32011 Sync:failed, retCode=0x26"
    assert second.text == "32011 Sync:失败 failed, retCode=0x26"


def test_gz_and_gz_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "plog-31877_20250718100155402.log.gz"
    packed = gzip.compress("\n".join([PLOG] * 3).encode())
    path.write_bytes(packed)
    (file,) = find([tmp_path]).files
    assert file.pid == 31877
    assert len(list(parsed(file, Counted()))) == 3
    path.write_bytes(packed[:-12])
    with pytest.raises((OSError, EOFError)):
        list(raw_blocks(file))


def test_a_character_cut_in_two_is_not_taken_for_chinese_of_another_encoding() -> None:
    whole = "内存不足".encode()
    assert decoded(whole[:-1]) == "内存不"
    assert decoded(whole[:-2]) == "内存不"
    assert decoded("内存不足".encode("gbk")) == "内存不足"
    assert decoded(b"\xff\xff\xff\xff") == "\ufffd" * 4


def test_an_endless_line_is_cut_and_the_next_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"error " + b"x" * (5 * LONGEST) + b"\n" + PLOG.encode() + b"\n")
    (file,) = find([path]).files
    first, second = (line for block in raw_blocks(file) for line in lines_of(block))
    assert (len(first), second) == (LONGEST, PLOG.encode())


def test_calm_lines_are_counted_and_skipped() -> None:
    counted = Counted()
    text = (
        ["[INFO] GE(1,p):2025-01-01-00:00:00.000.000 [a.cc:1]1 0 error found"] + ["[WARNING] GE(1,p): error"] * 2 + ["fine"] * 7
    )
    told = list(parsed_lines(LogFile(Path("x"), "x"), [t.encode() for t in text], counted))
    assert (counted.lines, counted.warnings, counted.errors) == (10, 2, 0)
    assert all(line.quiet for line in told)


def test_a_place_that_writes_without_end_is_only_counted() -> None:
    counted = Counted()
    raws = (PLOG.replace("0x26", hex(i)).encode() for i in range(10_000))
    told = list(parsed_lines(LogFile(Path("x"), "x"), raws, counted))
    assert len(told) == SAME_PLACE
    assert counted.errors == 10_000


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"{PLOG.replace('stream.cc', f'f{i % 40}.cc')} task_id={i}\n" for i in range(20_000)))  # 2.5 MB
    (file,) = find([path]).files
    tracemalloc.start()
    count = sum(1 for _ in parsed(file, Counted()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 40 * SAME_PLACE
    assert peak < 500_000


def test_which_files_are_logs(tmp_path: Path) -> None:
    for name in ("rank1/log/debug/plog/plog-5_20250101000000001.log", "rank1/stdout.log", "rank1/data/slice_0.bin", "rank0.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = find([tmp_path]).files
    assert {(f.shown, f.rank, f.pid) for f in found} == {
        ("rank1/log/debug/plog/plog-5_20250101000000001.log", 1, 5), ("rank1/stdout.log", 1, None), ("rank0.log", 0, None),
    }  # fmt: skip


def test_files_of_one_process_in_the_order_of_their_stamps(tmp_path: Path) -> None:
    for stamp in ("20250101000002000", "20250101000001000", "20250101000003000"):
        (tmp_path / f"plog-7_{stamp}.log").write_text("x")
    assert [f.stamp[-4:] for f in find([tmp_path]).files] == ["1000", "2000", "3000"]


@pytest.mark.parametrize(("text", "ns"), [
    ("1970-01-01-00:00:01.002.003", 1_002_003_000),
    ("1970-01-01-00:00:01.002", 1_002_000_000),
    ("1970-01-01-00:00:01", 1_999_999_000),  # to the second: the end of it, so that exact lines of that second come first
    ("2025-13-41-00:00:00.000.000", None),
])  # fmt: skip
def test_times(text: str, ns: int | None) -> None:
    assert nanoseconds(text) == ns


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=60), st.sampled_from([*GENERATIONS, PLOG, "        TraceBack (most recent call last):"])))
)
def test_any_text_is_read(parts: list[str]) -> None:
    lines("\n".join(parts))


@given(st.lists(st.sampled_from([b"calm words", b"x" * 5000, b"an error", b"[INFO] x", b"[WARNING] y", b"E10016: z", b"", b"code 5\r"]), max_size=40), st.booleans())
def test_blocks_give_what_lines_give(rows: list[bytes], ended: bool) -> None:
    """Passing over quiet blocks changes neither the lines that count nor their numbers nor the counts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(b"\n".join(rows) + (b"\n" if ended and rows else b""))
        file, of_blocks, of_lines = LogFile(path, "x"), Counted(), Counted()
        told = list(parsed(file, of_blocks))
        whole = [line for block in raw_blocks(file) for line in lines_of(block)]
        assert told == list(parsed_lines(file, whole, of_lines))
        assert of_blocks == of_lines


def test_what_could_be_unpacked_before_the_damage_is_read(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"a calm line %d\n" % n for n in range(3000)) + b"an error\n" * 3000, mtime=0)
    (tmp_path / "x.log.gz").write_bytes(whole[: len(whole) - 20])
    counted = Counted()
    with pytest.raises(EOFError):
        for _ in parsed(LogFile(tmp_path / "x.log.gz", "x"), counted):
            pass
    assert counted.lines > 3000
