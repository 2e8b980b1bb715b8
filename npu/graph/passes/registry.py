"""The fusion passes in the order they run: graph fusion first, then UB fusion, by priority."""

from __future__ import annotations

from npu.graph.passes import conv_activation, conv_batchnorm, conv_relu
from npu.graph.passes.base import GRAPH, UB, NearMiss, Outcome, Pass, Work
from npu.graph.switches import Switches

PASSES: tuple[Pass, ...] = (
    Pass(conv_batchnorm.NAME, GRAPH, 4060, conv_batchnorm.run),
    Pass(conv_activation.NAME, UB, 5000, conv_activation.run),
    Pass(conv_relu.NAME, UB, 5000, conv_relu.run),
)


def run(work: Work, switches: Switches) -> tuple[dict[str, dict[str, Outcome]], list[NearMiss]]:
    """Run every pass that is on. The counts by kind and name (switched-off passes do not appear) and all near misses."""
    counts: dict[str, dict[str, Outcome]] = {GRAPH: {}, UB: {}}
    misses: list[NearMiss] = []
    for kind in (GRAPH, UB):
        for each in sorted((p for p in PASSES if p.kind == kind), key=lambda p: p.priority):
            if not switches.on(each.name, kind, each.switchable):
                continue
            outcome = each.run(work)
            counts[kind][each.name] = outcome
            misses += outcome.near_misses
    return counts, misses
