"""Story: several users on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "samples" / "shared-machine"


def test_codes_causes_and_cures(start: Run) -> None:
    ran = start("python", str(SAMPLE / "run.py"), timeout=120)
    assert ran.code == 0, ran.out + ran.err
    parts = ran.out.split("$ ")
    full, asked, wrong, told, few, right, mended, limited = parts[1:]
    assert "8 devices to be seen\n[exit code 1]" in full
    assert "malloc on device 0 failed, error code 507011" in ran.err and "(public header: 207001), cause no_memory" in ran.err
    assert "memory_full: NPU 0: 96 %" in asked and "Free (healthy, idle, nobody on them): NPU 1, 2, 3, 4, 5, 6, 7." in asked
    assert "1 devices to be seen\ndevice 0: 20 GiB\n[exit code 1]" in wrong
    assert "set_device(1) failed, error code 107001" in ran.err
    assert "export ASCEND_RT_VISIBLE_DEVICES=1,3" in told
    assert "few_files: ulimit -n is 1024" in few
    assert "2 devices to be seen\ndevice 0: 20 GiB\ndevice 1: 20 GiB\n[exit code 0]" in right
    assert "device 1: 20 GiB\ndevice 2: 20 GiB\n[exit code 0]" in mended
    assert "cause memory_limit: This process may hold 42949672960 bytes on a device (ACL_RT_MEM_MAX_SIZE)" in mended
    assert "device 0: 20 GiB\ndevice 1: 20 GiB\n[exit code 0]" in limited
