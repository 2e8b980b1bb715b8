"""Rule 6: every operator of a step is launched on its own, always the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import Name, judged
from profiler.analysis.rules.launches import by_step, launch_bound_share, one_launch, own_launches, same_sequence
from profiler.findings import Finding

NAME = Name("single-op-mode", 6, "graph")
KERNELS_MIN = 200  # per step (catalogue)
BOUND_SHARE = 0.3  # of the window in launch-bound stretches
EVIDENCE_MOST = 3


def single_op_mode(context: Context) -> Iterator[Finding]:
    """Fires for 200 and more kernels a step with launches of their own, in the same order each step, while the device waits for
    single launches over 30 % of the window. Gain: one launch a step on each thread, kernels 0.6 us apart. Silent when the
    sequence differs between steps. A bound: what the host does between launches may not all go away."""
    rows = own_launches(context)
    if len(rows) < KERNELS_MIN * context.count:
        return
    groups = [g for g in by_step(context, rows) if len(g) > 1]
    share = launch_bound_share(context)
    if share <= BOUND_SHARE or not same_sequence(context, groups):
        return
    bound = context.views.launch_bound
    facts = {
        "count": len(rows),
        "per_step": round(len(rows) / context.count),
        "bound_share": share,
        "busy_share": float(bound.busy.sum() / max(1, int(bound.span.sum()))),
        "launch_ns": bound.launch,
    }
    first = groups[0]
    yield judged(
        context,
        NAME,
        facts,
        one_launch(context, groups),
        confidence="medium",
        evidence=context.tasks_shown(first[:EVIDENCE_MOST]),
        sites=context.sites(context.launches.row[rows]),
        at_most=True,
    )
