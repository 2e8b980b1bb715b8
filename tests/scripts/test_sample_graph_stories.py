"""Stories of the graph engine: the whole life of a model, three writes against one, dynamic shape and its cure."""

import re
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.slow
def test_the_whole_life_of_a_model(start):
    ran = start("python", str(SAMPLES / "first-model" / "run.py"), timeout=120)
    assert ran.code == 0, ran.out + ran.err
    life = ran.out.partition("infer.py first.om")[2].partition("[exit code 0]")[0]
    codes = re.findall(r"^\S.{27} (\d+)$", life, re.MULTILINE)
    assert len(codes) >= 30 and set(codes) == {"0"}
    assert life.count("largest difference from onnxruntime 0.00") == 2
    assert "built for Ascend310P3; this device is an Ascend910B3" in ran.out


@pytest.mark.slow
def test_three_writes_to_memory_against_one(start):
    ran = start("python", str(SAMPLES / "three-writes" / "run.py"), timeout=120)
    assert ran.code == 0, ran.out + ran.err
    unfused, fused = (re.findall(r"[\d.]+", line) for line in ran.out.splitlines()[:2])
    assert (unfused[0], fused[0]) == ("24", "8")
    # 24 results of 64*56*56 halves are read and written, and 8; filters 8 * 9 * 64 * 64 halves; casts and conversions at the ends
    assert float(unfused[1]) == pytest.approx(23.9, abs=0.1) and float(fused[1]) == pytest.approx(11.0, abs=0.1)
    assert float(fused[2]) < 0.65 * float(unfused[2])


@pytest.mark.slow
def test_an_open_shape_is_nearly_ten_times_slower_than_gears(start):
    ran = start("python", str(SAMPLES / "dynamic-shape" / "run.py"), timeout=120)
    assert ran.code == 0, ran.out + ran.err
    factor = float(re.search(r"is ([\d.]+) times slower", ran.out)[1])
    assert 7 < factor < 12
