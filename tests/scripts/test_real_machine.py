"""On a machine with a real driver: stand-ins for the driver's node, the real tools and the real acl module."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

import profiler
from tests.scripts.conftest import BIN, Run

pytestmark = pytest.mark.slow  # many starts of programs

TOOL = """
#!/bin/sh
echo "real {name}: $*"
exit 7
"""
# The real msprof as far as a launcher sees it: takes --output, makes a PROF folder, runs the rest.
MSPROF = """
#!/bin/sh
out=${1#--output=}
mkdir -p "$out/PROF_000009_20261130120000000_00000001AAAAAAAA/host/data"
echo x > "$out/PROF_000009_20261130120000000_00000001AAAAAAAA/host/data/a.slice_0"
echo "real msprof: $1"
shift
exec "$@"
"""
ACL = """
import sys
from types import ModuleType
class Info: pass
VERSION = "real"
def init(config=None): return 0
def finalize(): return 0
def get_soc_name(): return "Ascend910B4"
rt = ModuleType("acl.rt")
def set_device(device): return 0
def memcpy(dst, room, src, count, kind): return 0
def memcpy_async(dst, room, src, count, kind, stream): return 0
def create_stream(): return 4096, 0
def synchronize_stream(stream): return 507001
def brand_new_call(): raise ValueError("from the real one")
for f in (set_device, memcpy, memcpy_async, create_stream, synchronize_stream, brand_new_call): setattr(rt, f.__name__, f)
util = ModuleType("acl.util")
util.bytes_to_ptr = lambda data: 1
sys.modules["acl.rt"], sys.modules["acl.util"] = rt, util
"""
SCRIPT = """
import acl
print(acl.VERSION, acl.Info.__name__, acl.init())
acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
acl.util.bytes_to_ptr(b"")
acl.rt.memcpy_async(1, 64, 2, 64, 1, stream)
print(acl.rt.synchronize_stream(stream))
try:
    acl.rt.brand_new_call()
except ValueError as error:
    print(error)
"""


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a host whose driver is loaded, whose tools stand behind ours on PATH, and which has the real acl."""
    tools, site, node = tmp_path / "toolkit", tmp_path / "site", tmp_path / "davinci_manager"
    tools.mkdir()
    site.mkdir()
    node.touch()
    for name in ("npu-smi", "atc", "msprof"):
        path = tools / name
        path.write_text((MSPROF if name == "msprof" else TOOL).replace("{name}", name).lstrip())
        path.chmod(0o755)
    (site / "acl.py").write_text(dedent(ACL))
    return {"NPUSCOPE_DRIVER_NODE": str(node), "PATH": f"{BIN}:{tools}:/usr/bin:/bin", "PYTHONPATH": str(site)}


@pytest.mark.parametrize("words", [("npu-smi", "info", "-t", "x"), ("atc", "--model=a.onnx"), ("npu-smi",)])
def test_native_forms_are_handed_on_unchanged(start: Run, machine: dict[str, str], words: tuple[str, ...]) -> None:
    ran = start(*words, env=machine)
    assert (ran.code, ran.out) == (7, f"real {words[0]}: {' '.join(words[1:])}\n")


def test_native_msprof_is_the_real_ones(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "--output=out", "sh", "-c", "exit 3", env=machine)
    assert (ran.code, ran.out) == (3, "real msprof: --output=out\n")


def test_our_verbs_stay_ours(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "analyze", "nothing", env=machine)
    assert ran.code == 2 and "there is no nothing" in ran.err and "real" not in ran.out
    assert "real NPUs" in start("npuscope", "--version", env=machine).out


@pytest.mark.parametrize("how", [("--sim",), ()])
def test_simulation_on_demand(start: Run, machine: dict[str, str], how: tuple[str, ...]) -> None:
    ran = start("npu-smi", "info", "-l", *how, env=machine | ({} if how else {"NPU_SIM": "1"}))
    assert ran.code == 0 and "Total Count" in ran.out and "real" not in ran.out


def test_a_run_records_the_real_acl_inside_the_real_msprof(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "run", "--output", "out", "script.py", script=SCRIPT, env=machine)
    assert ran.code == 0
    assert ran.out.splitlines() == [f"real msprof: --output={ran.folder / 'out'}", "real Info 0", "507001", "from the real one"]
    device, host = ran.profs
    assert f"{device.name} is incomplete" in ran.err and "not exported" in ran.err
    trace = profiler.open(host)
    calls = [trace.strings[n] for n in trace.api["name"]]
    # A helper without a C name is no call of the stack, and a call that raised has no end.
    assert calls == ["aclInit", "aclrtSetDevice", "aclrtCreateStream", "aclrtMemcpyAsync", "aclrtSynchronizeStream"]
    assert trace.api["bytes"].tolist() == [-1, -1, -1, 64, -1] and trace.api["direction"].tolist() == [-1, -1, -1, 1, -1]
    assert trace.api["stream"].tolist() == [-1, -1, -1, 1, 1] and trace.api["blocking"].tolist() == [-1, -1, -1, 0, 1]
    assert trace.api["ret"].tolist() == [0, 0, 0, 0, 507001]
    assert trace.strings[int(trace.api["site"][3])] == f"{ran.folder}/script.py:7"
    assert (trace.api["end"] >= trace.api["start"]).all() and not trace.task
    meta = json.loads((host / "npuscope" / "meta.json").read_text())
    assert (meta["simulated"], meta["soc"]) == (False, "Ascend910B4")
    assert list(host.glob("mindstudio_profiler_output/api_statistic_*.csv"))


def test_stacks_of_the_real_acls_calls(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "run", "--stacks", "--no-summary", "script.py", script=SCRIPT, env=machine | {"PATH": f"{BIN}:/usr/bin:/bin"})
    trace = profiler.open(ran.profs[0])
    assert trace.strings[int(trace.api["stack"][3])] == f"{ran.folder}/script.py:7 <module>"
    assert trace.strings[int(trace.api["site"][3])] == f"{ran.folder}/script.py:7"


def test_without_the_real_msprof_host_times_alone_are_recorded_and_it_says_so(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "run", "--no-summary", "script.py", script=SCRIPT, env=machine | {"PATH": f"{BIN}:/usr/bin:/bin"})
    assert ran.code == 0 and len(ran.profs) == 1 and "only host calls are recorded" in ran.err


def test_options_of_the_simulation_are_refused_there(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "run", "--clock", "model", "script.py", script=SCRIPT, env=machine)
    assert ran.code == 2 and "--clock belongs to the simulation" in ran.err and "--sim" in ran.err


def test_no_acl_on_the_path_is_the_scripts_own_error(start: Run, machine: dict[str, str]) -> None:
    ran = start("msprof", "run", "--no-summary", "script.py", script=SCRIPT, env=machine | {"PYTHONPATH": ""})
    assert ran.code == 1 and "no real module acl on the path" in ran.err


def on_terminal(words: tuple[str, ...], folder: Path, env: dict[str, str]) -> tuple[str, str]:
    """(stdout, stderr) of a command whose stderr is a terminal."""
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND"))}
    done = subprocess.run(
        [BIN / words[0], *words[1:]],
        cwd=folder,
        env={**kept, **env},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=False,
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed: everything was read
        while piece := os.read(ours, 4096):
            said += piece
    os.close(ours)
    return done.stdout, said.decode()


@pytest.mark.parametrize("words", [("npu-smi", "info", "-l"), ("atc", "--help"), ("msprof", "run", "--no-summary", "script.py"),
                                   ("msprof", "--output=out", "python", "script.py")])  # fmt: skip
def test_a_terminal_is_told_that_output_is_simulated(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "script.py").write_text("import acl\nacl.init()\nacl.finalize()\n")
    out, err = on_terminal(
        words, tmp_path, {"NPU_STATE_DIR": str(tmp_path / "state"), "NPUSCOPE_DRIVER_NODE": str(tmp_path / "none")}
    )
    assert err.startswith(f"{words[0]}: simulated by npuscope") and "simulated by npuscope" not in out
