"""Rule 3: the steps do not settle, so a mean of them says little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu import events
from profiler.analysis.context import Context
from profiler.analysis.judge import CAPTURE, Name
from profiler.analysis.rules.in_sums import steps_alone
from profiler.analysis.statistics import OUTLIER, OUTLIERS_MOST, outliers, step_lengths
from profiler.analysis.steps import STEADY_MIN
from profiler.findings import Evidence, Finding
from profiler.trace import Array, Columns

NAME = Name("no-steady-state", 3, CAPTURE)
MODES = 1.5  # ratio of the medians of two modes
MODE_MIN = 0.25  # of the steps in the smaller mode
TREND = 0.2  # growth over the window, of the median
TREND_FIT = 0.8  # R squared
TREND_MIN = 6  # steps a trend or two modes need


def no_steady_state(context: Context) -> Iterator[Finding]:
    """Fires for two or more steps of which fewer than three are steady; for step times in two modes (medians apart by half); for
    step times that grow or shrink by a fifth along a line; and for single steps of over three times the median, each with
    the call that takes the extra time. Silent for a program without repetition. No gain. With the sums of steps only, such single
    steps."""
    if steps_alone(context) is not None:
        yield from _outliers_in_sums(context)
        return
    steps = context.steps
    if len(steps.starts) < 2:
        return
    if not steps.steady:
        facts = {"steps": len(steps.starts), "steady": len(steps.starts) - steps.first, "least": STEADY_MIN}
        yield Finding(NAME.id, NAME.number, CAPTURE, "note", facts, None)
        return
    length = (steps.ends - steps.starts)[steps.first :].astype(np.int64)
    if steps.kind != "marker":
        length = length[:-1]  # the last one holds the drain of the device
    median = float(np.median(length))
    slow = np.flatnonzero(length > OUTLIER * median)
    if 0 < len(slow) <= max(1, OUTLIERS_MOST * len(length)):
        yield _outliers(context, length, slow, int(median))
        return
    if len(length) < TREND_MIN:
        return
    modes = _modes(length)
    if modes is not None:
        low, high = length[modes], length[~modes]
        facts = {"low": len(low), "high": len(high), "low_ns": int(np.median(low)), "high_ns": int(np.median(high))}
        yield Finding("step-modes", NAME.number, CAPTURE, "note", facts, None)
        return
    growth, fit = _trend(length)
    if abs(growth) >= TREND * median and fit >= TREND_FIT:
        drift = {"steps": len(length), "first_ns": int(length[0]), "last_ns": int(length[-1]), "growth_share": growth / median}
        yield Finding("step-trend", NAME.number, CAPTURE, "note", drift, None)


def _outliers(context: Context, length: Array, slow: Array, median: int) -> Finding:
    steps = context.steps
    worst = int(slow[np.argmax(length[slow])])
    at = steps.first + worst
    name, extra = _extra(context, at)
    facts = {
        "count": len(slow),
        "steps": ", ".join(str(int(i)) for i in steps.ids[steps.first + slow[:5]]),
        "longest_ns": int(length[worst]),
        "median_ns": median,
        "call": name or "-",
        "extra_ns": extra,
    }
    evidence = (Evidence(str(int(steps.ids[at])), int(steps.starts[at]), int(steps.ends[at])),)
    return Finding("outlier-step", NAME.number, CAPTURE, "note", facts, None, evidence)


def _outliers_in_sums(context: Context) -> Iterator[Finding]:
    length = step_lengths(context.trace)
    slow = outliers(length)
    if not slow:
        return
    ids = context.trace.meta["tables"]["step_trace_time"].get("step", [])
    shown = [str(ids[i]) if i < len(ids) and ids[i] is not None else f"#{i + 1}" for i in slow[:5]]
    facts = {
        "case": "sums",
        "count": len(slow),
        "steps": ", ".join(shown),
        "longest_ns": max(length[i] for i in slow),
        "median_ns": int(np.median(length)),
    }
    yield Finding("outlier-step", NAME.number, CAPTURE, "note", facts, None)


def _extra(context: Context, step: int) -> tuple[str, int]:
    """The call (or collection, or wait for data) whose time in that step exceeds its mean over the other steady steps the most,
    and by how much, ns."""
    trace, steps = context.trace, context.steps
    tables = [t for t in (trace.api, _named(context)) if t]
    if not tables:
        return "", 0
    name, start, end = (np.concatenate([t[n] for t in tables]) for n in ("name", "start", "end"))
    inside = steps.of(start)
    good = inside >= steps.first
    names, position = np.unique(name[good], return_inverse=True)
    time = (end - start)[good]
    here, others = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    mine = inside[good] == step
    np.add.at(here, position[mine], time[mine])
    np.add.at(others, position[~mine], time[~mine])
    if not len(names):
        return "", 0
    excess = here - others / max(1, len(steps.starts) - steps.first - 1)
    best = int(np.argmax(excess))
    return (trace.strings[int(names[best])], int(excess[best])) if excess[best] > 0 else ("", 0)


def _named(context: Context) -> Columns:
    """Markers that tell a reason."""
    marker = context.trace.marker
    if not marker:
        return Columns()
    return marker.take(np.flatnonzero(np.isin(marker["kind"], [events.MARKERS.index(k) for k in ("gc", "dataloader")])))


def _modes(length: Array) -> Array | None:
    """Mask of the faster of two modes: split at the widest gap of the sorted lengths, both sides narrow and far apart."""
    ordered = np.sort(length)
    least = max(STEADY_MIN, int(MODE_MIN * len(ordered)))
    inner = np.diff(ordered)[least - 1 : len(ordered) - least]
    if not len(inner):
        return None
    border = ordered[least - 1 + int(np.argmax(inner))]
    fast: Array = length <= border
    if min(int(fast.sum()), int((~fast).sum())) < least:
        return None
    low, high = length[fast], length[~fast]
    spread = max(float(low.max() - low.min()), float(high.max() - high.min()))
    apart = float(high.min() - low.max())
    return fast if np.median(high) >= MODES * np.median(low) and apart > spread else None


def _trend(length: Array) -> tuple[float, float]:
    """(growth over all steps along the fitted line, R squared)."""
    x = np.arange(len(length), dtype=float)
    x -= x.mean()
    y = length - length.mean()
    total = float((y * y).sum())
    if not total:
        return 0.0, 0.0
    slope = float((x * y).sum() / (x * x).sum())
    return slope * (len(length) - 1), float((slope * x * y).sum() / total)
