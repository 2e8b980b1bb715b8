"""What the counters of a core show for a kernel of known duration: core time and instruction cache misses.

Figures from op_summary and kernel_details of 910B1, 910B2 and 910B3 (Ascend mstt test files, msprof-analyze samples).
"""

from __future__ import annotations

LAUNCH_US = 0.5  # Task Duration minus core time of kernels under 5 us: 0.48-0.55
TAIL = 0.05  # of what is longer: kernels over 20 us lose 3-10 % to the slowest core and the end of the task


def core_us(duration_us: float) -> float:
    """Mean time a core is busy in a kernel, us: duration - 0.5 - 5 % of what is beyond 5 us, never under a third of it."""
    lost = LAUNCH_US + TAIL * max(0.0, duration_us - 5)
    return max(duration_us - lost, duration_us / 3)


def vector_miss_rate(core: float) -> float:
    """Instruction cache miss rate of a vector core: 0.2 at 1 us, 0.08 at 10 us, under 0.01 beyond 150 us."""
    return round(0.25 / (1 + core / 5), 3)


def cube_miss_rate(core: float) -> float:
    """The same of a cube core: 0.004 for GEMMs around 80 us."""
    return round(0.04 / (1 + core / 10), 3)
