"""Latency of iterations: percentiles over the steady steps, and what the slow ones do that the fast ones do not.

1. An iteration begins with its step and is done when its last call has returned and its last task has ended.
2. Slow: longer than SLOW times the median. Fast: the shorter half.
3. Everything that belongs to an iteration (calls, own code between them, kernels by operator, copies) is summed per iteration
   and class; the difference of the means of slow and fast iterations is the excess.
Calls that wait get longer when the device does: they are told apart and listed after what can be a cause.
"""

from __future__ import annotations

import math

import numpy as np

from profiler.analysis.calls import blocking
from profiler.analysis.context import Context
from profiler.findings import Excess, Latency
from profiler.trace import Array

SLOW = 1.5  # times the median; also when a report shows the section (P99 over P50)
EXCESS_MOST = 8
EXCESS_SHARE = 0.02  # of what slow iterations take longer; less is not shown


def latency(context: Context) -> Latency | None:
    """Percentiles and excess of the steady iterations; None without steps."""
    steps, trace = context.steps, context.trace
    if not steps.steady:
        return None
    api, task = context.outer, np.flatnonzero(context.launches.time >= 0)
    call_step = steps.of(np.take(trace.api["start"], api)) if len(api) else api
    task_step = steps.of(np.take(context.launches.time, task))
    done = steps.starts.astype(np.int64).copy()
    for table, rows, step in ((trace.api, api, call_step), (trace.task, task, task_step)):
        if len(rows):
            inside = np.flatnonzero(step >= 0)
            np.maximum.at(done, np.take(step, inside), np.take(table["end"], np.take(rows, inside)))
    if steps.kind == "marker":  # the user has said when an iteration is over
        done = steps.ends
    length = (done - steps.starts)[steps.first :]
    order = np.sort(length)
    p50, p90, p99 = (int(order[max(0, math.ceil(share * len(order)) - 1)]) for share in (0.5, 0.9, 0.99))
    slow = np.zeros(len(steps.starts), bool)
    slow[steps.first :] = length > SLOW * p50
    fast = np.zeros(len(steps.starts), bool)
    fast[steps.first :] = length <= p50
    every = done - steps.starts
    excess = _excess(context, (api, call_step), (task, task_step), every, slow, fast) if slow.any() else ()
    slow_mean, fast_mean = (int(every[group].mean()) if group.any() else 0 for group in (slow, fast))
    return Latency(len(length), p50, p90, p99, tuple(int(i) for i in steps.ids[slow]), slow_mean, fast_mean, excess)


def _excess(
    context: Context, calls: tuple[Array, Array], tasks: tuple[Array, Array], length: Array, slow: Array, fast: Array
) -> tuple[Excess, ...]:
    trace, text = context.trace, context.trace.strings
    api, call_step = calls
    found: list[Excess] = []

    def compare(rows: Array, step: Array, duration: Array, classes: Array, kind: str, site: Array | None) -> None:
        for name in np.unique(classes):
            mine = classes == name
            at, spent = step[mine], duration[mine]
            here, there = slow[at], fast[at]
            slow_ns, fast_ns = (int(spent[m].sum() / group.sum()) for m, group in ((here, slow), (there, fast)))
            place = text[int(site[rows[mine][here][np.argmax(spent[here])]])] if site is not None and here.any() else ""
            counts = here.sum() / slow.sum(), there.sum() / fast.sum()
            found.append(Excess(kind, text[int(name)], slow_ns, fast_ns, float(counts[0]), float(counts[1]), place))

    inside = call_step >= 0
    api, call_step = api[inside], call_step[inside]
    if len(api):
        spent = (trace.api["end"] - trace.api["start"])[api]
        waits = blocking(trace)[api]
        for kind, mask in (("wait", waits), ("call", ~waits)):
            compare(api[mask], call_step[mask], spent[mask], trace.api["name"][api[mask]], kind, trace.api.get("site"))
        main = trace.api["thread"][api] == np.bincount(trace.api["thread"][api]).argmax()
        own = length - np.bincount(call_step[main], spent[main], len(length))
        slow_ns, fast_ns = (int(np.maximum(own[group], 0).mean()) for group in (slow, fast))
        found.append(Excess("own_code", "", slow_ns, fast_ns, 1.0, 1.0))
    rows, task_step = tasks
    for kind, kinds, column in (("operator", ("kernel", "aicpu"), "op_type"), ("copy", ("copy", "memset"), "name")):
        mask = trace.tasks_of(*kinds)[rows] & (task_step >= 0) if len(rows) else np.zeros(0, bool)
        names = trace.task.get(column)
        if mask.any() and names is not None:
            mine = rows[mask]
            compare(mine, task_step[mask], (trace.task["end"] - trace.task["start"])[mine], names[mine], kind, None)
    least = EXCESS_SHARE * float(length[slow].mean() - length[fast].mean())
    found = [e for e in found if e.slow_ns - e.fast_ns > least]
    found.sort(key=lambda e: (e.kind == "wait", e.fast_ns - e.slow_ns))
    return tuple(found[:EXCESS_MOST])
