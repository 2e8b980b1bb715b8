"""What the copy rules share: the copy calls of the window with what is known of each, and how a cure changes their cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from npu import cost, events
from profiler.analysis.calls import COPY, blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, SetTo
from profiler.analysis.groups import distinct
from profiler.analysis.judge import Name, judged
from profiler.findings import Evidence, Finding
from profiler.trace import Array

H2D, D2H = events.DIRECTIONS.index("h2d"), events.DIRECTIONS.index("d2h")
PAGEABLE = events.HOST_KINDS.index("pageable")
ASYNC_CALL = "aclrtMemcpyAsync"


class Copies(NamedTuple):
    """Copy calls of the window that moved data by one known task. rows: api; task: theirs; the rest per row."""

    rows: Array
    task: Array
    bytes: Array
    direction: Array
    pageable: Array
    blocking: Array

    def only(self, mask: Array | slice) -> Copies:
        return Copies(*(c[mask] for c in self))


def in_window(context: Context) -> Copies:
    """All copy calls of the window whose task is known, by thread and start."""
    trace = context.trace
    rows = context.calls_in_window(trace.api_named(*COPY))
    task = context.launches.first[rows] if len(rows) else rows
    rows, task = rows[task >= 0], task[task >= 0]

    def known(name: str) -> Array:
        call, own = column(trace, "api", name)[rows], column(trace, "task", name)[task]
        return np.where(call >= 0, call, own)

    return Copies(rows, task, known("bytes"), known("direction"), known("host_kind") == PAGEABLE, blocking(trace)[rows])


def pinned(context: Context, copies: Copies) -> tuple[SetTo, ...]:
    """The edit that gives pageable copies the speed of pinned ones: measured time scaled by the ratio of the modelled ones."""
    chosen = copies.only(copies.pageable & ((copies.direction == H2D) | (copies.direction == D2H)))
    if not len(chosen.rows):
        return ()
    measured = context.trace.task["end"][chosen.task] - context.trace.task["start"][chosen.task]
    kinds, position = distinct(chosen.bytes, chosen.direction)
    ratio = np.array([model_ns(context, b, d, "pinned") / model_ns(context, b, d, "pageable") for b, d in kinds.tolist()])
    return (SetTo(chosen.task, (measured * ratio[position.ravel()]).astype(np.int64)),)


def said_of(
    context: Context, name: Name, facts: Mapping[str, object], edit: Edit, copies: Copies, shown: tuple[Evidence, ...]
) -> Finding:
    """A finding about copies: pageable ones are pinned with the edit, and then the gain rests on modelled durations."""
    edits: tuple[Edit, ...] = (edit, *pinned(context, copies))
    return judged(
        context,
        name,
        facts,
        edits,
        confidence="high" if not copies.pageable.any() else "medium",
        evidence=shown,
        sites=context.sites(copies.rows),
        method="model" if len(edits) > 1 else "replay",
    )


def model_ns(context: Context, count: int, direction: int, host_kind: str) -> float:
    """Modelled time of one copy, ns, at least 1."""
    made = cost.copy_ns(max(count, 0), events.DIRECTIONS[direction], host_kind, context.chip)
    return max(1.0, made.latency_ns + max(count, 0) / made.bytes_per_ns)


def async_call_ns() -> int:
    """What the call costs the host once it does not wait any more, ns."""
    return cost.call_ns(ASYNC_CALL)
