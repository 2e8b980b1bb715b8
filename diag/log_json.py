"""A log verdict as JSON, schema 1 as the other reports: findings first cause, then consequences, then notes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from diag.log_report import Finding, LogReport
from diag.log_text import localised, said
from diag.plog import Line


def clock(ns: int | None) -> str:
    """2025-09-14 22:10:56.970214 as the log's host counted, "" for an unknown time."""
    if ns is None:
        return ""
    whole, rest = divmod(ns, 1_000_000_000)
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return text if rest == 999_999_000 else f"{text}.{rest // 1000:06d}"  # told to the second only: see plog


def to_json(report: LogReport, language: str) -> dict[str, Any]:
    parts = [("cause", [report.cause] if report.cause is not None else [])]
    parts += [("consequence", report.consequences), ("note", report.notes)]
    return {
        "schema": 1,
        "tool": "npu-diag log",
        "source": report.source,
        "missing": [{"what": what, "why": why} for what, why in report.missing],
        "findings": [_finding(f, role, language) for role, findings in parts for f in findings],
        "codes": [
            {
                "form": s.code.form,
                "code": s.code.code,
                "written": s.code.written,
                "name": s.code.name,
                "meaning": s.code.meaning[language],
                "returned_by": s.returned_by or None,
                "file": s.line.file,
                "line": s.line.number,
            }
            for s in report.codes
        ],
        "waited_for": [{"rank": rank, "lines": count} for rank, count in report.waiting.items()],
        "differing_ranks": [{"rank": rank, "lines": count} for rank, count in report.differing.items()],
        "silent_ranks": report.silent,
        "facts": report.facts,
        "read": {
            "files": report.files,
            "lines": report.counted.lines,
            "errors": report.counted.errors,
            "warnings": report.counted.warnings,
        },
    }


def _finding(finding: Finding, role: str, language: str) -> dict[str, Any]:
    texts = said(finding, language)
    return {
        "id": finding.cause,
        "role": role,
        "severity": {"cause": "critical", "consequence": "warning", "note": "note"}[role],
        "title": texts.title,
        "claim": texts.meaning,
        "advice": list(texts.do),
        "commands": list(texts.commands),
        "collect": [{"what": what, "command": command or None} for what, command in texts.collect],
        "facts": localised(finding.facts, language),
        "count": finding.count,
        "ranks": list(finding.ranks),
        "codes": [c.code for c in finding.codes],
        "evidence": [_evidence(line) for line in finding.lines],
    }


def _evidence(line: Line) -> dict[str, Any]:
    return {
        "file": line.file,
        "line": line.number,
        "time": clock(line.time) or None,
        "module": line.module or None,
        "family": line.family or None,
        "pid": line.pid,
        "rank": line.rank,
        "device": line.device,
        "site": line.where or None,
        "text": line.text,
    }
