"""A Report -> plain values for the page: findings with their texts, checklist, breakdown. Times count from the page's base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from npu.units import duration
from profiler.findings import Finding, Gain, Report
from profiler.report.model_errors import sentence
from profiler.report.words import say
from profiler.texts import checked

Texts = Callable[[Finding], tuple[str, str]]

EVIDENCE = 200  # places kept per finding; a rule that saw more has made its point
ROWS = 500  # rows outlined per place


def verdict(report: Report, base: int, texts: Texts, lang: str = "en") -> dict[str, Any]:
    """What the page shows of a report. texts gives (claim, advice) of a finding in the chosen language."""
    return {
        "source": report.source,
        "steps": report.steps,
        "window": [report.window[0] - base, report.window[1] - base],
        "findings": [_finding(f, base, texts, lang) for f in report.findings],
        "checklist": [
            {"layer": c.layer, "title": say(f"layer.{c.layer}", lang), "state": c.state, "text": checked(c, lang)}
            for c in report.checklist
        ],
        "breakdown": [asdict(b) for b in report.breakdown],
        "joint": gain_text(report.joint, lang),
        "quality": None if report.quality is None else asdict(report.quality),
        "modelErrors": sentence(report.model_errors, lang),
        "missing": [list(m) for m in report.missing],
    }


def _finding(finding: Finding, base: int, texts: Texts, lang: str) -> dict[str, Any]:
    claim, advice = texts(finding)
    places = [
        {
            "label": e.label,
            "start": e.start - base,
            "end": e.end - base,
            "table": e.table,
            "rows": list(e.rows[:ROWS]),
            "site": e.site,
            **({"stack": e.stack} if e.stack else {}),
        }
        for e in finding.evidence[:EVIDENCE]
    ]
    return {
        "id": finding.id,
        "number": finding.number,
        "layer": finding.layer,
        "severity": finding.severity,
        "claim": claim,
        "advice": advice,
        "gain": gain_text(finding.gain, lang),
        "gainTime": _time(finding.gain, lang),
        "gainNs": 0 if finding.gain is None else finding.gain.ns,
        "evidence": places,
        "places": len(finding.evidence),
        "sites": list(finding.sites),
        "cause": finding.cause,
    }


def gain_text(gain: Gain | None, lang: str = "en") -> str:
    """How much, how it was found, how sure: "at most 3.20 ms, replayed with measured costs, high confidence"; "" for None."""
    if gain is None:
        return ""
    words = [_time(gain, lang), say(f"gain.{gain.method}", lang), say(f"gain.{gain.confidence}", lang)]
    if gain.on_all_ns is not None:
        words.append(say("gain.alone", lang, time=duration(gain.on_all_ns)))
    return say("comma", lang).join(words)


def _time(gain: Gain | None, lang: str) -> str:
    if gain is None:
        return ""
    return say("gain.at.most", lang, time=duration(gain.ns)) if gain.at_most else duration(gain.ns)
