"""A report as JSON: schema 1, additive changes only. Times in us where the name says _us, else in ns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from profiler import texts
from profiler.findings import Breakdown, Checked, Finding, Gain, JointReport, Report
from profiler.report import latency

SCHEMA = 1
TOOL = "npuscope"


def to_json(report: Report) -> dict[str, Any]:
    """Plain dicts, lists, texts and numbers; null where the source could not tell."""
    window = report.length
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "source": report.source,
        "window": {"start_ns": report.window[0], "end_ns": report.window[1], "length_us": window / 1000, "steps": report.steps},
        "ignored": {"ranges": report.ignored.ranges, "us": report.ignored.ns / 1000},
        "missing": [{"what": what, "why": why} for what, why in report.missing],
        "checklist": [_checked(line) for line in report.checklist],
        "findings": [_finding(f, window) for f in report.findings],
        "joint": gain_json(report.joint, window),
        "replay": None
        if report.quality is None
        else {
            "measured_us": report.quality.measured / 1000,
            "modelled_us": report.quality.modelled / 1000,
            "explained": report.quality.explained,
        },
        "breakdown": [_breakdown(b) for b in report.breakdown],
        "idle": [
            {
                "device": i.device,
                "us": i.time / 1000,
                "host_us": i.host / 1000,
                "reasons_us": {reason: ns / 1000 for reason, ns in i.reasons.items()},
            }
            for i in report.idle
        ],
        "model_errors": [e._asdict() for e in report.model_errors],
        "rows": dict(report.rows),
        "not_judged": [{"needs": u.need, "switch": u.switch, "rules": list(u.rules)} for u in report.unjudged],
        "latency": latency.to_json(report.latency),
        "meta": dict(report.meta),
    } | ({"views": {view.id: [dict(row) for row in view.rows] for view in report.views}} if report.views else {})


def joint_json(joint: JointReport) -> dict[str, Any]:
    """What several ranks say together: shares are of the mean step; breakdown by rank, device and step."""
    return {
        "step_us": joint.step / 1000,
        "ranks": [
            {
                "rank": r.rank,
                "source": r.source,
                **{
                    f"{name}_us": None if ns is None else ns / 1000
                    for name, ns in (
                        ("step", r.step_ns),
                        ("computing", r.computing_ns),
                        ("communication", r.communication_ns),
                        ("exposed_transfer", r.transfer_ns),
                        ("exposed_waiting", r.waiting_ns),
                        ("host_late", r.host_ns),
                        ("mean_lag", r.lag_ns),
                    )
                },
                "last_share": r.last_share,
                "breakdown": [_breakdown(b) for b in r.breakdown],
            }
            for r in joint.ranks
        ],
        "findings": [_finding(f, joint.step) for f in joint.findings],
        "named": list(joint.named),
        "meetings": joint.meetings,
        "absent": list(joint.absent),
        "failed": [{"what": what, "why": why} for what, why in joint.failed],
    }


def _checked(line: Checked) -> dict[str, Any]:
    return {
        "layer": line.layer,
        "state": line.state,
        "count": line.count,
        "us": line.ns / 1000,
        "why": line.why,
        "switch": line.switch,
        "text": texts.checked(line),
    }


def _finding(finding: Finding, window: int) -> dict[str, Any]:
    return {
        "id": finding.id,
        "number": finding.number,
        "layer": finding.layer,
        "severity": finding.severity,
        "cause": finding.cause or None,
        "title": texts.title(finding),
        "claim": texts.claim(finding),
        "advice": texts.advice(finding),
        "why": texts.why(finding),
        "facts": dict(finding.facts),
        "gain": gain_json(finding.gain, window),
        "sites": list(finding.sites),
        "settings": [{"name": s.name, "value": s.value, "text": texts.setting(s)} for s in finding.settings],
        "evidence": [
            {
                "label": e.label,
                "start_ns": e.start,
                "end_ns": e.end,
                "table": e.table,
                "rows": list(e.rows),
                "site": e.site,
                **({"stack": e.stack.splitlines()} if e.stack else {}),
            }
            for e in finding.evidence
        ],
    }


def gain_json(gain: Gain | None, window: int) -> dict[str, Any] | None:
    """A gain with its share of the window; null for None."""
    if gain is None:
        return None
    return {
        "us": gain.ns / 1000,
        "share": gain.ns / max(1, window),
        "method": gain.method,
        "confidence": gain.confidence,
        "at_most": gain.at_most,
        "on_all_us": None if gain.on_all_ns is None else gain.on_all_ns / 1000,
    }


def _breakdown(record: Breakdown) -> dict[str, Any]:
    values = asdict(record)
    places = {name: values.pop(name) for name in ("rank", "device", "step")}
    return places | {f"{name}_us": None if value is None else value / 1000 for name, value in values.items()}
