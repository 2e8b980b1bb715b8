"""The model against measured kernels: the medians may get better, not worse."""

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "tests/data/calibration_sample.csv"
BENCH = ROOT / "bench/calibration.py"

# family -> median of |modelled - measured| / measured over the sample, rounded up to a percent
MEDIANS = {
    "attention_decode": 0.22, "attention_kernel": 0.16, "attention_prefill": 0.17, "conv": 0.20, "elementwise": 0.17,
    "fill": 0.09, "grouped_matmul": 0.32, "layout": 0.23, "matmul": 0.15, "matmul_fp32": 0.10, "matmul_int8": 0.10, "moe": 0.08,
    "optimizer": 0.23, "row": 0.39, "transcendental": 0.09,
}


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibration", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_medians_do_not_get_worse(bench):
    with SAMPLE.open(encoding="utf-8", newline="") as stream:
        found, left = bench.errors(csv.DictReader(stream))
    figures = bench.summary(found)
    assert set(figures) == set(MEDIANS)
    assert {f: round(v["median"], 3) for f, v in figures.items() if v["median"] > MEDIANS[f]} == {}
    assert sum(left.values()) == 4  # rows of operators without a family stay in the sample
    assert sum(map(len, found.values())) + 4 == 200


def test_a_row_becomes_work(bench):
    row = {
        "op_type": "MatMulV3", "input_shapes": "8192,1536;8192,4096", "input_dtypes": "DT_BF16;DT_BF16",
        "output_shapes": "1536,4096", "task_type": "AI_CORE", "method": "profiler kernel_details row", "kernels": "MatMulV3",
        "attrs": "",
    }
    made = bench.case(row)
    assert made.family == "matmul"
    assert made.overhead_us == 0
    (work,) = made.works
    assert work.dims == (1, 1536, 4096, 8192)
    assert work.read_bytes == 2 * 8192 * (1536 + 4096)
    assert bench.case(row | {"method": "event timing over graph replay"}).overhead_us == pytest.approx(4.05)
    assert bench.case(row | {"op_type": "Unheard"}) is None


def test_command_prints_the_same_facts_both_ways():
    text, data = (
        subprocess.run([sys.executable, BENCH, SAMPLE, *more], capture_output=True, text=True, check=True).stdout
        for more in ((), ("--json",)))
    figures = json.loads(data)
    assert set(figures["families"]) == set(MEDIANS)
    assert all(f"{family} " in text for family in MEDIANS)
    assert "4 rows of 4 operators not mapped" in text
