"""One side of a comparison where a profile holds sums only (step_trace_time, op_statistic, api_statistic): without rows in time
the layers are what the sums say, and nothing is known of the critical path."""

from __future__ import annotations

import numpy as np

from profiler.analysis.statistics import call_sums, op_sums, step_lengths, step_sums
from profiler.trace import Array, Trace

STEADY = 3  # steps from which their scatter tells the noise
Rows = dict[tuple[str, str], tuple[float, float, float]]


def sums_only(trace: Trace) -> bool:
    """True without any row in time: a table of sums, or nothing that can be compared."""
    return not (trace.task or trace.api or trace.comm or trace.marker)


def layers(trace: Trace) -> dict[str, int]:
    """Times of the mean step, ns: free time counts as the host's. Without steps the sums of kernels and of calls. Empty where the
    source holds neither."""
    steps = step_sums(trace)
    if steps is not None and steps.whole > 0:
        parts = {"computing": steps.computing, "communication": steps.exposed, "host": steps.free}
        return {name: ns // steps.steps for name, ns in parts.items()}
    found = {
        "computing": sum(s.total_ns for s in op_sums(trace)),
        "host": sum(s.total_ns for s in call_sums(trace)),
    }
    return {name: ns for name, ns in found.items() if ns}


def rows(trace: Trace) -> Rows:
    """(layer, name) -> (ns, occurrences, 0) of operators and calls: per step where steps are known, else all together."""
    count = steps_of(trace) or 1
    made: Rows = {}
    for op in op_sums(trace):
        _add(made, "computing", op.op_type, op.total_ns / count, op.count / count)
    for call in call_sums(trace):
        _add(made, "host", call.name, call.total_ns / count, call.count / count)
    return made


def steps_of(trace: Trace) -> int:
    """How many steps the sums are of; 0 where none are known."""
    steps = step_sums(trace)
    return steps.steps if steps is not None and steps.whole > 0 else 0


def lengths(trace: Trace) -> Array:
    """The steps, int64 ns; none for too few."""
    found = step_lengths(trace)
    return np.asarray(found if len(found) >= STEADY else [], np.int64)


def _add(made: Rows, layer: str, name: str, ns: float, count: float) -> None:
    before = made.get((layer, name), (0.0, 0.0, 0.0))
    made[layer, name] = (before[0] + ns, before[1] + count, 0.0)
