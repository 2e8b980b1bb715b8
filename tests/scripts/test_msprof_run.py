"""`msprof run` as a user runs it: pass-through, captures that survive, identical tables, real layout."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import profiler
from tests.scripts.conftest import BIN, Run

COPIES = """
import acl, sys, time
acl.init(); acl.rt.set_device(0)
p, _ = acl.rt.malloc(1 << 20, 0); h, _ = acl.rt.malloc_host(1 << 20)
s, _ = acl.rt.create_stream()
for n in range(int(sys.argv[1])):
    acl.rt.memcpy_async(p, 1 << 20, h, 1 << 20, 1, s)
acl.rt.synchronize_stream(s)
print("done", *sys.argv[2:])
acl.rt.reset_device(0); acl.finalize()
"""


def test_output_arguments_and_exit_code_are_the_scripts_own(start: Run) -> None:
    ran = start("msprof", "run", "--no-summary", "script.py", "5", "--output", "x", script=COPIES + "sys.exit(7)\n")
    assert (ran.code, ran.out) == (7, "done --output x\n")
    trace = profiler.open(ran.profs[0])
    assert len(trace.api) == 13 and int(trace.tasks_of("copy").sum()) == 5


def test_every_call_has_its_call_site_and_every_task_its_call(start: Run) -> None:
    ran = start("msprof", "run", "--clock", "model", "script.py", "3", script=COPIES)
    trace = profiler.open(ran.profs[0])
    sites = [trace.strings[s] for s in trace.api["site"]]
    assert all(s.startswith(str(ran.folder / "script.py:")) for s in sites)
    launched = trace.api["correlation"][trace.api_named("aclrtMemcpyAsync")]
    assert sorted(launched) == sorted(trace.task["correlation"]) and len(set(launched)) == 3


def test_two_runs_under_the_model_clock_give_the_same_tables(start: Run) -> None:
    for _ in range(2):
        start("msprof", "run", "--clock", "model", "--no-summary", "script.py", "20", script=COPIES)
    ran = start("python", "-c", "pass")
    first, second = (p / "npuscope" for p in ran.profs)
    names = [*sorted(f.name for f in first.glob("*.seg")), "strings.bin"]
    assert names == [*sorted(f.name for f in second.glob("*.seg")), "strings.bin"]
    assert all((first / n).read_bytes() == (second / n).read_bytes() for n in names)


def test_the_real_layout_is_written_also_when_the_script_fails(start: Run) -> None:
    ran = start("msprof", "run", "--no-summary", "script.py", "2", script=COPIES + "raise ValueError('mine')\n")
    assert ran.code == 1 and "ValueError: mine" in ran.err
    prof = ran.profs[0]
    names = {f.name.rpartition("_")[0] for f in (prof / "mindstudio_profiler_output").glob("*_*")}
    assert {"msprof", "api_statistic", "task_time"} <= names
    assert json.loads((prof / "host" / "info.json").read_text())["hostname"] == os.uname().nodename
    assert (prof / "device_0" / "info.json.0").is_file()


def test_a_killed_script_loses_no_completed_call(start: Run, tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(COPIES.replace("print(", "print('up', flush=True); time.sleep = __import__('select').select\nprint(") + """
import os
print("calls", flush=True)
for n in range(10**9):
    acl.rt.get_run_mode()
    if n % 1000 == 0:
        os.write(1, b"%d\\n" % n)
