"""What a benchmark reached (hccl_test, read by profiler.read.bench) as the time a collective of any size should take."""

from __future__ import annotations

Reference = tuple[tuple[int, int], ...]  # (bytes, ns), ascending by size, at least one


def expected(reference: Reference, size: int) -> float:
    """Time of a collective of this size, ns: between measured sizes in proportion, above the largest at its bandwidth, below the
    smallest as long as that one."""
    below = [row for row in reference if row[0] <= size]
    above = [row for row in reference if row[0] >= size]
    if not below:
        return float(reference[0][1])
    (low, fast) = below[-1]
    if not above:
        return fast * size / low
    (high, slow) = above[0]
    return float(fast) if high == low else fast + (slow - fast) * (size - low) / (high - low)
