"""Live views of others run on our npu-smi and see the devices and processes that are there."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.contract.peers import python_of
from tests.scripts.conftest import Run, start  # noqa: F401 - a fixture

pytestmark = [pytest.mark.peer, pytest.mark.slow]
# The tool runs while the script holds memory on a device; it gets a wide terminal and no clock of the simulator.
WHILE = """
import acl, os, subprocess, sys
acl.init(); acl.rt.set_device(3)
p, _ = acl.rt.malloc(4 << 30, 0)
env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"LINES": "200", "COLUMNS": "200"}
tool = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)
print(os.getpid()); print(tool.stdout)
"""


def seen(start: Run, *words: str) -> tuple[int, str]:  # noqa: F811
    tool = python_of("smi-views").parent / words[0]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = start("python", "-m", "npu", "script.py", str(tool), *words[1:], script=WHILE, env={"PATH": path}, timeout=120)
    assert ran.code == 0, ran.err
    pid, _, text = ran.out.partition("\n")
    return int(pid), text


def test_nputop(start: Run) -> None:  # noqa: F811
    pid, text = seen(start, "nputop", "--json", "--backend", "smi", "--timeout", "60")
    told = json.loads(text)
    assert [d["id"] for d in told["devices"]] == list(range(8)) and {d["health"] for d in told["devices"]} == {"OK"}
    assert [(p["device_id"], p["pid"]) for p in told["processes"]] == [(3, pid)]
    assert told["processes"][0]["memory"] >= 4 << 30 and not told["errors"]


def test_ascendtop(start: Run) -> None:  # noqa: F811
    pid, text = seen(start, "ascendtop", "--once", "--no-color", "--no-alt-screen", "--backend", "npu-smi")
    assert len(re.findall(r"│ +\d+ +910B3 +OK │", text)) == 8
    assert re.findall(rf"│ +3 +.*\b{pid}\b", text), text[-1500:]
