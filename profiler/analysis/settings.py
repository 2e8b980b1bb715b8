"""Settings of the environment that bear on a finding (data/settings.csv). They are lines under findings whose cost was seen: an
environment alone, default or not, never makes one."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import NamedTuple

from profiler.findings import Finding, Setting


class Known(NamedTuple):
    """One row. when: `is` (one of the values), `set`, `absent`, `lacks` (a text inside it), `below` (a number). launch_ns: it
    speaks only where a launch takes longer; 0 for any."""

    name: str
    when: str
    value: str
    findings: tuple[str, ...]
    launch_ns: int


@cache
def table() -> tuple[Known, ...]:
    text = resources.files("profiler.analysis").joinpath("data/settings.csv").read_text(encoding="utf-8")
    return tuple(
        Known(r["setting"], r["when"], r["value"], tuple(r["findings"].split()), int(r["launch_ns"] or 0))
        for r in csv.DictReader(text.splitlines())
    )


def noted(findings: Sequence[Finding], environ: object) -> list[Finding]:
    """The findings with the settings that bear on them. A source that does not tell its environment has none."""
    if not isinstance(environ, Mapping) or not environ:
        return list(findings)
    return [replace(f, settings=tuple(_about(f, environ))) if not f.cause else f for f in findings]


def _about(finding: Finding, environ: Mapping[object, object]) -> list[Setting]:
    cost = finding.facts.get("launch_ns", 0)
    launch = cost if isinstance(cost, int | float) else 0
    return [
        Setting(known.name, str(environ.get(known.name, "")))
        for known in table()
        if finding.id in known.findings and _holds(known, environ) and (not known.launch_ns or launch > known.launch_ns)
    ]


def _holds(known: Known, environ: Mapping[object, object]) -> bool:
    given = environ.get(known.name)
    if given is None or given == "":
        return known.when in ("absent", "lacks")
    text = str(given)
    match known.when:
        case "is":
            return text in known.value.split()
        case "set":
            return True
        case "lacks":
            return known.value not in text
        case "below":
            return text.isdigit() and int(text) < int(known.value)
    return False
