"""Operators without a core kernel run on the AI CPU: slow, and no core counters.

T = 100 us + 6.5 ns per element. Cast fallbacks of a few elements take 74-198 us (median 101, mstt kernel_details); int8
InplaceIndexAdd takes 2.2 ms for 0.26 M and 12.7 ms for 2.0 M elements (910B4-1).
"""

from __future__ import annotations

from npu.cost import chip
from npu.cost.work import Cost, Work
from npu.soc import Soc

LAUNCH_NS = 100_000
ELEMENT_NS = 6.5


def aicpu(work: Work, soc: Soc) -> Cost:
    """Cost of an aicpu Work, dims (elements, rows). block_dim is 0, as new op_summary files print it."""
    elements, _rows = work.dims
    duration = round(LAUNCH_NS + ELEMENT_NS * (elements + work.epilogue))
    return Cost(duration, "AI_CPU", 0, hbm_share=chip.memory_share(work, duration, soc))
