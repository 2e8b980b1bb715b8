"""Latency of iterations as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from profiler import texts
from profiler.findings import Latency

SHOWN_ABOVE = 1.5  # P99 over P50 from which a report shows the section unasked
NUMBERS_MOST = 6  # of slow iterations that are named


def speaks(found: Latency | None) -> bool:
    """Whether the spread is worth a section that nobody asked for."""
    return found is not None and found.p99 > SHOWN_ABOVE * found.p50


def lines(found: Latency | None, lang: str = "en") -> Iterator[str]:
    """Percentiles, then what the slow iterations do that the fast ones do not."""
    if found is None:
        yield texts.label("latency", "unknown", lang)
        return
    facts = {"count": found.count, "p50_ns": found.p50, "p90_ns": found.p90, "p99_ns": found.p99}
    yield _said("title", facts, lang)
    if not found.slow:
        yield "  " + texts.label("latency", "none", lang)
        return
    ids = ", ".join(str(i) for i in found.slow[:NUMBERS_MOST]) + (" ..." if len(found.slow) > NUMBERS_MOST else "")
    extra = max(0, found.slow_mean - found.fast_mean)
    yield "  " + _said("slow", {"slow": len(found.slow), "ids": ids, "extra_ns": extra}, lang)
    for excess in found.excess:
        said = _said(excess.kind, excess._asdict(), lang)
        yield f"    {said}" + (f"  ({excess.site})" if excess.site else "")


def to_json(found: Latency | None) -> dict[str, Any] | None:
    """Times us; null without steady iterations."""
    if found is None:
        return None
    values = asdict(found)
    times = {f"{name}_us": values[name] / 1000 for name in ("p50", "p90", "p99", "slow_mean", "fast_mean")}
    excess = [
        {k: v for k, v in e._asdict().items() if not k.endswith("_ns")}
        | {"slow_us": e.slow_ns / 1000, "fast_us": e.fast_ns / 1000}
        for e in found.excess
    ]
    return {"count": found.count, **times, "slow": list(found.slow), "excess": excess}


def _said(part: str, facts: Mapping[str, object], lang: str) -> str:
    return texts.label("latency", part, lang).format(**texts.readable(facts))
