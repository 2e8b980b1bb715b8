"""The footer of a report: the measured errors of the families that a profile's kernels come from."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import profiler
from npu.cost import errors
from profiler.analysis.run import report as judge
from profiler.findings import ModelError
from profiler.report.json_report import to_json
from profiler.report.model_errors import sentence
from profiler.report.terminal import print_report
from profiler.report.verdict import verdict
from profiler.texts import label

STEP = Path(__file__).parents[2] / "data" / "known_step"


@pytest.mark.parametrize("op, dtype, family", [
    ("MatMulV3", "FLOAT16", "matmul"), ("MatMulV2", "FLOAT", "matmul_fp32"), ("BatchMatMulV2", "INT8", "matmul_int8"),
    ("QuantBatchMatmulV3", "INT8", "matmul_int8"), ("Conv2DBackpropInput", "FLOAT", "conv"), ("Add", "FLOAT", "elementwise"),
    ("ConvTranspose2D", "FLOAT", "other"), ("SoftmaxV2", "FLOAT16", "row"), ("MyOwnOperator", "FLOAT", "other"),
    ("FlashAttentionScore", "BF16", "attention_kernel"), ("Transpose", "", "layout"),
])
def test_families(op, dtype, family):
    assert errors.family(op, dtype) == family
    assert errors.family(op, dtype, aicpu=True) == "ai_cpu"


def test_every_family_has_errors_and_a_name_in_both_languages():
    named = {f for _, f in errors.CUBE} | set(errors.PRODUCTS.values()) | {f for _, f in errors.operators().values()} | {"ai_cpu"}
    assert named <= set(errors.table())
    assert all(label("family", f, lang) for f in errors.table() for lang in ("en", "zh"))


def test_the_families_of_a_profile_by_their_share():
    trace = profiler.open(STEP)
    report = judge(trace)
    found = {e.family: e for e in report.model_errors}
    task = trace.task
    kernels = trace.tasks_of("kernel", "aicpu")
    time = (task["end"] - task["start"]).astype(float)
    products = np.array([trace.strings[i].startswith("MatMul") for i in task["op_type"].tolist()])
    assert found["matmul_fp32"].share == pytest.approx(time[kernels & products].sum() / time[kernels].sum(), rel=0.01)
    shares = [e.share for e in report.model_errors]
    assert shares == sorted(shares, reverse=True) and 0.9 < sum(shares) <= 1
    assert found["conv"].median == errors.table()["conv"].median
    said = sentence(report.model_errors, "en")
    console = Console(file=StringIO(), width=2000)
    print_report(report, console)
    assert said in console.file.getvalue()
    assert verdict(report, 0, lambda f: ("", ""))["modelErrors"] == said
    assert to_json(report)["model_errors"][0]["family"] == report.model_errors[0].family


def test_the_sentence():
    some = [ModelError("matmul", 0.75, 0.082, 0.107), ModelError("moe", 0.25, 0.086, None)]
    assert sentence(some, "en").endswith("matmul 8.2 % (11 %) for 75 % of the kernel time; MoE layer 8.6 % (not known) for 25 % of the kernel time.")
    assert "矩阵乘 8.2 %（11 %）" in sentence(some, "zh")
    assert sentence([], "en") == ""
