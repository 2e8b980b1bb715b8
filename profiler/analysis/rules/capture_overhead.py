"""Rule 1: collecting the profile makes the gaps between kernels."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import CAPTURE, CRITICAL, NOTE, WARNING, Name
from profiler.analysis.views.gap_floor import Floor
from profiler.findings import Evidence, Finding

NAME = Name("capture-overhead", 1, CAPTURE)
LIGHT = 2_000  # ns; a usual gap behind a queued kernel
SLOW_LAUNCH = 10_000  # ns; twice the usual 5 us of a launch (spec of the analyzer, section 1, unverified)
HEAVY = ("l2_cache", "with_stack", "stack", "profile_memory", "with_modules", "msprof_tx", "sys_io", "sys_interconnection")
HEAVY_LEVELS = ("Level2",)
MANY = 2  # heavy switches


def capture_overhead(context: Context) -> Iterator[Finding]:
    """Fires when kernels that had long been queued still begin more than 20 us after their predecessor: no host is late there,
    and a device without collection needs 2 us. Fires as a note when heavy collection switches are on and launches take over
    twice their usual time. No gain: it says what all other gains are reduced by."""
    floors = [f for f in context.views.floors.values() if f.collecting]
    switches = heavy(context)
    if floors:
        yield _floor(context, max(floors, key=lambda f: f.cost), switches)
    elif len(switches) >= MANY and context.views.launch_bound.kernels and context.views.launch_bound.launch > SLOW_LAUNCH:
        facts = {"switches": ", ".join(switches), "launch_ns": context.views.launch_bound.launch}
        yield Finding("capture-heavy", NAME.number, CAPTURE, "note", facts, None)


def _floor(context: Context, floor: Floor, switches: list[str]) -> Finding:
    facts = {
        "floor_ns": floor.ns,
        "queued": floor.queued,
        "half_ns": floor.half,
        "pairs": floor.pairs,
        "usual_ns": LIGHT,
        "cost_ns": floor.cost,
        "most_ns": floor.most,
        "cost_share": floor.cost / context.length,
        "switches": ", ".join(switches) or "-",
    }
    share = floor.cost / context.length
    severity = "critical" if share >= CRITICAL else "warning" if share >= WARNING else "note"
    evidence = (Evidence("", context.window[0], context.window[1]),) if share >= NOTE else ()
    return Finding(NAME.id, NAME.number, CAPTURE, severity, facts, None, evidence)


def heavy(context: Context) -> list[str]:
    """Switches of the collection that are known to cost much, as far as the source tells them."""
    collection = context.trace.meta.get("collection", {})
    if not isinstance(collection, dict):
        return []
    found = [name for name in HEAVY if collection.get(name) in (True, "on", "true", "True")]
    level = str(collection.get("level", ""))
    return found + [level] * (level in HEAVY_LEVELS)
