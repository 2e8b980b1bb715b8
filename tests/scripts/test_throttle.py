"""A device that gives up clock: the capture, the log and the analyzer tell it, whether the room is warm or a fault was planned."""

from __future__ import annotations

import json

import pytest

from tests.scripts.conftest import Run

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


@pytest.mark.parametrize(("variable", "least"), [({"NPU_AMBIENT": "75"}, 900), ({"NPU_FAULT": "slow:factor=2"}, 900)])
def test_a_lower_clock_is_recorded_logged_and_found(start: Run, variable: dict[str, str], least: int) -> None:
    ran = start("msprof", "run", "--clock", "model", "script.py", script=SCRIPT, env={**variable, "NPU_COMPUTE": "off"})
    assert ran.code == 0, ran.err
    report = json.loads(start("msprof", "analyze", str(ran.profs[0]), "--json").out)
    first = report["findings"][0]
    assert first["id"] == "frequency-drop"
    assert first["facts"]["least_mhz"] == least and first["facts"]["rated_mhz"] == 1800
    assert first["gain"]["share"] > 0.3
    log = "".join(p.read_text() for p in (ran.folder / "ascend" / "log").rglob("*.log"))
    assert f"AI Core frequency of device 0 is limited: {least} MHz of 1800 MHz" in log
