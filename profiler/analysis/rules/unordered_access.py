"""Rule 72: accesses to memory that nothing orders, as `msprof run --check-hazards` has found them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from profiler.analysis.context import Context
from profiler.analysis.judge import Name
from profiler.findings import Finding

NAME = Name("unordered-access", 72, "host")
NO_WAIT, CHANGED, UNWRITTEN = "access-before-wait", "buffer-changed-in-flight", "unwritten-memory"


def unordered_access(context: Context) -> Iterator[Finding]:
    """Fires for every hazard in a capture of `msprof run --check-hazards`: two streams that use the same bytes without an event,
    notify or wait between them, one of the two writing; the host that uses what a stream still works on; host code that changes a
    page-locked buffer in flight; reading device memory that nothing has written. No gain: results are wrong, not late."""
    yield from of(context.trace.meta.get("hazards"))


def of(hazards: object) -> Iterator[Finding]:
    """What a capture's list of hazards says; nothing where none was made."""
    for one in hazards if isinstance(hazards, list) else ():
        if isinstance(one, dict) and isinstance(one.get("first"), dict) and isinstance(one.get("second"), dict):
            yield _finding(one, one["first"], one["second"])


def _finding(one: Mapping[str, object], first: Mapping[str, object], second: Mapping[str, object]) -> Finding:
    kind = str(one.get("kind", ""))
    facts: dict[str, object] = {
        "kind": kind,
        "count": one.get("count", 1),
        "shared_bytes": one.get("bytes", 0),
        "allocated": one.get("allocated") or "-",
    }
    for which, call in (("first", first), ("second", second)):
        facts |= {which: call.get("name") or "-", f"{which}_site": call.get("site") or "-"}
        facts[f"{which}_stream"] = str(call.get("stream"))
    id = {"changed": CHANGED, "unwritten": UNWRITTEN}.get(kind, NO_WAIT if second.get("stream") == -1 else NAME.id)
    sites = tuple(str(call["site"]) for call in (first, second) if call.get("site"))
    return Finding(id, NAME.number, NAME.layer, "critical", facts, None, sites=sites)
