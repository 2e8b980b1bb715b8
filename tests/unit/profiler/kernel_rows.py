"""Kernels for tests of the rules on operators. Chip 910B3: 20 cube and 40 vector cores, 1600 GB/s, 1800 MHz. Times in us."""

from __future__ import annotations

from npu import cost, soc
from npu.cost import Work
from tests.made import Made
from tests.unit.profiler.said import said

Kernel = tuple[str, float, dict[str, object]]
CHIP = soc.find("Ascend910B3")
OTHER: Kernel = ("Add", 100.0, {"in_shapes": "64", "in_dtypes": "FLOAT16", "out_shapes": "64", "out_dtypes": "FLOAT16"})


def gain(made: Made, rule: str) -> float:
    (finding,) = said(made, rule)
    assert finding.gain is not None
    return finding.gain.ns / 1000


def model_us(work: Work) -> float:
    return cost.kernel(work, CHIP).duration / 1000


def unary(op: str, us: float, shape: str, dtype: str, out: str = "", **more: object) -> Kernel:
    facts = {"in_shapes": shape, "in_dtypes": dtype, "in_formats": "ND", "out_shapes": shape, "out_dtypes": out or dtype}
    return op, us, {**facts, "out_formats": "ND", **more}


def matmul(us: float, m: int, k: int, n: int, **more: object) -> Kernel:
    facts = {"in_shapes": f"{m},{k};{k},{n}", "in_dtypes": "FLOAT16;FLOAT16", "in_formats": "ND;ND", "out_shapes": f"{m},{n}"}
    return (
        "MatMulV2",
        us,
        {**facts, "out_dtypes": "FLOAT16", "out_formats": "ND", "task_type": "AI_CORE", "block_dim": 20, **more},
    )


def matmul_us(m: int, k: int, n: int) -> float:
    return model_us(Work("matmul", "MatMulV2", "float16", (1, m, n, k), 2 * (m * k + k * n), 2 * m * n))
