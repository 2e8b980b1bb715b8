"""A checkup in words: texts/<lang>.toml by id of the defect; and as JSON."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from profiler.check.defect import Checkup, Defect, Sound
from profiler.texts import readable

SCHEMA = 1


@cache
def table(lang: str) -> dict[str, Any]:
    """The texts of the defects. FileNotFoundError for a language there is no file for."""
    text = resources.files("profiler.check").joinpath(f"texts/{lang}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def part(defect: Defect, which: str, lang: str = "en") -> str:
    """One text of a defect: what, views or do."""
    plain = {n: v if isinstance(v, str) else str(v) for n, v in defect.facts.items() if n in ("pid", "largest", "path")}
    facts = {**readable(defect.facts), **plain, "count": f"{defect.count:,}", "examples": ", ".join(defect.examples)}
    return str(table(lang)["defect"][defect.id][which]).format(where=defect.where, **facts)


def line(defect: Defect, lang: str = "en") -> str:
    """Severity, where, what: one line."""
    words = table(lang)["word"]
    shown = words["examples"].format(names=", ".join(defect.examples)) if defect.examples else ""
    return f"{words[defect.severity]}{words['colon']}{defect.where}{words['colon']}{part(defect, 'what', lang)}{shown}"


def advice(defect: Defect, lang: str = "en") -> str:
    """Which views it spoils and what to do about it: one line."""
    words = table(lang)["word"]
    return f"{words['affects']}{part(defect, 'views', lang)}{words['stop']}{words['next']}{part(defect, 'do', lang)}"


def sound(held: Sound, lang: str = "en") -> str:
    """What a timeline holds."""
    facts: dict[str, object] = {n: getattr(held, n) for n in Sound.__slots__ if n not in ("where", "span")}
    return str(table(lang)["word"]["sound"]).format(where=held.where, **readable({**facts, "span_ns": held.span}))


def lines(found: Checkup, lang: str = "en") -> list[str]:
    """The whole answer: what is there, what is wrong, what a Trace of it lacks."""
    words = table(lang)["word"]
    made = [sound(s, lang) for s in found.files]
    if found.rows and not found.files:
        counts = ", ".join(f"{count:,} {words['rows'][name]}" for name, count in found.rows.items())
        made.append(words["read"].format(source=found.source, counts=counts))
    for defect in found.defects:
        made += [line(defect, lang), f"  {advice(defect, lang)}"]
    if not found.defects:
        made.append(words["fine"])
    if found.missing:
        made.append(words["missing"])
        made += [f"  - {what}{words['colon']}{why}" for what, why in found.missing]
    return made


def to_json(found: Checkup, lang: str = "en") -> dict[str, Any]:
    """Schema 1 of the project's JSON: additive changes only."""
    return {
        "schema": SCHEMA,
        "tool": "npuscope check",
        "source": found.source,
        "missing": [{"what": what, "why": why} for what, why in found.missing],
        "findings": [
            {
                "id": d.id, "severity": d.severity, "where": d.where, "count": d.count, "examples": list(d.examples),
                "facts": {n: v if isinstance(v, int | float | str) else str(v) for n, v in d.facts.items()},
                "claim": part(d, "what", lang), "views": part(d, "views", lang), "advice": part(d, "do", lang),
            }
            for d in found.defects
        ],
        "files": [{n: getattr(s, n) for n in Sound.__slots__} for s in found.files],
        "rows": dict(found.rows),
    }  # fmt: skip
