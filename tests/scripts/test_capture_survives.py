"""Captures of programs that do not end well or are not one thread: killed at any moment, forked, spawned, left by os._exit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import profiler
from tests.scripts.conftest import Ran, Run

# Each child calls acl until it is killed, and counts in shared memory the calls that have come back.
KILLED = """
import acl, mmap, os, random, select, signal, sys, time
shared = mmap.mmap(-1, 8)
random.seed(int(sys.argv[2]))
for n in range(int(sys.argv[1])):
    shared[:] = bytes(8)
    child = os.fork()
    if child == 0:
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        device, _ = acl.rt.malloc(4096, 0); host, _ = acl.rt.malloc_host(4096)
        done = 5
        while True:
            acl.rt.memcpy_async(device, 4096, host, 4096, 1, stream)
            done += 1
            if done % 50 == 0:
                acl.rt.synchronize_stream(stream)
                done += 1
            shared[:] = done.to_bytes(8, "little")
    while int.from_bytes(shared[:], "little") == 0:
        select.select([], [], [], 0.0005)
    select.select([], [], [], random.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(child, int.from_bytes(shared[:], "little"), flush=True)
"""


def recorded(start: Run, *words: str, script: str, **env: str) -> Ran:
    """Run a script with the recorder on and nothing else: without an export at the end."""
    sink = {"NPU_SINK": "profiler.record.sink:open_sink", "NPUSCOPE_OUTPUT": "out", "NPU_CLOCK": "model", **env}
    return start("python", "-m", "npu", "script.py", *words, script=script, env=sink, timeout=230)


def killed(start: Run, times: int, seed: int) -> None:
    ran = recorded(start, str(times), str(seed), script=KILLED)
    assert ran.code == 0, ran.err
    done = dict(map(int, line.split()) for line in ran.out.splitlines())
    assert len(done) == len(ran.profs) == times
    for prof in ran.profs:
        trace = profiler.open(prof)
        completed = done[int(trace.meta["pid"])]
        assert completed <= len(trace.api) <= completed + 2, prof  # the count is behind the calls by at most two
        assert (trace.api["start"][1:] >= trace.api["start"][:-1]).all() and (trace.api["name"] >= 0).all()
        assert any("killed" in m.why for m in trace.missing)


def test_twenty_kills_at_random_moments_lose_no_completed_call(start: Run) -> None:
    killed(start, 20, 1)


@pytest.mark.slow
def test_two_hundred_kills(start: Run) -> None:
    killed(start, 200, 2)


OPEN = """
import acl, os, sys
def work(n):
    acl.init(); acl.rt.set_device(0)
    for _ in range(n):
        acl.rt.get_run_mode()
"""


def counts(ran: Ran) -> list[int]:
    """Calls of get_run_mode in each capture."""
    return sorted(int(profiler.open(p).api_named("aclrtGetRunMode").sum()) for p in ran.profs)


@pytest.mark.parametrize(("ending", "code"), [
    ("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise ValueError('mine')", 1), ("os.abort()", -6), ("pass", 0),
])  # fmt: skip
def test_however_a_script_ends_all_its_calls_are_there(start: Run, ending: str, code: int) -> None:
    ran = recorded(start, script=OPEN + f"work(7)\n{ending}\n")
    assert ran.code == code and counts(ran) == [7]
    abrupt = ending.startswith(("os._exit", "os.abort"))
    missing = profiler.open(ran.profs[0]).missing
    assert any("os._exit" in m.why for m in missing) is abrupt


def test_a_forked_child_has_a_capture_of_its_own_and_leaves_its_parents_alone(start: Run) -> None:
    ran = recorded(start, script=OPEN + """
work(3)
child = os.fork()
if child == 0:
    work(5)
    sys.exit(0)  # runs what the parent registered for its end
os.waitpid(child, 0)
for _ in range(4):
    acl.rt.get_run_mode()
os._exit(0)
""")
    assert ran.code == 0, ran.err
    assert counts(ran) == [5, 7]
    ended = {int(profiler.open(p).api_named("aclrtGetRunMode").sum()): profiler.open(p).meta["ended_unix"] for p in ran.profs}
    assert ended[7] is None and ended[5] is not None


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_recorded_each_for_itself(start: Run, method: str) -> None:
    ran = recorded(start, script=OPEN + f"""
import multiprocessing
if __name__ == "__main__":
    work(2)
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work, args=(n,)) for n in (10, 11)]
    for child in children: child.start()
    for child in children: child.join()
