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


@dataclass(frozen=True, eq=False)
class Skip:
    """The calls take no time, nor does anything the host does inside them. What they launched stays launched."""

    api: Array


@dataclass(frozen=True, eq=False)
class OneLaunch:
    """Launches become one: from the end of the first to that of the last of these calls their thread spends no time of its own
    (it still waits where it waited), and the kernels they launched follow each other after at most `gap` ns. Calls of one
    launch in order of time, on one thread."""

    api: Array
    gap: int


@dataclass(frozen=True, eq=False)
class Spread:
    """Independent items that share a stream take turns on `streams` streams of their own; `item` numbers each task's one.

    Every copy engine still serves one copy at a time, in order, and only `kernels` items find room on the cores at once.
    """

    task: Array
    item: Array
    streams: int
    kernels: int


@dataclass(frozen=True, eq=False)
class OwnTime:
    """The host's own time right before each of these calls becomes `ns`; longer than it was it never gets."""

    api: Array
    ns: Array


@dataclass(frozen=True, eq=False)
class CallTime:
    """The calls themselves take `ns`, what happens inside them in proportion; what they wait for stays."""

    api: Array
    ns: Array


@dataclass(frozen=True, eq=False)
class Aside:
    """Another thread does `ns` of the host's own time right before each of these calls, one item ahead of (or behind) it.

    Calls by thread and start; `item` numbers what belongs together, ascending along a thread. The first item of a thread stays
    where it is; every later one is ready no sooner than its work after the item before it was taken over.
    """

    api: Array
    ns: Array
    item: Array


@dataclass(frozen=True, eq=False)
class Narrow:
    """The calls wait only for what their own thread launched before them on the stream of its last kernel."""

    api: Array


@dataclass(frozen=True, eq=False)
class Rewire:
    """The wait tasks wait for these tasks instead of the records they are paired with; -1: for nothing."""

    task: Array
    source: Array


@dataclass(frozen=True, eq=False)
class Meet:
    """All ranks come to these collectives (comm rows) as soon as this one does: no arrival elsewhere holds them."""

    comm: Array


@dataclass(frozen=True, eq=False)
class Shorten:
    """The collectives (comm rows) take this much less time, ns; what they wait for stays."""

    comm: Array
    ns: Array


Edit = (
    DropCalls
    | Remove
    | SetTo
    | Scale
    | Unblock
    | Move
    | Overlap
    | Skip
    | OneLaunch
    | Spread
    | OwnTime
    | CallTime
    | Aside
    | Narrow
    | Rewire
    | Meet
    | Shorten
)


def fuse(heads: Array, tails: Array, head_ns: Array) -> tuple[Edit, ...]:
    """Each head kernel takes over the work of its tails and lasts head_ns."""
    return (SetTo(heads, head_ns), Remove(tails))


def merge(last: Array, others: Array, last_ns: Array, other_calls: Array) -> tuple[Edit, ...]:
    """Copies become one each: the last of a group carries all bytes, the others and their calls fall away."""
    return (SetTo(last, last_ns), Remove(others, other_calls))
