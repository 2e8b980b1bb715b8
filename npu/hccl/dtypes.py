"""Element types and reductions of HCCL by number (HcclDataType, HcclReduceOp), and which of them a chip can add up."""

from __future__ import annotations

from typing import NamedTuple


class DType(NamedTuple):
    """name as profiles show it; size in bytes; numpy: its type there, "" for types that are only moved."""

    name: str
    size: int
    numpy: str


DTYPES: dict[int, DType] = {
    0: DType("INT8", 1, "int8"),
    1: DType("INT16", 2, "int16"),
    2: DType("INT32", 4, "int32"),
    3: DType("FP16", 2, "float16"),
    4: DType("FP32", 4, "float32"),
    5: DType("INT64", 8, "int64"),
    6: DType("UINT64", 8, "uint64"),
    7: DType("UINT8", 1, "uint8"),
    8: DType("UINT16", 2, "uint16"),
    9: DType("UINT32", 4, "uint32"),
    10: DType("FP64", 8, "float64"),
    11: DType("BFP16", 2, "bfloat16"),
    12: DType("INT128", 16, ""),
    14: DType("HIF8", 1, ""),
    15: DType("FP8E4M3", 1, ""),
    16: DType("FP8E5M2", 1, ""),
    17: DType("FP8E8M0", 1, ""),
}
SUM, PROD, MAX, MIN = range(4)
REDUCTIONS = ("sum", "prod", "max", "min")
REDUCED = frozenset(("int8", "int16", "int32", "int64", "float16", "float32", "bfloat16"))
REDUCED_950 = REDUCED | {"uint64", "float64"}
NO_PRODUCT = frozenset(("int16", "bfloat16"))  # on A2 and A3 (unverified)


def by_name(name: str) -> int:
    """The number of a type by its name in hccl_test (fp32, int8 ...). KeyError."""
    return {d.name.lower(): number for number, d in DTYPES.items()}[name.lower()]


def can_reduce(dtype: int, reduction: int, family: str) -> bool:
    """Whether a chip of that family adds this type up with that reduction."""
    name = DTYPES[dtype].numpy
    if name not in (REDUCED_950 if family == "950" else REDUCED) or (family == "910" and name == "bfloat16"):
        return False
    return not (reduction == PROD and family in ("910B", "910_93") and name in NO_PRODUCT)
