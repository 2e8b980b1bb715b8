"""A device that gives up clock: the capture, the log and the analyzer tell it, whether the room is warm or a fault was planned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scripts.conftest import Ran, Run

SCRIPT = """
import acl, numpy as np
acl.init(); acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
n = 16384
a, _ = acl.rt.malloc(n * n * 2, 0)
c, _ = acl.rt.malloc(n * n * 2, 0)
one, zero = np.array([1, 0], np.float16), np.zeros(1, np.float16)
for _ in range(400):  # 38 ms each at the rated clock
    ret = acl.blas.gemm_ex(0, 0, 0, n, n, n, one.ctypes.data, a, -1, 1, a, -1, 1, zero.ctypes.data, c, -1, 1, 0, stream)
    assert ret == 0
acl.rt.synchronize_stream(stream)
"""


def recorded(start: Run, variable: dict[str, str]) -> tuple[Ran, dict[str, Any]]:
    ran = start("msprof", "run", "--clock", "model", "script.py", script=SCRIPT, env={**variable, "NPU_COMPUTE": "off"})
    assert ran.code == 0, ran.err
    report: dict[str, Any] = json.loads(start("msprof", "analyze", str(ran.profs[-1]), "--json").out)
    return ran, report


def length_us(report: dict[str, Any]) -> float:
    return float(report["breakdown"][0]["computing_us"])


@pytest.mark.slow
def test_a_lower_clock_is_recorded_logged_and_found_with_what_it_costs(start: Run) -> None:
    _, usual = recorded(start, {})
    assert "frequency-drop" not in {f["id"] for f in usual["findings"]}
    for variable in ({"NPU_AMBIENT": "75"}, {"NPU_FAULT": "slow:factor=2"}):
        ran, report = recorded(start, variable)
        first = report["findings"][0]
        assert first["id"] == "frequency-drop"
        assert (first["facts"]["least_mhz"], first["facts"]["rated_mhz"]) == (900, 1800)
        assert length_us(report) - first["gain"]["us"] == pytest.approx(length_us(usual), rel=0.01)
        log = "".join(p.read_text() for p in (ran.folder / "ascend" / "log").rglob("*.log"))
        assert "AI Core frequency of device 0 is limited: 900 MHz of 1800 MHz" in log
