"""What-if: the trace replayed with changes the user names, each alone and all together (spec of the analyzer, section 4).

A change is a function from the context to the edits that stand for it and the facts its texts need; where the trace holds
nothing to change it says why. Class-median replay and explained share say how far to trust the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis.calls import COPY, SYNC_DEVICE, SYNC_STREAM, blocking, column
from profiler.analysis.context import Context
from profiler.analysis.edits import DropCalls, Edit, Scale, Spread, Unblock
from profiler.analysis.judge import edits_of
from profiler.analysis.ranks.together import Together
from profiler.analysis.rules.copies import async_call_ns, in_window, pinned
from profiler.analysis.rules.unfused_pattern import unfused_pattern
from profiler.findings import Change, Gain, WhatIf
from profiler.trace import Array, Trace


@dataclass(frozen=True)
class Wanted:
    """The changes asked for. streams: 0 = as it is. operators: name or pattern -> factor on its duration."""

    no_sync: bool = False
    fuse: bool = False
    pinned: bool = False
    streams: int = 0
    operators: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Planned:
    """Edits of one change with what is known of them; without edits `why` names the reason."""

    facts: Mapping[str, object]
    edits: tuple[Edit, ...] = ()
    method: str = "replay"
    confidence: str = "high"
    at_most: bool = False
    why: str = ""


def what_if(trace: Trace, wanted: Wanted) -> WhatIf:
    """Gains of the wanted changes in the judged window, ns."""
    return _changes(Context(trace), wanted)


def what_if_ranks(traces: Sequence[Trace], wanted: Wanted) -> list[WhatIf]:
    """The same for several profiles. Where they are all ranks of one job, gains on all ranks are those of one replay of all with
    the change made on each."""
    contexts = [Context(t) for t in traces]
    made = [_changes(c, wanted) for c in contexts]
    together = Together(contexts) if len(made) > 1 and all(len(c.graph.time) for c in contexts) else None
    if together is None or not together.shared or not together.complete:
        return made

    def everywhere(edits: Sequence[tuple[object, ...]]) -> int:
        return together.gain([tuple(e for e in some if isinstance(e, _EDITS)) for some in edits])

    gains = [everywhere([c.edits for c in same]) for same in zip(*(m.changes for m in made), strict=True)]
    whole = everywhere([tuple(e for c in m.changes for e in c.edits) for m in made])

    def told(change: Change, ns: int) -> Change:
        return change if change.gain is None else replace(change, gain=replace(change.gain, on_all_ns=ns))

    return [
        replace(
            m,
            changes=tuple(map(told, m.changes, gains)),
            joint=None if m.joint is None else replace(m.joint, on_all_ns=whole),
        )
        for m in made
    ]


def _changes(context: Context, wanted: Wanted) -> WhatIf:
    trace = context.trace
    plans: list[tuple[str, Callable[[Context], Planned]]] = []
    plans += [("no-sync", no_sync)] if wanted.no_sync else []
    plans += [("fuse", fuse)] if wanted.fuse else []
    plans += [("pinned", pin)] if wanted.pinned else []
    changes = [_changed(context, name, plan(context)) for name, plan in plans]
    for pattern, factor in (wanted.operators or {}).items():
        changes.append(_bounded(context, pattern, factor))
    if wanted.streams:
        changes.append(_changed(context, "streams", spread(context, wanted.streams)))
    return WhatIf(
        str(trace.source),
        context.cut.back(context.window),
        context.steps.judged,
        tuple(changes),
        _joint(context, changes),
        context.quality,
        tuple((m.what, m.why) for m in trace.missing),
        {k: v for k, v in trace.meta.items() if k in ("soc", "generator", "simulated", "rank", "world_size")},
        context.ignored,
    )


def _changed(context: Context, name: str, plan: Planned) -> Change:
    if not plan.edits:
        return Change(name, plan.facts, None, plan.why)
    return Change(name, plan.facts, _gain(context, plan.edits, plan.method, plan.confidence, plan.at_most), edits=plan.edits)


def _gain(context: Context, edits: tuple[Edit, ...], method: str, confidence: str, at_most: bool) -> Gain:
    """Negative gains stay: a change may make things slower."""
    return Gain(context.gain(edits), method, confidence, at_most, context.gain(edits, alike=True) if context.held else None)


def _joint(context: Context, changes: list[Change]) -> Gain | None:
    made = [c for c in changes if c.gain is not None]
    gains = [c.gain for c in made if c.gain is not None]
    if not gains:
        return None
    edits = tuple(e for c in made for e in c.edits if isinstance(e, _EDITS))
    method = "replay" if all(g.method == "replay" for g in gains) else "model"
    confidence = max((g.confidence for g in gains), key=("high", "medium", "low").index)
    return _gain(context, edits, method, confidence, any(g.at_most for g in gains))


_EDITS = Edit.__args__


def no_sync(context: Context) -> Planned:
    """Every wait for a stream or device in the window is dropped, but those after which the host reads results."""
    trace = context.trace
    syncs = context.calls_in_window(trace.api_named(*SYNC_STREAM, *SYNC_DEVICE))
    if not len(syncs):
        return Planned({}, why="no_waits")
    kept = _read_after(context, syncs)
    dropped = syncs[~kept]
    facts = {
        "count": len(dropped),
        "kept": int(kept.sum()),
        "waited_ns": int((trace.api["end"] - trace.api["start"])[dropped].sum()),
    }
    if not len(dropped):
        return Planned(facts, why="all_waits_needed")
    known = (column(trace, "api", "stream")[dropped] >= 0).all()
    return Planned(facts, (DropCalls(dropped),), confidence="high" if known else "medium")


def _read_after(context: Context, syncs: Array) -> Array:
    """Mask: the next call of the thread copies results to the host."""
    api = context.trace.api
    order = np.lexsort((api["start"], api["thread"]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    next_ = order[np.minimum(place[syncs] + 1, len(order) - 1)]
    reads = context.trace.api_named(*COPY) & (column(context.trace, "api", "direction") == events.DIRECTIONS.index("d2h"))
    read: Array = reads[next_] & (api["thread"][next_] == api["thread"][syncs])
    return read


def fuse(context: Context) -> Planned:
    """Every chain of kernels that a fusion pass would join is joined (rule unfused-pattern)."""
    if "op_type" not in context.trace.task:
        return Planned({}, why="no_operators")
    found = list(unfused_pattern(context))
    edits = tuple(edits_of(found))
    if not edits:
        return Planned({}, why="nothing_to_fuse")
    gains = [f.gain for f in found if f.gain is not None]
    chains = ", ".join(dict.fromkeys(str(f.facts["chain"]) for f in found))
    facts = {"kernels": sum(int(str(f.facts["kernels"])) for f in found), "chain": chains}
    confidence = max((g.confidence for g in gains), key=("high", "medium", "low").index)
    return Planned(facts, edits, "model", confidence, any(g.at_most for g in gains))


def pin(context: Context) -> Planned:
    """Pageable copies take the modelled time of pinned ones, and asynchronous calls that waited for them return at once."""
    copies = in_window(context)
    if not len(copies.rows):
        return Planned({}, why="no_copies")
    chosen = copies.only(copies.pageable)
    if not len(chosen.rows):
        known = (column(context.trace, "api", "host_kind")[copies.rows] >= 0).any()
        return Planned({}, why="all_pinned" if known else "kind_unknown")
    waits = context.trace.strings.matching(lambda text: "Async" in text)
    held = chosen.rows[blocking(context.trace)[chosen.rows] & np.isin(context.trace.api["name"][chosen.rows], waits)]
    edits: tuple[Edit, ...] = pinned(context, chosen)
    if len(held):
        edits = (Unblock(held, async_call_ns()), *edits)
    facts = {"count": len(chosen.rows), "total_bytes": int(chosen.bytes.sum()), "unblocked": len(held)}
    return Planned(facts, edits, "model", "medium")


def type_matches(pattern: str, text: str) -> bool:
    """Whether an operator type is meant: MatMul means MatMul and MatMulV3, Batch* all that begin so; case does not count."""
    name, wanted = text.lower(), pattern.lower()
    base, mark, version = name.rpartition("v")
    return fnmatchcase(name, wanted) or (bool(mark) and version.isdigit() and fnmatchcase(base, wanted))


def operator_types(trace: Trace) -> list[str]:
    """The types of all kernels of a trace."""
    names = trace.task.get("op_type")
    return [trace.strings[int(n)] for n in np.unique(names) if n >= 0] if names is not None else []


def operators(context: Context, pattern: str) -> Array:
    """Kernels of the window whose operator type is the pattern (a version number behind it is let pass, * and ? match)."""
    trace = context.trace
    if "op_type" not in trace.task:
        return np.zeros(0, np.int64)
    ids = trace.strings.matching(lambda text: type_matches(pattern, text))
    return context.tasks_in_window(np.isin(trace.task["op_type"], ids) & trace.tasks_of("kernel", "aicpu"))


def _bounded(context: Context, pattern: str, factor: float) -> Change:
    """An operator's kernels last `factor` times as long. limit: what could be gained if they took no time at all."""
    rows = operators(context, pattern)
    if not len(rows):
        return Change("op", {"op": pattern, "factor": factor}, None, "no_such_operator")
    task = context.trace.task
    total = intervals.length(intervals.union(task["start"][rows], task["end"][rows]))
    facts = {
        "op": pattern,
        "factor": factor,
        "count": len(rows),
        "total_ns": total,
        "window_share": total / context.length,
    }
    change = _changed(context, "op", Planned(facts, (Scale(rows, factor),)))
    return replace(change, limit=max(0, context.gain((Scale(rows, 0.0),))))


def spread(context: Context, streams: int) -> Planned:
    """The steps of the window take turns on so many streams. They are taken to be independent of each other."""
    trace, steps = context.trace, context.steps
    if not steps.judged:
        return Planned({"streams": streams}, why="no_steps")
    rows = context.tasks_in_window(~context.graph.chains.member)
    item = steps.of(context.launches.time[rows])
    task = trace.task
    cores = max(1, context.chip.aic)
    kernels = trace.tasks_of("kernel")[rows]
    blocks = column(trace, "task", "block_dim")[rows][kernels]
    length = (task["end"] - task["start"])[rows][kernels]
    known = blocks > 0
    fill = float((np.minimum(blocks, cores) * length)[known].sum() / max(1, length[known].sum()) / cores) if known.any() else 1.0
    room = max(1, min(streams, int(1 / fill + 1e-9)))
    facts = {"streams": streams, "items": steps.judged, "fill_share": fill, "room": room}
    return Planned(facts, (Spread(rows, item, streams, room),), "model", "medium" if known.any() else "low")
