"""Story: converted with 7.0, production runs 6.3."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "samples" / "model-too-new"


def test_it_loads_it_fails_late_and_both_ways_out_are_named(start):
    ran = start("python", str(SAMPLE / "run.py"), timeout=120)
    assert ran.code == 0, ran.out + ran.err
    first, _, second = ran.out.partition("npu-diag check --om")
    lines = first.splitlines()
    for expected in ("load 0", "describe 0", "execute 507033", "execute_async 0", "synchronize_stream 507033"):
        assert expected in lines
    assert (
        "(public header: 507011), cause model_too_new: The model was built by CANN 7.0.0, newer than this host's 6.3.RC2" in first
    )
    assert "ERROR om_newer_than_runtime" in second
    assert "  either: upgrade this host: CANN to 7.0.0 or later, with driver and firmware HDK 23.0.0, 23.0.3" in second
    assert "  or: convert the model again with CANN 6.3.RC2" in second and "--soc_version=Ascend310P3" in second
    assert second.splitlines()[-3] == "result [1.0, 2.0, 3.0, 4.0]"
