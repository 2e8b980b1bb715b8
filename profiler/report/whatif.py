"""A what-if for people and for scripts: each change with its gain, the joint gain, and how far the replay can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu.units import duration
from profiler import texts
from profiler.findings import Change, Gain, ReplayQuality, WhatIf
from profiler.report.json_report import SCHEMA, TOOL, gain_json

INDENT = "   "
MOSTLY = 0.5  # of the critical path; where less is explained, gaps of unknown cause decide and stay as they are


def lines(made: WhatIf, lang: str = "en") -> Iterator[str]:
    """The text, line by line."""
    window = made.length
    kind = "steps" if made.steps else "span"
    left_out = f" ({texts.ignored(made.ignored, lang)})" if made.ignored.ranges else ""
    yield _word(kind, lang).format(source=made.source, window=duration(window), steps=made.steps) + left_out
    for number, change in enumerate(made.changes, 1):
        yield ""
        yield f"{number}. {_said(change, 'title', lang)}"
        if change.gain is None:
            yield INDENT + str(texts.table(lang)["whatif_why"][change.why]).format(**texts.readable(change.facts))
            continue
        yield INDENT + _said(change, "claim", lang)
        yield f"{INDENT}{_word('gain', lang)}{texts.label('word', 'colon', lang)}{_gain(change.gain, window, lang)}"
        if change.limit is not None:
            limit = f"{duration(change.limit)} ({texts.percent(change.limit / max(1, window))})"
            yield INDENT + _word("limit", lang).format(limit=limit)
        yield f"{INDENT}{_word('assumes', lang)}{texts.label('word', 'colon', lang)}{_said(change, 'assumes', lang)}"
    yield ""
    if made.joint is not None:
        after = max(0, window - made.joint.ns)
        yield _word("joint", lang).format(gain=_gain(made.joint, window, lang), before=duration(window), after=duration(after))
    yield quality(made.quality, lang)
    if made.missing:
        yield ""
        yield f"{texts.label('word', 'missing', lang)}{texts.label('word', 'colon', lang)}".rstrip()
        yield from (f"  {what}: {why}" for what, why in made.missing)


def quality(found: ReplayQuality, lang: str) -> str:
    """How far a replay can be trusted, in one sentence; in two where little of the window is explained."""
    off = abs(found.modelled - found.measured) / max(1, found.measured)
    said = texts.label("word", "quality", lang) + (texts.label("word", "quality_low", lang) if found.explained < MOSTLY else "")
    return said.format(
        modelled=duration(found.modelled),
        measured=duration(found.measured),
        off=texts.percent(off),
        explained=texts.percent(found.explained),
    )


def to_json(made: WhatIf) -> dict[str, Any]:
    """Schema 1. Times in us where the name says so; null where nothing could be changed."""
    window = made.length
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "source": made.source,
        "window": {"start_ns": made.window[0], "end_ns": made.window[1], "length_us": window / 1000, "steps": made.steps},
        "ignored": {"ranges": made.ignored.ranges, "us": made.ignored.ns / 1000},
        "missing": [{"what": what, "why": why} for what, why in made.missing],
        "changes": [
            {
                "id": c.id,
                "facts": dict(c.facts),
                "gain": gain_json(c.gain, window),
                "why": c.why or None,
                "limit_us": None if c.limit is None else c.limit / 1000,
                "assumes": _said(c, "assumes", "en") if c.gain is not None else None,
            }
            for c in made.changes
        ],
        "joint": gain_json(made.joint, window),
        "replay": {
            "measured_us": made.quality.measured / 1000,
            "modelled_us": made.quality.modelled / 1000,
            "explained": made.quality.explained,
        },
        "meta": dict(made.meta),
    }


def _gain(found: Gain, window: int, lang: str) -> str:
    if found.ns >= 0:
        return texts.gain(found, window, lang)
    return _word("slower", lang).format(time=duration(-found.ns), share=texts.percent(-found.ns / max(1, window)))


def _said(change: Change, part: str, lang: str) -> str:
    return str(texts.table(lang)["whatif"][change.id][part]).format(**texts.readable(change.facts))


def _word(name: str, lang: str) -> str:
    return texts.label("whatif_word", name, lang)
