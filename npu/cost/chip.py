"""How fitted constants move from the chips they were measured on to another chip.

Nearly all public measurements are of 24 cube and 48 vector cores at 1.8 GHz with 1.6 TB/s HBM (Ascend910B2 and one A3
die). Rates of the cores follow core count and clock, memory rates the chip's memory bandwidth. For 910A, 310, 310P and
310B no measured kernel is public: their figures are this scaling only (unverified).
"""

from __future__ import annotations

from npu.cost.work import Work
from npu.soc import Soc

REFERENCE_CUBES = 24
REFERENCE_GHZ = 1.8
REFERENCE_GBPS = 1600.0

# Vector lanes are vec_bytes over these: bf16 is computed as fp32, 64-bit types as four passes of it (asc-devkit: 16 lanes).
_LANE_BYTES = {
    "float16": 2,
    "bfloat16": 4,
    "float32": 4,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 16,
    "uint64": 16,
    "float64": 16,
    "complex64": 16,
}
_ITEM_BYTES = _LANE_BYTES | {"bfloat16": 2, "int64": 8, "uint64": 8, "float64": 8, "complex64": 8}


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory; ValueError for a type the model does not know."""
    try:
        return _ITEM_BYTES[dtype]
    except KeyError:
        raise ValueError(f"data type {dtype!r} has no cost model") from None


def lanes(soc: Soc, dtype: str) -> float:
    """Elements one vector core handles in a cycle."""
    itemsize(dtype)
    return soc.vec_bytes / _LANE_BYTES[dtype]


def ghz(soc: Soc) -> float:
    return soc.cube_mhz / 1000


def clock_ratio(soc: Soc) -> float:
    """Clock against the reference chip: scales what one core can move or compute."""
    return ghz(soc) / REFERENCE_GHZ


def core_ratio(soc: Soc) -> float:
    """Cores times clock against the reference chip: scales L2 and whole-chip vector rates."""
    return soc.aic / REFERENCE_CUBES * clock_ratio(soc)


def vector_cores(soc: Soc) -> int:
    """Cores a vector kernel can use: the vector cores of split chips, else the AI cores, which hold a vector unit each."""
    return soc.aiv if soc.split else soc.aic


def vector_task(soc: Soc) -> str:
    return "AI_VECTOR_CORE" if soc.split else "AI_CORE"


def bandwidth(soc: Soc, count: float, hbm: float, warm: float) -> float:
    """TB/s at which a kernel moves a working set of `count` bytes.

    The warm rate (from L2) up to half of L2, the memory rate from all of L2 on, linear between (96 and 192 MB on A2).
    Rates are those measured on the reference chip. First-touch data would always see the memory rate; Work does not tell
    it apart, so a model's weights count as warm like a repeated benchmark.
    """
    slow = hbm * soc.memory_gbps / REFERENCE_GBPS
    fast = max(slow, warm * core_ratio(soc))
    beyond = min(1.0, max(0.0, 2 * count / soc.l2 - 1))
    return fast + (slow - fast) * beyond


def join(*times: float, p: float) -> float:
    """Overlapping parts of a kernel: (sum of t^p)^(1/p). p = 1 is one after the other, large p tends to the maximum."""
    longest = max(times)
    if longest <= 0:
        return 0.0
    total: float = sum((t / longest) ** p for t in times)
    return longest * float(total ** (1 / p))


def memory_share(work: Work, duration_ns: int, soc: Soc) -> float:
    """Part of the memory bandwidth a kernel demands while it runs, 0..1 (bytes per ns are GB/s)."""
    return min(1.0, (work.read_bytes + work.write_bytes) / duration_ns / soc.memory_gbps)