""")
    env = {**os.environ, "NPU_STATE_DIR": str(tmp_path / "state"), "NPU_CLOCK": "model"}
    child = subprocess.Popen([BIN / "msprof", "run", "--no-summary", "--output", str(tmp_path), str(script), "1"], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = 0
    for line in child.stdout:
        if line.strip().isdigit():
            seen = int(line)
            if seen >= 5000:
                break
    meta = next(tmp_path.glob("PROF_*/npuscope/meta.json"))
    os.kill(json.loads(meta.read_text())["pid"], signal.SIGKILL)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGKILL
    trace = profiler.open(meta.parent.parent)
    assert int(trace.api_named("aclrtGetRunMode").sum()) >= seen
    assert any("killed" in m.why for m in trace.missing)
    assert list(meta.parent.parent.glob("mindstudio_profiler_output/msprof_*.json"))


def test_ctrl_c_ends_the_script_and_still_exports(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(COPIES + "print('waiting', flush=True)\nimport select\nselect.select([], [], [], 60)\n")
    env = {**os.environ, "NPU_STATE_DIR": str(tmp_path / "state")}
    child = subprocess.Popen([BIN / "msprof", "run", "--no-summary", "--output", str(tmp_path), str(script), "1"], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while (line := child.stdout.readline()) != "waiting\n":
        assert line, child.stderr.read()
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert err.count("Traceback") == 1 and "KeyboardInterrupt" in err  # the script's own
    assert list(tmp_path.glob("PROF_*/mindstudio_profiler_output/msprof_*.json"))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("run", "missing.py"), "there is no script missing.py"),
        (("run", "--clock", "sundial", "script.py"), "--clock=sundial does not exist"),
        (("run", "--soc", "Ascend999", "script.py"), "--soc=Ascend999 is no known chip"),
        (("analyze", "nowhere"), "there is no nowhere"),
        (("analyze", "state"), "the folder state is empty"),
    ],
)
def test_mistakes_are_two_lines(start: Run, words: tuple[str, ...], what: str) -> None:
    start("python", "-c", "import os; os.makedirs('state', exist_ok=True)", script="pass")
    ran = start("msprof", *words)
    lines = ran.err.splitlines()
    assert ran.code == 2 and len(lines) == 2 and lines[0].startswith("msprof: ") and what in lines[0] and lines[1].startswith("  next: ")


def test_a_script_that_never_calls_acl_leaves_nothing_and_says_so(start: Run) -> None:
    ran = start("msprof", "run", "script.py", script="print(1)")
    assert (ran.code, ran.out) == (0, "1\n") and "never called acl" in ran.err and not ran.profs


def test_a_full_disk_is_an_error_and_not_a_signal(start: Run, tmp_path) -> None:
    """The script goes on; the capture is readable and says what is missing."""
    body = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\nimport signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    ran = start("msprof", "run", "--no-summary", "script.py", "9000", script=body + COPIES)
    assert ran.code == 0 and ran.out == "done\n"
    trace = profiler.open(ran.profs[0])
    assert 0 < len(trace.api) < 9000
    assert any("disk was full" in m.why for m in trace.missing)


def test_a_cut_capture_gives_the_rows_it_has(start: Run) -> None:
    ran = start("msprof", "run", "--no-summary", "script.py", "50", script=COPIES)
    folder = ran.profs[0] / "npuscope"
    whole = profiler.open(ran.profs[0])
    segment = folder / "api.0000.seg"
    with segment.open("r+b") as file:
        file.truncate(20 * (segment.stat().st_size // 4096) + 7)
    cut = profiler.open(ran.profs[0])
    assert len(cut.api) == 20 and np.array_equal(cut.api["start"], whole.api["start"][:20])
    (folder / "strings.bin").write_bytes((folder / "strings.bin").read_bytes()[:-3])
    (folder / "meta.json").write_text("{")
    broken = profiler.open(ran.profs[0])
    assert {m.what for m in broken.missing} >= {"meta.json", "the last text"}


def test_python_m_npu_runs_a_script_unrecorded(start: Run) -> None:
    ran = start("python", "-m", "npu", "script.py", "2", script=COPIES)
    assert ran.out == "done\n" and not ran.profs and sys.version


@pytest.mark.slow
def test_work_that_is_slower_here_than_on_the_device_is_said_under_realtime(start):
    """A copy on the device is over in half a millisecond there; this host moves its bytes in many times that."""
    script = """
import acl
acl.init(); acl.rt.set_device(0)
size = 1 << 28
a, _ = acl.rt.malloc(size, 0); b, _ = acl.rt.malloc(size, 0)
acl.rt.memset(a, size, 1, size); acl.rt.memcpy(b, size, a, size, 3)
"""
    said = start("msprof", "run", "--clock", "realtime", "script.py", script=script).err
    assert re.search(r"real time ran up to [0-9.]+ (ms|s) ahead of the simulated one", said)
    assert "ran up to" not in start("msprof", "run", "--clock", "model", "script.py", script=script).err
