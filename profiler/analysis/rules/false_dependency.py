"""Rule 28: a task waits for an event though what it needs was there long before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.edits import Rewire
from profiler.analysis.graph import EVENT
from profiler.analysis.groups import largest
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.buffers import Buffers
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("false-dependency", 28, "host")
LATE_NS = 1_000  # a record this much behind the last task that is needed counts as late (BRIEF_WAIT of the graph)
LOOKED_AT = 64  # tasks before the record that are searched for what is needed
EVIDENCE_MOST = 3


class Early(NamedTuple):
    """A wait task, the task it really has to wait for (-1: none), and how much later its record came, ns."""

    wait: int
    source: int
    late: int


def false_dependency(context: Context) -> Iterator[Finding]:
    """Fires when waits for events on the critical path end with records that come later than the last task on that stream whose
    buffers the tasks behind the wait read or overwrite. Gain: they wait for that task. Silent where buffers are not known."""
    buffers = Buffers(context)
    if not buffers.known:
        return
    found = [early for wait, record in _pairs(context) if (early := _early(context, buffers, wait, record)) is not None]
    if len(found) < REPEAT_MIN:
        return
    waits, sources = np.array([f.wait for f in found]), np.array([f.source for f in found])
    late = np.array([f.late for f in found])
    task = context.trace.task
    facts = {
        "count": len(found),
        "late_ns": int(np.mean(late)),
        "needless": int((sources < 0).sum()),
        "stream": int(task["stream"][waits[0]]),
        "other": int(task["stream"][_record_of(context, int(waits[0]))]),
    }
    calls = context.launches.row[waits]
    yield judged(
        context,
        NAME,
        facts,
        (Rewire(waits, sources),),
        confidence="high",
        evidence=context.tasks_shown(waits[largest(late, EVIDENCE_MOST)]),
        sites=context.sites(calls[calls >= 0]),
    )


def _pairs(context: Context) -> list[tuple[int, int]]:
    """(wait task, record task) of the window whose wait is on the critical path and held by the record."""
    graph = context.graph
    edges = np.flatnonzero(graph.kind == EVENT)
    source, target = graph.source[edges], graph.target[edges]
    held = (graph.time[source] == graph.time[target]) & context.path[target] & context.path[source]
    wait, record = graph.chains.row[target[held]], graph.chains.row[source[held]]
    inside = (context.launches.time[wait] >= context.window[0]) & (context.launches.time[wait] < context.window[1])
    return list(zip(wait[inside].tolist(), record[inside].tolist(), strict=True))


def _record_of(context: Context, wait: int) -> int:
    return next(record for w, record in _pairs(context) if w == wait)


def _early(context: Context, buffers: Buffers, wait: int, record: int) -> Early | None:
    """What the tasks behind the wait need of those before the record; None when the record is not late or nothing can be said."""
    behind, before = _behind(context, wait), _before(context, record)
    if not len(behind) or not len(before) or not all(map(buffers.tells, behind)) or not all(map(buffers.tells, before)):
        return None
    end = context.trace.task["end"]
    needed = [p for p in before if any(buffers.conflict(p, c) for c in behind)]
    came = int(end[record])
    if not needed and len(before) == LOOKED_AT:
        return None
    late = came - (int(end[needed[0]]) if needed else int(end[before[-1]]))
    return Early(wait, needed[0] if needed else -1, late) if late > LATE_NS else None


def _chain(context: Context, task: int) -> tuple[Array, int]:
    """Nodes of the task's stream and its place among them."""
    chains = context.graph.chains
    node = int(chains.task[task])
    first, behind = chains.ends_around(node)
    return np.arange(first, min(behind, node + LOOKED_AT + 1)), node


def _behind(context: Context, wait: int) -> list[int]:
    """Working tasks behind the wait on its stream, up to the next wait."""
    nodes, at = _chain(context, wait)
    rows = context.graph.chains.row[nodes[nodes > at]]
    waits = context.trace.tasks_of("wait")[rows]
    stop = int(np.argmax(waits)) if waits.any() else len(rows)
    rows = rows[:stop]
    working = context.trace.tasks_of("kernel", "aicpu", "copy", "memset")[rows]
    chosen: list[int] = rows[working].tolist()
    return chosen


def _before(context: Context, record: int) -> list[int]:
    """Working tasks before the record on its stream, the last one first, at most LOOKED_AT."""
    chains = context.graph.chains
    node = int(chains.task[record])
    first, _ = chains.ends_around(node)
    rows = chains.row[np.arange(max(first, node - 4 * LOOKED_AT), node)]
    working = context.trace.tasks_of("kernel", "aicpu", "copy", "memset")[rows]
    chosen: list[int] = rows[working][::-1][:LOOKED_AT].tolist()
    return chosen
