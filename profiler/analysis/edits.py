"""Edits of a replay, as data. A finding carries the edits that stand for its cure, so that cures can be replayed together.

Rows are row numbers of the trace's api and task tables; several edits may touch the same rows, the later one wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from profiler.trace import Array

NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class DropCalls:
    """The calls are not made: no wait, no time of their own. Their tasks stay, if they have any (drop-sync)."""

    api: Array


@dataclass(frozen=True, eq=False)
class Remove:
    """The tasks take no time, and the calls that launched only them are not made. What comes after them inherits their order."""

    task: Array
    api: Array = field(default_factory=lambda: NONE)


@dataclass(frozen=True, eq=False)
class SetTo:
    """The tasks last this long, ns (set, pin, fuse and merge are made of it)."""

    task: Array
    ns: Array


@dataclass(frozen=True, eq=False)
class Scale:
    """The tasks last `factor` times as long."""

    task: Array
    factor: float


@dataclass(frozen=True, eq=False)
class Unblock:
    """The calls return after `call_ns` without waiting for their tasks; the next kernel launched on the thread waits instead."""

    api: Array
    call_ns: int


@dataclass(frozen=True, eq=False)
class Move:
    """The tasks leave their streams for one stream of their own, in their order; each keeps its launch and its consumer."""

    task: Array


@dataclass(frozen=True, eq=False)
class Overlap:
    """Copies to the device go on a copy stream, unblocked, each issued one submission earlier into the other of two buffers.

    Per copy: it waits for the previous kernel launch of its thread (plus the host's own time before the copy call), for the
    copy before it, and for the submission before last, whose buffer it takes; its consumer is the next launch.
    """

    api: Array
    call_ns: int


Edit = DropCalls | Remove | SetTo | Scale | Unblock | Move | Overlap


def fuse(heads: Array, tails: Array, head_ns: Array) -> tuple[Edit, ...]:
    """Each head kernel takes over the work of its tails and lasts head_ns."""
    return (SetTo(heads, head_ns), Remove(tails))


def merge(last: Array, others: Array, last_ns: Array, other_calls: Array) -> tuple[Edit, ...]:
    """Copies become one each: the last of a group carries all bytes, the others and their calls fall away."""
    return (SetTo(last, last_ns), Remove(others, other_calls))
