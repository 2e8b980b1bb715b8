"""Run the rules over one trace and put what they say into a Report."""

from __future__ import annotations

from profiler.analysis import judge
from profiler.analysis.checklist import checklist
from profiler.analysis.context import Context
from profiler.analysis.rules import RULES
from profiler.findings import Report
from profiler.trace import Trace


def report(trace: Trace, all_findings: bool = False) -> Report:
    """See profiler.analysis.analyze."""
    context = Context(trace)
    said = [f for rule in RULES for f in rule.run(context)]
    loud = [f for f in said if judge.speaks(f, context)]
    counted = judge.settled(loud)
    shown = judge.settled(said) if all_findings else counted
    return Report(
        source=str(trace.source),
        window=context.window,
        steps=context.steps.steady,
        findings=shown,
        checklist=checklist(context, counted, [rule.layer for rule in RULES]),
        breakdown=context.breakdown,
        joint=judge.joint(context, counted),
        quality=context.quality if trace.task else None,
        missing=tuple((m.what, m.why) for m in trace.missing),
        meta={
            **{k: v for k, v in trace.meta.items() if k in META},
            "step_kind": context.steps.kind,
            "warm_up": context.steps.first,
            "clock_errors": context.graph.dropped,
        },
    )


META = ("soc", "generator", "simulated", "rank", "world_size", "lost", "command", "clock")
