"""`msprof run --check-hazards`: planted hazards are told with both lines and the missing order; correct programs are silent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow  # many starts of programs

SAMPLES = Path(__file__).parents[2] / "samples"

HEAD = """
import acl, ctypes, queue, sys, threading
import numpy as np
acl.init(); acl.rt.set_device(0)
N = 1 << 16
a, b = acl.rt.create_stream()[0], acl.rt.create_stream()[0]
d, e, h, o = acl.rt.malloc(N, 0)[0], acl.rt.malloc(N, 0)[0], acl.rt.malloc_host(N)[0], acl.rt.malloc_host(N)[0]
event = acl.rt.create_event()[0]
def up(stream, to=d, source=h): acl.rt.memcpy_async(to, N, source, N, 1, stream)
def down(stream, to=o, source=d): acl.rt.memcpy_async(to, N, source, N, 2, stream)
"""
LINES = HEAD.strip().count("\n") + 1


def hazards(start: Run, body: str, code: int = 0) -> list[tuple[str, int, int]]:
    """(kind, line of the first call, line of the second) of each hazard; lines count from the first of the body."""
    ran = start("msprof", "run", "--check-hazards", "--clock", "model", "--no-summary", "script.py", script=HEAD.strip() + "\n" + body)
    assert ran.code == code, ran.err
    (prof,) = ran.profs
    found = json.loads((prof / "npuscope/meta.json").read_text())["hazards"]
    assert f"msprof: hazards found: {len(found)}" in ran.err
    assert ran.err.count("  next: ") == len(found)
    return [(h["kind"], *(int(h[w]["site"].rpartition(":")[2]) - LINES for w in ("first", "second"))) for h in found]


def test_the_line_that_calls_is_named(start: Run) -> None:
    """Here those inside up() and down()."""
    assert hazards(start, "up(a)\ndown(b)") == [("write-read", -1, 0)]


PLANTED = {
    "no event between two streams": (
        "acl.rt.memcpy_async(d, N, h, N, 1, a)\nacl.rt.memcpy_async(o, N, d, N, 2, b)",
        [("write-read", 1, 2)],
    ),
    "the wait stands before the record it should wait for": (
        "acl.rt.record_event(event, a)\nacl.rt.memcpy_async(d, N, h, N, 1, a)\nacl.rt.stream_wait_event(b, event)\n"
        "acl.rt.memcpy_async(o, N, d, N, 2, b)",
        [("write-read", 2, 4)],
    ),
    "read before synchronising": (
        "acl.rt.memcpy_async(d, N, h, N, 1, a)\nacl.rt.memcpy(o, N, d, N, 2)",
        [("write-read", 1, 2)],
    ),
    "the next input overwrites the one in use": (
        "acl.rt.memcpy_async(d, N, h, N, 1, a)\nacl.rt.memcpy_async(e, N, d, N, 3, a)\nacl.rt.memset_async(d, N, 0, N, b)",
        [("write-write", 1, 3), ("read-write", 2, 3)],
    ),
    "host code writes a buffer in flight": (
        "acl.rt.memcpy_async(d, N, h, N, 1, a)\nctypes.memset(h, 7, N)\nacl.rt.synchronize_stream(a)",
        [("changed", 1, 3)],
    ),
    "another copy writes a buffer in flight": (
        "acl.rt.memset(d, N, 0, N)\nacl.rt.synchronize_stream(a)\n"
        "acl.rt.memcpy_async(e, N, h, N, 1, a)\nacl.rt.memcpy_async(h, N, d, N, 2, b)",
        [("read-write", 3, 4)],
    ),
    "memory nobody wrote": ("acl.rt.memcpy(o, N, e, N, 2)", [("unwritten", -1, 1)]),
}  # fmt: skip


def test_planted(start: Run) -> None:
    """Each in a function of its own, with nothing in flight before it."""
    script, begins = "", []
    for number, (body, _) in enumerate(PLANTED.values()):
        begins.append(script.count("\n") + 2)
        inside = "".join(f"    {line}\n" for line in body.splitlines())
        script += f"d, e = acl.rt.malloc(N, 0)[0], acl.rt.malloc(N, 0)[0]\ndef case{number}():\n{inside}case{number}(); acl.rt.synchronize_device()\n"
    found = hazards(start, script)
    for begin, (name, (_, expected)) in zip(begins, PLANTED.items(), strict=True):
        following = min([b for b in begins if b > begin], default=1 << 30)
        mine = [(kind, first - begin, second - begin) for kind, first, second in found if begin <= second < following]
        assert mine == expected, name


def test_correct_programs_are_silent(start: Run) -> None:
    """Events in both orders of submission, events made anew, waits of the host, queries, notifies, callbacks that hold a stream,
    threads that hand work on, copies of interleaved columns, in-place use of one buffer on one stream."""
    assert hazards(start, """
