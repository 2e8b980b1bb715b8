"""What rules say of sums without rows in time: steps of step_trace_time, calls of api_statistic, kernels of op_statistic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from profiler.analysis.calls import EXECUTE
from profiler.analysis.context import Context
from profiler.analysis.judge import Name, at_most, severity
from profiler.analysis.statistics import CallSum, StepSums, call_sums, op_sums, step_sums
from profiler.findings import Finding, Gain

OFTEN = 100  # calls; fewer are the beginning and the end of a program
SHARE = 0.10  # of all recorded host time, without a window to judge by


def steps_alone(context: Context) -> StepSums | None:
    """The sums of a rank's steps, where nothing else tells of its time."""
    trace = context.trace
    sums = None if trace.task or trace.comm or trace.api else step_sums(trace)
    return sums if sums is not None and sums.whole > 0 else None


def of_steps(name: Name, sums: StepSums, ns: int, gain: int, facts: Mapping[str, object]) -> Finding:
    """A finding about `ns` of all steps; gain: what its cure saves of them at most."""
    said = {
        "steps": sums.steps,
        "each_ns": round(ns / sums.steps),
        "part_share": ns / sums.whole,
        "step_ns": round(sums.whole / sums.steps),
        **facts,
    }
    found = Gain(gain, "bound", "low", at_most=True)
    return Finding(name.id, name.number, name.layer, severity(gain, sums.whole, "low"), said, found)


def executions(context: Context) -> int:
    """How often models were executed, by the sums of calls."""
    return sum(s.count for s in call_sums(context.trace) if s.name in EXECUTE)


def launches(context: Context) -> int:
    """How often single kernels were launched, by the sums of calls."""
    return sum(s.count for s in call_sums(context.trace) if s.level == "node" and s.name == "launch")


def often(context: Context, name: Name, mine: list[CallSum]) -> Iterator[Finding]:
    """Calls that come OFTEN times and take SHARE of all recorded host time; the gain is their time, at most."""
    count, total = sum(s.count for s in mine), sum(s.total_ns for s in mine)
    whole = sum(s.total_ns for s in call_sums(context.trace))
    if count < OFTEN or total < SHARE * whole:
        return
    facts = {
        "count": count,
        "call": ", ".join(s.name for s in mine[:3]),
        "total_ns": total,
        "mean_ns": round(total / count),
        "part_share": total / whole,
        "launches": launches(context),
    }
    yield at_most(context, name, facts, total)


def kernels(context: Context, name: Name, *types: str) -> Iterator[Finding]:
    """Kernels of some types in op_statistic that come OFTEN times and take SHARE of all kernels' time, at most what is gained."""
    sums = [] if context.trace.task else op_sums(context.trace)
    mine = [s for s in sums if s.op_type in types and s.core != "AI_CPU"]
    count, total = sum(s.count for s in mine), sum(s.total_ns for s in mine)
    whole = sum(s.total_ns for s in sums)
    if count >= OFTEN and total >= SHARE * whole:
        facts = {
            "count": count,
            "top": ", ".join(s.op_type for s in mine[:3]),
            "total_ns": total,
            "part_share": total / whole,
            "mean_ns": round(total / count),
        }
        yield at_most(context, name, facts, total)
