"""Two profiles side by side (view V18): where the time per step changed, by layer and by operator, call and collective.

1. Both windows are reduced to one mean step. The wall time of a step is split without rest: computing, communication that
   nothing computes beside, copies beside neither, idle time by who was late (host or device); so the differences of the
   layers add up to the difference of the wall time.
2. Noise is twice the larger median absolute deviation of the step lengths; smaller differences are "same". Where that is more
   than MODES of a step, steps are of several kinds rather than noisy, and a mean of many is known better than one of them: then
   it is at most ERRORS standard errors of the difference of the means.
3. Rows are matched by what they are: operators by type, shapes and element types, calls by name, collectives by kind, bytes
   and group size. Spelling differences between tools (DT_FLOAT16, quotes around shapes) do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from npu import events
from profiler import intervals
from profiler.analysis import breakdown, compare_sums, critical_path
from profiler.analysis.calls import outer_calls
from profiler.analysis.context import Context
from profiler.analysis.groups import combined
from profiler.findings import Comparison, Difference
from profiler.intervals import Spans
from profiler.trace import Array, Columns, Trace, Unreadable

NOISE = 2  # times the larger MAD of the steps (view V18)
MODES, ERRORS = 0.25, 3
COUNT_SHARE = 0.02  # occurrences that differ by less are the same number
TIME_SHARE = 0.01  # of the time a row takes: smaller changes are "same" whatever the noise
LAYERS = ("computing", "communication", "copies", "host", "device")


class Side(NamedTuple):
    """One profile, per step. rows: (layer, name) -> (ns, occurrences, ns on the critical path). lengths: ns of the steps whose
    scatter tells the noise; empty for too few."""

    wall: int
    layers: dict[str, int]
    rows: dict[tuple[str, str], tuple[float, float, float]]
    lengths: Array
    steps: int


def compare(a: Trace, b: Trace) -> Comparison:
    """b against a, ns per step. The rows come by the size of their difference; rows equal on both sides are left out. Profiles of
    sums are compared by their sums. Unreadable for one that holds nothing to compare, and for sums against rows in time."""
    bare = [compare_sums.sums_only(t) for t in (a, b)]
    if any(bare) and not all(bare):
        raise Unreadable(
            f"{(a, b)[bare.index(True)].source} holds sums without rows in time, the other profile has them",
            "compare two profiles of one kind: two timelines (or files of kernels), or two tables of the same name",
        )
    before, after = (_side_of_sums(t) if all(bare) else _side(Context(t)) for t in (a, b))
    noise = _noise(before, after)
    layers = tuple(_layer(name, before, after, noise) for name in LAYERS)
    names = dict.fromkeys((*before.rows, *after.rows))
    rows = [_row(layer, name, before.rows.get((layer, name)), after.rows.get((layer, name))) for layer, name in names]
    changed = sorted((r for r in rows if r.kind != "same"), key=lambda r: -abs(r.b_ns - r.a_ns))
    missing = tuple((f"{side}: {m.what}", m.why) for side, t in (("A", a), ("B", b)) for m in t.missing)
    return Comparison(
        str(a.source), str(b.source), before.steps, after.steps, before.wall, after.wall, noise, layers, tuple(changed), missing,
        all(bare),
    )  # fmt: skip


def pairs(a: Sequence[Trace], b: Sequence[Trace]) -> list[tuple[Trace, Trace]]:
    """Which captures of two profiles to compare: those of one rank; without common ranks those at one place."""
    ranks = {t.meta["rank"]: t for t in b if "rank" in t.meta}
    found = [(t, ranks[t.meta["rank"]]) for t in a if t.meta.get("rank") in ranks]
    return found or list(zip(a, b, strict=False))


def _side(context: Context) -> Side:
    steps = context.steps
    layers = _layers(context)
    rows: dict[tuple[str, str], tuple[float, float, float]] = {}
    path = critical_path.on_path(context.graph, context.replay.ends)
    for source in (_operators, _copies, _calls, _collectives):
        for layer, name, ns, count, on_path in source(context, path):
            old = rows.get((layer, name), (0.0, 0.0, 0.0))
            new = (ns / context.count, count / context.count, on_path / context.count)
            rows[layer, name] = old[0] + new[0], old[1] + new[1], old[2] + new[2]
    lengths = (steps.ends - steps.starts)[len(steps.starts) - steps.judged :]
    return Side(sum(layers.values()), layers, rows, lengths if steps.steady else lengths[:0], steps.judged)


def _side_of_sums(trace: Trace) -> Side:
    layers = dict.fromkeys(LAYERS, 0) | compare_sums.layers(trace)
    wall = sum(layers.values())
    if not wall:
        raise Unreadable(
            f"{trace.source} holds nothing that can be compared",
            "give profiles with kernels, calls or collectives, or their sums (step_trace_time, op_statistic, api_statistic)",
        )
    return Side(wall, layers, compare_sums.rows(trace), compare_sums.lengths(trace), compare_sums.steps_of(trace))


def _noise(a: Side, b: Side) -> int | None:
    """Difference of mean steps, ns, up to which nothing is said; None where the steps of a side are too few."""
    if not len(a.lengths) or not len(b.lengths):
        return None
    usual = NOISE * max(int(np.median(np.abs(s.lengths - np.median(s.lengths)))) for s in (a, b))
    if usual <= MODES * min(a.wall, b.wall):
        return usual
    errors = [float(np.var(s.lengths)) / max(1, len(s.lengths) - 1) for s in (a, b)]
    return min(usual, round(ERRORS * sqrt(sum(errors))))


def _layers(context: Context) -> dict[str, int]:
    """The parts of the mean step, mean over devices. The largest rest of rounding goes to the host."""
    trace, window = context.trace, context.window
    whole = intervals.union(np.array([window[0]]), np.array([window[1]]))
    sums = dict.fromkeys(LAYERS, 0)
    devices = breakdown.devices(trace)
    for device in devices:
        work = breakdown.Work(trace, device)
        computing = _inside(trace.task, work.computing, whole)
        collectives = _inside(trace.comm, work.collectives, whole)
        busy = intervals.union(*(np.concatenate(side) for side in zip(computing, collectives, strict=True)))
        copies = intervals.subtract(_inside(trace.task, work.copies, whole), busy)
        idle = context.idle[device]
        late, all_idle = int(idle.late.sum()), int((idle.ends - idle.starts).sum())
        parts = (
            intervals.length(computing),
            intervals.length(intervals.subtract(collectives, computing)),
            intervals.length(copies),
            late,
            all_idle - late,
        )
        for name, part in zip(LAYERS, parts, strict=True):
            sums[name] += part
    if not devices:
        sums["host"] = context.length
    share = context.count * max(1, len(devices))
    made = {name: total // share for name, total in sums.items()}
    made["host"] += (sum(sums.values()) // share) - sum(made.values())
    return made


def _inside(table: Columns, mask: Array, window: Spans) -> Spans:
    rows = np.flatnonzero(mask)
    if not len(rows):
        return intervals.union(rows, rows)
    return intervals.intersect(intervals.union(table["start"][rows], table["end"][rows]), window)


Row = tuple[str, str, int, int, int]


def _summed(layer: str, names: list[str], number: Array, duration: Array, path: Array) -> Iterator[Row]:
    """Per class: its time, its occurrences, its time on the critical path."""
    count = len(names)
    times, on_path = np.bincount(number, duration, count), np.bincount(number, duration * path, count)
    counts = np.bincount(number, minlength=count)
    for i, name in enumerate(names):
        yield layer, name, int(times[i]), int(counts[i]), int(on_path[i])


def _operators(context: Context, path: Array) -> Iterator[Row]:
    """Kernels and AI CPU tasks outside collectives, by operator type, input shapes and input element types."""
    trace = context.trace
    task, chains = trace.task, context.graph.chains
    if not task:
        return
    rows = context.tasks_in_window(trace.tasks_of("kernel", "aicpu") & ~chains.member)
    columns = [task[n][rows] for n in ("op_type", "in_shapes", "in_dtypes") if n in task]
    if not len(rows) or not columns:
        return
    number = combined(*columns)
    _, first = np.unique(number, return_index=True)
    names = [_operator_name(trace, int(rows[f])) for f in first]
    yield from _summed("computing", names, number, (task["end"] - task["start"])[rows], path[chains.task[rows]])


def _operator_name(trace: Trace, row: int) -> str:
    parts = [trace.strings[int(trace.task[n][row])] for n in ("op_type", "in_shapes", "in_dtypes") if n in trace.task]
    if not parts[0] and "name" in trace.task:
        parts[0] = trace.strings[int(trace.task["name"][row])]
    return " ".join(p.replace('"', "").replace("DT_", "") for p in parts if p and p != "N/A")


def _copies(context: Context, path: Array) -> Iterator[Row]:
    """Copies outside collectives, by direction."""
    trace = context.trace
    task, chains = trace.task, context.graph.chains
    rows = context.tasks_in_window(trace.tasks_of("copy", "memset") & ~chains.member) if task else np.zeros(0, np.int64)
    if not len(rows):
        return
    known = task.get("direction")
    number = (known[rows].astype(np.int64) if known is not None else np.full(len(rows), -1)) + 1
    names = ["copy", *(f"copy {d}" for d in events.DIRECTIONS)]
    yield from _summed("copies", names, number, (task["end"] - task["start"])[rows], path[chains.task[rows]])


def _calls(context: Context, path: Array) -> Iterator[Row]:
    """Calls that lie in no other one, by name."""
    trace = context.trace
    chains, api = context.graph.chains, trace.api
    if not api:
        return
    rows = outer_calls(trace)
    rows = rows[(api["start"][rows] >= context.window[0]) & (api["start"][rows] < context.window[1])]
    if not len(rows):
        return
    found, number = np.unique(api["name"][rows], return_inverse=True)
    names = [trace.strings[int(n)] for n in found]
    on_path = path[chains.call_end[rows]] & path[chains.call_start[rows]]
    yield from _summed("host", names, number, (api["end"] - api["start"])[rows], on_path)


def _collectives(context: Context, path: Array) -> Iterator[Row]:
    """Collectives by kind, bytes and number of ranks."""
    trace, comm, chains = context.trace, context.trace.comm, context.graph.chains
    if not comm:
        return
    rows = np.flatnonzero((comm["level"] == events.COMM_LEVELS.index("op")) & (comm["start"] < context.window[1]))
    rows = rows[comm["end"][rows] > context.window[0]]
    if not len(rows):
        return
    size, world = comm.get("bytes"), context.trace.meta.get("world_size")
    labels = []
    for row in rows.tolist():
        kind = trace.strings[int(comm["name"][row])].split("__")[0].rstrip("_0123456789")
        carried = f" {int(size[row])} B" if size is not None and size[row] >= 0 else ""
        labels.append(kind + carried + (f" {world} ranks" if world else ""))
    names = list(dict.fromkeys(labels))
    number = np.array([names.index(label) for label in labels])
    nodes = chains.collective[rows]
    yield from _summed(
        "communication", names, number, (comm["end"] - comm["start"])[rows], path[np.maximum(nodes, 0)] & (nodes >= 0)
    )


def _layer(name: str, a: Side, b: Side, noise: int | None) -> Difference:
    before, after = a.layers[name], b.layers[name]
    same = abs(after - before) <= max(noise or 0, TIME_SHARE * a.wall)
    kind = "same" if same else "slower" if after > before else "faster"
    return Difference(name, "", before, after, 1.0, 1.0, 0, 0, kind)


def _row(layer: str, name: str, a: tuple[float, float, float] | None, b: tuple[float, float, float] | None) -> Difference:
    """One row with the reason it changed: it is new or gone, it runs more or less often, or each time takes longer or not."""
    a_ns, a_count, a_path = a or (0.0, 0.0, 0.0)
    b_ns, b_count, b_path = b or (0.0, 0.0, 0.0)
    if abs(b_ns - a_ns) <= TIME_SHARE * max(a_ns, b_ns):
        kind = "same"
    elif not a_count or not b_count:
        kind = "gone" if a_count else "new"
    elif abs(b_count - a_count) > COUNT_SHARE * a_count:
        kind = "more" if b_count > a_count else "fewer"
    else:
        kind = "slower" if b_ns > a_ns else "faster"
    return Difference(
        layer, name, round(a_ns), round(b_ns), round(a_count, 2), round(b_count, 2), round(a_path), round(b_path), kind
    )
