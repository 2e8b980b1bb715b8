"""Operator types of files that hold none: the names of kernels tell them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from profiler import open as open_trace
from profiler.analysis import analyze
from profiler.read.op_types import type_of
from profiler.trace import Trace

DATA = Path(__file__).parents[2] / "data"
KNOWN_STEP = DATA / "known_step" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"


@pytest.mark.parametrize(
    ("name", "op_type"),
    [
        ("aclnnMuls_MulAiCore_Mul", "Mul"),
        ("aclnnInplaceCopy_TensorMoveAiCore_TensorMove", "TensorMove"),
        ("aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3"),
        ("aclnnMm_MatMulCommon_MemSet", "MemSet"),
        ("trans_TransData_12", "TransData"),
        ("Conv2D12", "Conv2D"),
        ("Conv2DBackpropFilter6_MemSet", "MemSet"),
        ("LpNormUpdateV2159", "LpNormUpdateV2"),
        ("L2Loss5", "L2Loss"),
        ("RmsNorm", "RmsNorm"),
        ("atomic_memset-1_146_2208226_8_0", "MemSet"),
        ("Conv_0Relu_1", ""),  # nodes of a converted model have names of their own
        ("PartitionedCall_Conv_12", ""),
        ("void at::native::elementwise_kernel<128, 4>", ""),
        ("", ""),
    ],
)
def test_names(name: str, op_type: str) -> None:
    assert type_of(name) == op_type


def without_types(path: Path, name: str = "{}") -> Path:
    """The real file as Level0 writes it: name and times only."""
    rows = list(csv.DictReader(io.StringIO(KNOWN_STEP.read_text(encoding="utf-8"))))
    kept = ["Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, kept, extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"Name": name.format(row["Name"]), "Type": "N/A", "Accelerator Core": "N/A"})
    return path


def types(trace: Trace) -> list[str]:
    kernels = trace.tasks_of("kernel", "aicpu").nonzero()[0]
    return [trace.strings[int(n)] for n in trace.task["op_type"][kernels]]


def test_all_kernels_of_a_real_step_get_the_types_it_was_stripped_of(tmp_path: Path) -> None:
    real, bare = open_trace(KNOWN_STEP), open_trace(without_types(tmp_path / "kernel_details.csv"))
    assert len(types(real)) == 187
    assert types(bare) == types(real)
    assert [m.what for m in bare.missing if m.what == "operator types"] == ["operator types"]
    assert [m for m in real.missing if m.what == "operator types"] == []


def test_the_layout_conversions_are_found_without_types(tmp_path: Path) -> None:
    said = {f.id: f for f in analyze(open_trace(without_types(tmp_path / "kernel_details.csv"))).findings}
    assert said["layout-storm"].facts["top_count"] == 57
    assert said["layout-storm"].facts["top_ns"] == 1_423_202


def test_names_of_another_rule_are_not_believed(tmp_path: Path) -> None:
    trace = open_trace(without_types(tmp_path / "kernel_details.csv", "node_{}_0"))
    assert (trace.task["op_type"] < 0).all()
    assert [m for m in trace.missing if m.what == "operator types"] == []
