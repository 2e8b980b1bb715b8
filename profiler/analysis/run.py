"""Run the rules over one trace and put what they say into a Report."""

from __future__ import annotations

from dataclasses import replace

from profiler.analysis import critical_path, heap, judge, settings
from profiler.analysis.checklist import checklist
from profiler.analysis.context import Context
from profiler.analysis.latency import latency
from profiler.analysis.model_errors import model_errors
from profiler.analysis.needs import unmet
from profiler.analysis.ranks.summary import RankSummary, summarise
from profiler.analysis.rules import RULES
from profiler.analysis.views.tables import tables
from profiler.findings import Idle, Report, Unjudged
from profiler.trace import TABLES, Trace


def report(trace: Trace, all_findings: bool = False, views: bool = False) -> Report:
    """See profiler.analysis.analyze."""
    context = Context(trace)
    made = _judge(context, all_findings)
    return replace(made, views=tables(context)) if views else made


def with_path(trace: Trace) -> tuple[Report, list[tuple[str, int]]]:
    """See profiler.analysis.analyze_with_path."""
    context = Context(trace)
    made, path = _judge(context, False), critical_path.rows(context.graph, context.replay.goals, context.window)
    return made, [context.in_file(table, row) for table, row in path]


def with_context(trace: Trace, all_findings: bool, views: bool) -> tuple[Report, RankSummary | None]:
    """The report, and what a joint report over several ranks needs of this one; None where the trace tells no such thing."""
    context = Context(trace)
    made = _judge(context, all_findings)
    summary = summarise(context, made)
    return (replace(made, views=tables(context)) if views else made), summary


def _judge(context: Context, all_findings: bool) -> Report:
    with heap.kept():
        return _judged(context, all_findings)


def _judged(context: Context, all_findings: bool) -> Report:
    trace = context.trace
    by_rule = {rule.id: list(rule.run(context)) for rule in RULES}
    said = [f for found in by_rule.values() for f in found]
    loud = [f for f in said if judge.speaks(f, context)]
    counted = judge.settled(loud)
    shown = settings.noted(judge.settled(said) if all_findings else counted, trace.meta.get("env"))
    return Report(
        source=str(trace.source),
        window=context.cut.back(context.window),
        steps=context.steps.steady,
        findings=[context.told(f) for f in shown],
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
        rows={name: len(getattr(context.file, name)) for name in TABLES if getattr(context.file, name)},
        latency=latency(context),
        model_errors=model_errors(context),
        ignored=context.ignored,
        idle=tuple(Idle(d, g.total(), g.host, g.by_class()) for d, g in context.views.gaps.items()),
        unjudged=tuple(
            Unjudged(need.id, need.switch, tuple(rules))
            for need, rules in unmet(context, [(r.id, r.needs) for r in RULES if not by_rule[r.id]])
        ),
    )


META = ("soc", "generator", "simulated", "rank", "world_size", "lost", "command", "clock")
