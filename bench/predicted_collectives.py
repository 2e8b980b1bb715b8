"""What the model says of collectives on A2 servers, as the table of docs/hccl_test.md; nothing measured holds these figures.

`python bench/predicted_collectives.py` prints the rows.
"""

from __future__ import annotations

from npu.hccl import cost, topology
from npu.units import MIB

FAMILY, NPUS = "910B", 8
SIZES = (MIB, 16 * MIB, 256 * MIB)
# row of the table, operation, servers, whether the size is one rank's part
ROWS = (
    ("all_reduce", "all_reduce", 1, False),
    ("all_gather (part of a rank)", "all_gather", 1, True),
    ("reduce_scatter (part of a rank)", "reduce_scatter", 1, True),
    ("alltoall", "all_to_all", 1, False),
    ("all_reduce, two servers", "all_reduce", 2, False),
)


def lines() -> list[str]:
    """The rows in Markdown, times in us."""
    made = []
    for title, op, servers, part in ROWS:
        ranks = NPUS * servers
        net = topology.of(FAMILY, ranks, NPUS)
        times = [cost.collective(op, net, size * (ranks if part else 1)).duration / 1000 for size in SIZES]
        made.append(f"| {title} | " + " | ".join(f"{us:.2f} us" for us in times) + " |")
    return made


if __name__ == "__main__":
    print("\n".join(lines()))