for _ in range(3):
    up(a); acl.rt.record_event(event, a); acl.rt.stream_wait_event(b, event); down(b)
    back = acl.rt.create_event_ex_with_flag(0)[0]
    acl.rt.record_event(back, b); acl.rt.stream_wait_event(a, back)
    up(a); acl.rt.synchronize_stream(a); acl.rt.destroy_event(back)
ctypes.memset(h, 1, N); up(a)
while acl.rt.stream_query(a)[0]: pass
ctypes.memset(h, 2, N)
acl.rt.memcpy(o, N, d, N, 2)

late = acl.rt.create_event()[0]  # awaited before its first record
acl.rt.stream_wait_event(b, late); down(b)
up(a); acl.rt.record_event(late, a)
acl.rt.synchronize_event(late); acl.rt.synchronize_stream(b)

flag = acl.rt.create_notify(0)[0]
for _ in range(2):
    up(a); acl.rt.record_notify(flag, a); acl.rt.wait_and_reset_notify(flag, b, 0); down(b); acl.rt.synchronize_device()

going, inbox = [True], queue.Queue()
def reports(_):
    acl.rt.set_device(0)
    while going[0]: acl.rt.process_report(20)
def fill(_): acl.rt.memcpy(d, N, o, N, 1)  # the stream waits for it
tid, _ = acl.util.start_thread(reports, [])
acl.rt.subscribe_report(tid, a)
acl.rt.memcpy_async(e, N, d, N, 3, a)
acl.rt.launch_callback(fill, [], 1, a)
acl.rt.memcpy_async(e, N, d, N, 3, a); acl.rt.synchronize_stream(a)
going[0] = False; acl.util.stop_thread(tid); acl.rt.unsubscribe_report(tid, a)

def worker():
    acl.rt.set_device(0)
    mine = acl.rt.create_stream()[0]
    while inbox.get(): down(mine); acl.rt.synchronize_stream(mine); inbox.task_done()
thread = threading.Thread(target=worker); thread.start()
for _ in range(3): up(a); acl.rt.synchronize_stream(a); inbox.put(1); inbox.join()
inbox.put(0); thread.join()

acl.rt.memcpy2d_async(d, 256, h, 256, 128, 256, 1, a); acl.rt.memcpy2d_async(d + 128, 256, h, 256, 128, 256, 1, b)
acl.rt.synchronize_device()
acl.rt.memcpy_async(h, N, d, N, 2, a); acl.rt.memcpy_async(e, N, h, N, 1, a); acl.rt.synchronize_stream(a)
""") == []


@pytest.mark.slow
def test_the_mended_samples_are_silent(start: Run, tmp_path: Path) -> None:
    """Quick ones alone, those with ranks as a job of two."""
    start("python", str(SAMPLES / "make_model.py"), "net.onnx", "3", "16", "24")
    start("atc", "--model=net.onnx", "--framework=5", "--output=net", "--soc_version=Ascend910B3")
    one = ("sync-after-submit", "one-stream", "host-preprocessing", "copies-cost-more", "allocation-per-frame")
    ranks = ("exchange-too-often", "slow-rank", "measured-bandwidth", "data-parallel")
    for name, more in [*((n, ("net.om", "3")) for n in one), *((n, ("2",)) for n in ranks)]:
        job = ("--nproc", "2") if name in ranks else ()
        script = str(SAMPLES / name / "fixed.py")
        ran = start("msprof", "run", "--check-hazards", "--no-summary", *job, script, *more, env={"NPU_COMPUTE": "off"})
        assert (ran.code, ran.err.splitlines()[-1]) == (0, "msprof: hazards found: 0"), ran.err


@pytest.mark.slow
def test_a_program_keeps_its_exit_code_and_the_finding_is_in_the_report(start: Run) -> None:
    assert hazards(start, "up(a); down(b)\nsys.exit(3)", code=3) == [("write-read", -1, 0)]
    (prof,) = start("msprof", "export", "--help").profs
    shown = start("msprof", "analyze", str(prof), "--json").out
    (found,) = [f for f in json.loads(shown)["findings"] if f["id"] == "unordered-access"]
    assert [Path(s).name for s in found["sites"]] == [f"script.py:{LINES - 1}", f"script.py:{LINES}"]
    assert found["severity"] == "critical"
    assert start("msprof", "analyze", str(prof), "--fail-on", "critical").code == 1
    assert re.search("两个 stream 使用同一块内存", start("msprof", "analyze", str(prof), "--lang", "zh").out)


def test_nothing_is_checked_unless_asked(start: Run) -> None:
    ran = start("msprof", "run", "--clock", "model", "--no-summary", "script.py", script=HEAD.strip() + "\nup(a); down(b)")
    assert "hazards" not in ran.err
    assert "hazards" not in json.loads((ran.profs[0] / "npuscope/meta.json").read_text())
