"""`npu-diag hang` on processes of the simulated device: what each thread waits for, and who would release it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from npu.driver import waits
from npu.driver.waits import Waiting
from tests.scripts.conftest import Run

HEAD = """
import acl, os, sys, threading
acl.init(); acl.rt.set_device(0)
a, b = acl.rt.create_stream()[0], acl.rt.create_stream()[0]
e, f = acl.rt.create_event()[0], acl.rt.create_event()[0]
def apart(function, *args):  # the main thread is in no call, so this is no deadlock that is told at once
    def run():
        acl.rt.set_device(0); function(*args)
    threading.Thread(target=run, daemon=True).start()
def until(*words):  # this process has told all of that
    path = os.path.join(os.environ["NPU_STATE_DIR"], "waits", f"{os.getpid()}.json")
    for _ in range(200):
        if os.path.exists(path) and all(w in open(path).read() for w in words): return
        threading.Event().wait(0.05)
def stay():
    print("ready", flush=True); sys.stdin.read()
"""
RUN = HEAD.strip()[: HEAD.index("function(*args)")].count("\n") + 1  # the line that calls


@pytest.fixture
def told(tmp_path: Path, start: Run) -> Iterator[Callable[[str], tuple[int, dict[str, object]]]]:
    """told(body) starts a script and asks once its waits have lasted: exit code and JSON."""
    started: list[subprocess.Popen[bytes]] = []

    def ask(body: str) -> tuple[int, dict[str, object]]:
        (tmp_path / "script.py").write_text(HEAD.strip() + "\n" + dedent(body).strip() + "\nstay()\n")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND"))} | {"NPU_STATE_DIR": str(tmp_path / "state")}
        words = [sys.executable, "-m", "npu", "script.py"]
        running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=env)
        started.append(running)
        assert running.stdout is not None and running.stdout.readline() == b"ready\n"
        for _ in range(60):
            if (tmp_path / f"state/waits/{running.pid}.json").exists():
                break
            time.sleep(0.05)
        done = start("npu-diag", "hang", str(running.pid), "--json", env={"NPU_STATE_DIR": "elsewhere"})
        return done.code, json.loads(done.out)

    yield ask
    for running in started:
        running.send_signal(signal.SIGKILL)
        running.communicate()


def test_two_streams_that_wait_for_each_other(told: Callable[[str], tuple[int, dict[str, object]]]) -> None:
    code, found = told("""
        acl.rt.stream_wait_event(a, f); acl.rt.record_event(e, a)
        acl.rt.stream_wait_event(b, e); acl.rt.record_event(f, b)
        apart(acl.rt.synchronize_stream, b)
    """)
    assert (code, found["waits_for"]) == (1, "simulated")
    (thread,) = found["told"]  # type: ignore[misc]
    assert thread["call"] == "acl.rt.synchronize_stream"
    assert thread["site"].endswith(f"script.py:{RUN}")
    assert 0.3 <= thread["seconds"] < 30
    assert thread["waits_for"] == (
        "Thread 1 waits for stream 2. Stream 2 waits for event 0, which stream 1 records only after its own wait. "
        "Stream 1 waits for event 1, which stream 2 records only after its own wait. A cycle: stream 2 -> stream 1 -> stream 2."
    )


def test_several_threads_each_with_its_own_wait(told: Callable[[str], tuple[int, dict[str, object]]]) -> None:
    """An event nobody records, and a notify that another stream sets only after its own wait for that event."""
    code, found = told("""
        n = acl.rt.create_notify(0)[0]
        acl.rt.stream_wait_event(a, e); acl.rt.record_notify(n, a)
        acl.rt.wait_and_reset_notify(n, b, 0)
        apart(acl.rt.synchronize_stream, b); apart(acl.rt.synchronize_event, e)
        until("synchronize_stream", "synchronize_event")
    """)
    assert code == 1
    chains = {t["call"]: t["waits_for"].partition(" waits ")[2] for t in found["told"]}  # type: ignore[attr-defined]
    assert chains == {
        "acl.rt.synchronize_stream": "for stream 2. Stream 2 waits for a notify, which stream 1 records only after its own wait. "
        "Stream 1 waits for event 0, which is recorded nowhere. Threads that wait as well and so record nothing: "
        + ("2" if "Thread 1 waits for stream" in str(found) else "1") + ".",
        "acl.rt.synchronize_event": "for event 0, which is recorded nowhere. Threads that wait as well and so record nothing: "
        + ("1" if "Thread 1 waits for stream" in str(found) else "2") + ".",
    }  # fmt: skip


def test_a_collective_whose_other_rank_does_not_come(told: Callable[[str], tuple[int, dict[str, object]]]) -> None:
    """Two ranks as threads: rank 0 exchanges, rank 1 has met it and does something else."""
    code, found = told("""
        import hccl
        info, _ = hccl.HcclGetRootInfo()
        def rank(number):
            acl.rt.set_device(number)
            comm, _ = hccl.HcclCommInitRootInfo(2, info, number)
            stream, p = acl.rt.create_stream()[0], acl.rt.malloc(4096, 0)[0]
            if number == 1:
                threading.Event().wait()
            hccl.HcclAllReduce(p, p, 1024, hccl.HCCL_DATA_TYPE_FP32, hccl.HCCL_REDUCE_SUM, comm, stream)
            acl.rt.synchronize_stream(stream)
        for number in (0, 1): threading.Thread(target=rank, args=(number,), daemon=True).start()
        until("not come yet")
    """)
    assert code == 1
    (thread,) = found["told"]  # type: ignore[misc]
    assert thread["call"] == "acl.rt.synchronize_stream"
    assert f"not come yet: rank 1 (process {found['pid']})." in thread["waits_for"]
    assert "waits for AllReduce of group" in thread["waits_for"] and "as rank 0" in thread["waits_for"]


@pytest.mark.slow
def test_a_wait_that_ends_is_told_no_longer(told: Callable[[str], tuple[int, dict[str, object]]], tmp_path: Path) -> None:
    told("""
        acl.rt.stream_wait_event(a, e)
        def free():
            acl.rt.set_device(0); threading.Event().wait(2.5); acl.rt.record_event(e, b)
        apart(acl.rt.synchronize_stream, a); threading.Thread(target=free, daemon=True).start()
    """)
    for _ in range(100):
        if not list((tmp_path / "state/waits").glob("*.json")):
            return
        time.sleep(0.05)
    raise AssertionError("what was told stayed")


def test_what_somebody_else_left_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_STATE_DIR", str(tmp_path))
    environ = {"NPU_STATE_DIR": str(tmp_path)}
    wait = Waiting(7, "acl.rt.memcpy", "a.py:1", 5, "Thread 0 waits for stream 1.")
    assert waits.read(os.getpid(), environ) == ()
    waits.write([wait])
    path = tmp_path / "waits" / f"{os.getpid()}.json"
    assert waits.read(os.getpid(), environ) == (wait,)
    left = json.loads(path.read_text())
    path.write_text(json.dumps({**left, "start": left["start"] + 1}))
    assert waits.read(os.getpid(), environ) == ()
    for broken in ("", "[]", '{"start": 1}', json.dumps({**left, "waits": [[1, 2]]})):
        path.write_text(broken)
        assert waits.read(os.getpid(), environ) == ()
    dead = tmp_path / "waits" / f"{2**22 + 1}.json"
    dead.write_text("{}")
    path.unlink()
    waits.write([wait])
    assert not dead.exists()
    waits.write([])
    assert not path.exists()
