"""Rule 6: every operator of a step is launched on its own, always the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.compiled import compiled
from profiler.analysis.rules.launches import by_step, own_launches, same_sequence, waits_for_launches
from profiler.findings import Finding

NAME = Name("single-op-mode", 6, "graph")
KERNELS_MIN = 200  # per step (catalogue)
BOUND_SHARE = 0.3  # of the window without work because the next launch comes late (catalogue)
EVIDENCE_MOST = 3


def single_op_mode(context: Context) -> Iterator[Finding]:
    """Fires for 200 and more kernels a step with launches of their own, in the same order each step, while the device waits for
    the next launch over 30 % of the window. Gain: one launch a step on each thread, kernels 0.6 us apart, fused as the graph
    engine's passes fuse them. Silent when the sequence differs between steps. A bound: what the host does between launches may
    not all go away."""
    rows = own_launches(context)
    if len(rows) < KERNELS_MIN * context.count:
        return
    share = waits_for_launches(context, rows) / context.length
    if share <= BOUND_SHARE:
        return
    groups = [g for g in by_step(context, rows) if len(g) > 1]
    if not same_sequence(context, groups):
        return
    graph = compiled(context, groups)
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / context.count),
        "bound_share": share,
        "busy_share": float(context.basis.durations(rows).sum() / context.length),
        "launch_ns": context.views.launch_bound.launch,
        "left": round(graph.left / context.count),
    }
    first = groups[0]
    yield judged(
        context,
        NAME,
        facts,
        graph.edits,
        confidence="medium",
        evidence=context.tasks_shown(first[:EVIDENCE_MOST]),
        sites=context.sites(context.launches.row[rows]),
        at_most=True,
    )
