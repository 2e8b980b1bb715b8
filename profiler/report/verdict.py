"""A Report -> plain values for the page: findings with their texts, checklist, breakdown. Times count from the page's base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from npu.units import duration
from profiler.findings import Checked, Finding, Gain, Report

Texts = Callable[[Finding], tuple[str, str]]

EVIDENCE = 200  # places kept per finding; a rule that saw more has made its point
ROWS = 500  # rows outlined per place
LAYER_TITLES = {"graph": "Framework and graph", "host": "Host", "copy": "Copies", "operator": "Operators",
                "communication": "Communication"}
METHODS = {"replay": "replayed with measured costs", "model": "from the cost model", "bound": "an upper bound"}


def verdict(report: Report, base: int, texts: Texts) -> dict[str, Any]:
    """What the page shows of a report. texts gives (claim, advice) of a finding in the chosen language."""
    return {
        "source": report.source, "steps": report.steps,
        "window": [report.window[0] - base, report.window[1] - base],
        "findings": [_finding(f, base, texts) for f in report.findings],
        "checklist": [{"layer": c.layer, "title": LAYER_TITLES.get(c.layer, c.layer), "state": c.state, "text": checked_text(c)}
                      for c in report.checklist],
        "breakdown": [asdict(b) for b in report.breakdown],
        "joint": gain_text(report.joint),
        "quality": None if report.quality is None else asdict(report.quality),
        "missing": [list(m) for m in report.missing],
    }


def _finding(finding: Finding, base: int, texts: Texts) -> dict[str, Any]:
    claim, advice = texts(finding)
    places = [{"label": e.label, "start": e.start - base, "end": e.end - base, "table": e.table, "rows": list(e.rows[:ROWS]),
               "site": e.site} for e in finding.evidence[:EVIDENCE]]
    return {
        "id": finding.id, "number": finding.number, "layer": finding.layer, "severity": finding.severity, "claim": claim,
        "advice": advice, "gain": gain_text(finding.gain), "gainNs": 0 if finding.gain is None else finding.gain.ns,
        "evidence": places, "places": len(finding.evidence), "sites": list(finding.sites), "cause": finding.cause,
    }


def gain_text(gain: Gain | None) -> str:
    """How much, how it was found, how sure: "at most 3.20 ms, replayed with measured costs, high confidence"; "" for None."""
    if gain is None:
        return ""
    words = [("at most " if gain.at_most else "") + duration(gain.ns), METHODS.get(gain.method, gain.method),
             f"{gain.confidence} confidence"]
    if gain.on_all_ns is not None:
        words.append(f"on this rank alone; {duration(gain.on_all_ns)} if all ranks change alike")
    return ", ".join(words)


def checked_text(line: Checked) -> str:
    """One line of the checklist in words."""
    if line.state == "fine":
        return "fine"
    if line.state == "findings":
        return f"{line.count} finding{'s' if line.count != 1 else ''}, {duration(line.ns)}"
    return f"not measured because {line.why}" + (f"; switch it on with {line.switch}" if line.switch else "")