""")
    assert ran.code == 0, ran.err
    assert counts(ran) == [2, 10, 11]


def test_every_call_of_every_thread_is_there_once(start: Run) -> None:
    ran = recorded(start, script="""
import acl, threading
acl.init()
def work(n):
    acl.rt.set_device(0)
    for _ in range(1000 + n): acl.rt.get_run_mode()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""", NPU_CLOCK="hybrid")
    assert ran.code == 0, ran.err
    trace = profiler.open(ran.profs[0])
    mine = trace.api_named("aclrtGetRunMode")
    threads, calls = np.unique(trace.api["thread"][mine], return_counts=True)
    assert len(threads) == 4 and sorted(calls.tolist()) == [1000, 1001, 1002, 1003]


def test_an_exception_in_a_callback_costs_no_row(start: Run) -> None:
    ran = recorded(start, script="""
import acl, threading
acl.init(); acl.rt.set_device(0)
context, _ = acl.rt.get_context()
stream, _ = acl.rt.create_stream()
def fails(data):
    acl.rt.get_run_mode()
    raise RuntimeError("mine")
stop = []
def poll():
    acl.rt.set_context(context)
    while not stop: acl.rt.process_report(100)
thread = threading.Thread(target=poll)
thread.start()
acl.rt.subscribe_report(thread.ident, stream)
for n in range(3):
    acl.rt.launch_callback(fails, [n], 1, stream)
print(acl.rt.synchronize_stream(stream))
stop.append(1)
thread.join()
acl.rt.unsubscribe_report(thread.ident, stream)
""")
    assert ran.code == 0 and ran.out == "0\n", ran.err
    assert counts(ran) == [3]
    trace = profiler.open(ran.profs[0])
    assert int(trace.api_named("aclrtLaunchCallback").sum()) == 3 and int(trace.tasks_of("callback").sum()) == 3
    assert not any(m.what == "the end of the capture" for m in trace.missing)


def test_a_disk_that_fills_up_costs_rows_and_nothing_else(start: Run) -> None:
    """The script goes on; what was written is readable; the capture says what is missing, also when it is killed later."""
    ran = recorded(start, script=OPEN + """
import resource, signal, mstx
work(1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
for n in range(6000):
    mstx.mark(f"mark number {n} " + "x" * 100)
    acl.rt.get_run_mode()
print("done", flush=True)
os._exit(0)
""")
    assert ran.code == 0 and ran.out == "done\n", ran.err
    trace = profiler.open(ran.profs[0])
    assert 4000 < len(trace.api) < 6000
    lost = {m.what.rpartition(" ")[2] for m in trace.missing if "disk was full" in m.why}
    assert {"api", "strings"} <= lost
    names = [trace.strings[int(n)] for n in trace.marker["name"]]
    assert all(name in ("", f"mark number {n} " + "x" * 100) for n, name in enumerate(names)) and names[2000]


@pytest.mark.slow
def test_the_storage_limit_of_a_run_is_told_and_a_wrong_one_refused(start: Run, tmp_path: Path) -> None:
    for text in ("1GB", "199MB", "x"):
        ran = start("msprof", "run", "--storage-limit", text, "script.py", script=OPEN + "work(1)\n")
        assert ran.code == 2 and ran.err.splitlines()[0] == f"msprof: --storage-limit={text} is no size"
    ran = start("msprof", "run", "--no-summary", "--storage-limit", "200MB", "script.py", script=OPEN + "work(1)\n")
    assert ran.code == 0 and profiler.open(ran.profs[0]).meta["collection"] == {"storage_limit": 200 << 20}
