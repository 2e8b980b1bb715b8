"""This host for the check: the real tool where a driver is loaded, the simulated host elsewhere, and the minimal program."""

from pathlib import Path

import pytest

from cli import this_host
from cli.common import CliError
from diag.check import check
from diag.seen import Seen
from npu.host import read
from npu.host.host import Host

TABLE = Path(__file__).parents[2] / "data" / "npu-smi" / "info_910B4_x2_24.1.rc2_busy.txt"


BUSY = """
print('{"step": "acl.init", "code": 0}')
print('{"step": "acl.rt.set_device", "code": 507033, "message": "busy"}')
"""


@pytest.fixture
def real(monkeypatch, tmp_path):
    """A machine with a driver, whose npu-smi is the given shell script."""

    def go(script):
        tool = tmp_path / "npu-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        monkeypatch.setattr(this_host, "real_driver", lambda: True)
        monkeypatch.setattr(this_host, "next_on_path", lambda name: str(tool))

    return go


def test_on_a_real_machine_the_real_tool_is_asked(real):
    real(f"[ $# = 1 ] && cat {TABLE} || exit 0")
    seen = this_host.look({"HOME": "/root"})
    assert seen.host.source == "this host" and seen.host.simulated is False
    assert [d.name for d in seen.smi.devices] == ["910B4", "910B4"]
    busy = next(v for v in check(seen).verdicts if v.id == "busy_and_free")
    assert busy.facts["free"] == "NPU 1" and busy.facts["busy"] == "NPU 0"


def test_simulation_on_request_although_there_is_a_driver(real, tmp_path):
    real("exit 1")
    seen = this_host.look({"NPU_SIM": "1", "NPU_STATE_DIR": str(tmp_path / "state")})
    assert seen.host.simulated is True and len(seen.smi.devices) == 8


def test_a_tool_that_never_answers_is_told(real, monkeypatch):
    real("sleep 20")
    monkeypatch.setattr(this_host, "TOOL_TIMEOUT", 0.2)
    with pytest.raises(CliError, match="did not answer") as told:
        this_host.look({"HOME": "/root"})
    assert told.value.code == 1 and "reset" in told.value.next


def test_a_missing_tool_is_a_finding(real, monkeypatch):
    real("")
    monkeypatch.setattr(this_host, "next_on_path", lambda name: None)
    assert this_host.look({"HOME": "/root"}).smi.error.cause == "tool_absent"


@pytest.mark.parametrize(("steps", "verdict", "facts"), [
    ("import select; select.select([], [], [], 20)", "probe_broken", {"step": "acl.init", "message": "no answer within 0.5 s"}),
    ("raise ImportError('libascendcl.so: cannot open')", "probe_broken",
     {"step": "import acl", "message": "ImportError: libascendcl.so: cannot open"}),
    (BUSY, "probe_failed", {"step": "acl.rt.set_device", "code": 507033, "message": "busy", "passed": "acl.init"}),
])  # fmt: skip
def test_the_step_that_failed_is_named(monkeypatch, steps, verdict, facts):
    monkeypatch.setattr(this_host, "STEPS", steps)
    if "select" in steps:  # it really waits: a sleep would be simulated
        monkeypatch.setattr(this_host, "PROBE_TIMEOUT", 0.5)
    found = check(this_host.run_probe(Seen(Host("x")))).verdicts
    assert [v.id for v in found] == [verdict]
    assert {k: found[0].facts[k] for k in facts} == facts


def test_this_machine_can_be_read():
    host = read.here({"LD_LIBRARY_PATH": "/usr/lib", "HOME": "/root"})
    assert host.account is not None and host.limits is not None and host.limits.files is not None
    assert host.nodes is not None and host.cpus and host.env == {"LD_LIBRARY_PATH": "/usr/lib", "HOME": "/root"}
