"""The model against measured kernels: the medians may get better, not worse."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.bench_script import bench_script

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "tests/data/calibration_sample.csv"
BENCH = ROOT / "bench/calibration.py"

# family -> median of |modelled - measured| / measured over the sample, rounded up to a percent
MEDIANS = {
    "attention_decode": 0.08,
    "attention_kernel": 0.10,
    "attention_prefill": 0.03,
    "conv": 0.12,
    "elementwise": 0.09,
    "fill": 0.07,
    "grouped_matmul": 0.13,
    "layout": 0.09,
    "matmul": 0.08,
    "matmul_fp32": 0.17,
    "matmul_int8": 0.10,
    "moe": 0.08,
    "optimizer": 0.02,
    "row": 0.02,
    "transcendental": 0.02,
}
SINGLE = {"chain", "other", "published"}  # families of one row in the sample: nothing to pin


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return bench_script("calibration")


def test_medians_do_not_get_worse(bench):
    with SAMPLE.open(encoding="utf-8", newline="") as stream:
        found, left = bench.errors(csv.DictReader(stream))
    figures = bench.summary(found)
    assert set(figures) == set(MEDIANS) | SINGLE
    assert {f: round(v["median"], 3) for f, v in figures.items() if v["median"] > MEDIANS.get(f, 99)} == {}
    assert not left
    assert sum(map(len, found.values())) == 200


def test_a_row_becomes_work(bench):
    row = {
        "op_type": "MatMulV3",
        "input_shapes": "8192,1536;8192,4096",
        "input_dtypes": "DT_BF16;DT_BF16",
        "output_shapes": "1536,4096",
        "task_type": "AI_CORE",
        "method": "profiler kernel_details row",
        "kernels": "MatMulV3", "duration_us": "500",
        "attrs": "",
    }
    made = bench.case(row)
    assert made.family == "matmul"
    assert made.overhead == ""
    (work,) = made.works
    assert work.dims == (1, 1536, 4096, 8192)
    assert work.read_bytes == 2 * 8192 * (1536 + 4096)
    looped = bench.case(row | {"method": "event timing over graph replay"})
    assert bench.modelled_us(looped, bench.chip_of({"soc": "910B3"})) - bench.modelled_us(
        made, bench.chip_of({"soc": "910B3"})
    ) == (pytest.approx(bench.overheads()["matmul"]))
    assert bench.case(row | {"op_type": "hcom_allReduce_", "task_type": "HCCL"}) is None


def test_command_prints_the_same_facts_both_ways():
    text, data = (
        subprocess.run([sys.executable, BENCH, SAMPLE, *more], capture_output=True, text=True, check=True).stdout
        for more in ((), ("--json",))
    )
    figures = json.loads(data)
    assert set(figures["families"]) == set(MEDIANS) | SINGLE
    assert all(f"{family} " in text for family in MEDIANS)
    assert "0 rows of 0 operators not mapped" in text


@pytest.fixture(scope="module")
def fit(bench: ModuleType) -> ModuleType:
    return bench_script("fit_costs")


def test_a_fit_finds_the_constants_rows_were_made_with(bench, fit):
    """Twelve made-up rows of 3 us + 5 cycles an element: the fit gives back a and c, from a start that has neither."""
    fitting, operators = bench_script("fitting"), bench_script("operator_fits")
    tables = fit.start()
    key = ("vector", "Invented", "")
    truth = tables.vector["vector", "*", ""]._replace(a=3.0, b=0.0, c=5.0, d=0.0, s=0.0)
    rows = []
    for n in range(12):
        row = {
            "op_type": "Invented",
            "input_shapes": f"{100_000 * (2**n)}",
            "input_dtypes": "FLOAT16",
            "output_shapes": "",
            "attrs": "",
            "task_type": "AI_VECTOR_CORE",
            "method": "",
            "kernels": "Inventedx1",
            "soc": "Ascend910B2",
            "source": "here",
        }
        point = fit.points([row | {"duration_us": "1"}])[0]
        made = tables._replace(vector=tables.vector | {key: truth})
        rows.append(row | {"duration_us": f"{fit.modelled(point, made):.4f}"})
    measured = fit.points(rows)
    found = operators.fit_operator(key, measured, tables)
    assert fitting.off(measured, tables) > 0.1
    assert fitting.off(measured, found) < 0.02
    assert found.vector[key].a == pytest.approx(3.0, rel=0.1)


def test_the_error_table_is_that_of_the_constants(fit):
    with fit.ERRORS.open(encoding="utf-8", newline="") as stream:
        rows = {r["family"]: r for r in csv.DictReader(stream)}
    assert set(MEDIANS) <= set(rows)
    assert all(0 <= float(r["median"]) < 1 and int(r["rows"]) > 0 for r in rows.values())
