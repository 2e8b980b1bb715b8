"""How far the model is off, by family of operators: what bench/fit_costs.py measured and data/cost_errors.csv holds."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

FAMILIES = "data/operator_families.csv"
OTHER = "other"
# beginning of an operator's name -> family, for kernels of the cube; the first that fits counts
CUBE = (
    ("WeightQuantBatchMatmul", "matmul_weights_int8"),
    ("QuantBatchMatmul", "matmul_int8"),
    ("GroupedMatmul", "grouped_matmul"),
    ("MatMul", "matmul"),
    ("BatchMatMul", "matmul"),
    ("Gemm", "matmul"),
    ("ConvTranspose", OTHER),
    ("Conv2D", "conv"),
    ("FusedInferAttention", "attention_kernel"),
    ("FlashAttention", "attention_kernel"),
    ("PromptFlashAttention", "attention_kernel"),
    ("IncreFlashAttention", "attention_kernel"),
)
PRODUCTS = {"FLOAT": "matmul_fp32", "INT8": "matmul_int8"}  # element type -> family of a product


class Error(NamedTuple):
    """Median and mean of |modelled - measured| / measured over `rows` kernels the constants were fitted to.

    left_out: the median over kernels of sources that had no part in the fit; None where no other source measured such kernels.
    """

    family: str
    rows: int
    median: float
    mean: float
    left_out_rows: int
    left_out: float | None


@cache
def table() -> dict[str, Error]:
    """Family -> its errors."""
    return {
        r["family"]: Error(
            r["family"],
            int(r["rows"]),
            float(r["median"]),
            float(r["mean"]),
            int(r["left_out_rows"]),
            float(r["left_out_median"]) if r["left_out_median"] else None,
        )
        for r in _rows("data/cost_errors.csv")
    }


@cache
def operators() -> dict[str, tuple[str, str]]:
    """Operator -> (form, family)."""
    return {r["op"]: (r["form"], r["family"]) for r in _rows(FAMILIES)}


def family(op: str, dtype: str = "", aicpu: bool = False) -> str:
    """The family an operator is judged in, by its type as profiles print it and the type of its first input ("FLOAT16")."""
    if aicpu:
        return "ai_cpu"
    cube = next((f for start, f in CUBE if op.startswith(start)), "")
    if cube:
        return PRODUCTS.get(dtype, cube) if cube == "matmul" else cube
    return operators().get(op, ("", OTHER))[1]


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("npu").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
