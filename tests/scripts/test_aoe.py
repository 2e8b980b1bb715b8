"""aoe as a user runs it: the bank atc uses, the report, times on the device, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import profiler
from npu import om
from npu.cost import kernel
from npu.soc import find
from tests.made_onnx import model, node

pytestmark = pytest.mark.slow  # many starts of programs

SAMPLE = Path(__file__).parents[2] / "samples" / "own-operator" / "in_a_model.py"
ATC = ("atc", "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend910B3")
RUN = """
import numpy as np
from npu.session import InferenceSession
with InferenceSession("net.om") as session:
    session.run(None, {"x": np.zeros((1, 65536), np.float16)})
"""


@pytest.fixture
def net(tmp_path):
    made = model([node("Sigmoid", "x", "a"), node("Sqrt", "a", "y")], "y", {}, {"x": [1, 65536]}, types={"x": 10, "y": 10})
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    return tmp_path


def measured(start, number: int) -> int:
    """ns all kernels take in the next recorded run."""
    ran = start("msprof", "run", "--clock", "model", "--no-summary", "--output", f"out{number}", "script.py", script=RUN)
    assert ran.code == 0, ran.err
    task = (trace := profiler.open(ran.folder / f"out{number}")).task
    rows = trace.tasks_of("kernel")
    return int((task["end"] - task["start"])[rows].sum())


@pytest.mark.slow
def test_atc_uses_what_aoe_found_and_the_device_is_faster(start, net):
    assert start(*ATC).code == 0
    plain = sum(kernel(k.work, find("Ascend910B3")).duration for k in om.load(net / "net.om").kernels)
    before = measured(start, 1)
    tuned = start("aoe", "--model", "net.onnx", "--job_type=2")
    assert (tuned.code, tuned.err) == (0, ""), tuned.err  # no progress bar where nobody looks
    said, spent = re.search(r"improved by ([\d.]+)%", tuned.out), re.search(r"^([\d.]+) us before, ([\d.]+) us after", tuned.out, re.M)
    assert said and spent and float(said[1]) > 0
    (report,) = net.glob("aoe_result_opat_*.json")
    basic, told = json.loads(report.read_text())
    facts = told["OPAT"]
    assert basic["basic"]["tuning_name"].startswith("net_") and facts["opat_tuning_result"] == "tuning successful"
    assert facts["model_performance_improvement"] == f"{said[1]}%" and facts["repo_summary"]["repo_add_num"] >= 1
    was, now = (round(facts[f"model_{n}_performance(ms)"] * 1e6) for n in ("baseline", "result"))
    assert was == plain == before and now < was and f"{(was / now - 1) * 100:.2f}" == said[1]
    (made,) = net.glob("aoe_workspace/net_*/tunespace/result/net_*_tune.om")
    assert sum(kernel(k.work, find("Ascend910B3")).duration for k in om.load(made).kernels) == now
    assert (net / "Ascend/latest/data/aoe/custom/op/Ascend910B3/tiling.json").is_file()
    assert start(*ATC).code == 0
    assert measured(start, 2) == now
    again = start("aoe", "--model", "net.onnx", "--job_type=2")
    assert "improved by 0.00%" in again.out and "had their schedule from the bank" in again.out


@pytest.mark.parametrize("words, part", [
    (("--model=net.onnx",), "--job_type is missing"),
    (("--model=net.onnx", "--job_type=1"), "subgraph"),
    (("--model=net.onnx", "--job_type=4"), "gradient"),
    (("--model=net.onnx", "--job_type=9"), "no such job"),
    (("--job_type=2",), "--model is missing"),
    (("--job_type=2", "--model=none.onnx"), "none.onnx"),
    (("--job_type=2", "--model=net.onnx", "--precision_mode_v2=fp16"), "--precision_mode_v2"),
    (("--job_type=2", "--model=net.onnx", "--op_bank_path=x"), "--op_bank_path"),
    (("--job_type=2", "--model=net.onnx", "--colour=red"), "--colour"),
    (("--job_type=2", "--model=net.onnx", "--soc_version=Ascend1"), "Ascend1"),
    (("--job_type=2", "--model=net.onnx", "--input_shape=x:-1,65536"), "open shapes"),
    (("--job_type=2", "--model=net.onnx", "--output=/proc/none/x"), "/proc/none"),
])
def test_refusals_are_two_lines(start, net, words, part):
    ran = start("aoe", *words)
    assert ran.code == 2 and not ran.out
    first, second = ran.err.splitlines()
    assert first.startswith("aoe: ") and part in first and second.startswith("  next: ")


@pytest.mark.slow
def test_a_damaged_bank_is_named_by_both(start, net):
    bank = net / "bank" / "op" / "Ascend910B3" / "tiling.json"
    bank.parent.mkdir(parents=True)
    bank.write_text('{"version": 1')
    env = {"TUNE_BANK_PATH": str(net / "bank")}
    tuned, converted = start("aoe", "--model=net.onnx", "--job_type=2", env=env), start(*ATC, env=env)
    assert tuned.code == 2 and str(bank) in tuned.err and len(tuned.err.splitlines()) == 2
    assert converted.code == 255 and "E21002" in converted.out and str(bank) in converted.out


def test_help_names_the_jobs(start):
    ran = start("aoe", "--help")
    assert ran.code == 0 and "--job_type" in ran.out and "TUNE_BANK_PATH" in ran.out
    assert start("npuscope", "aoe", "--help").out == ran.out
    assert start("aoe").code == 2


@pytest.mark.slow
def test_an_operator_of_ones_own_runs_and_is_tuned(start):
    ran = start("python", "-m", "npu", str(SAMPLE), env={"PYTHONPATH": str(SAMPLE.parents[2])})
    assert ran.code == 0, ran.err
    assert "computed as written" in ran.out
    row = re.search(r"^own +AddRelu +1 +([\d.]+) +([\d.]+) ", ran.out, re.M)
    assert row and float(row[1]) > 10 * float(row[2])  # runs of 32 bytes without a second buffer
