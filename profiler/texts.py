"""What is said to people, as data: texts/<lang>.toml by finding id. Facts fill the texts; here numbers become readable.

A fact whose name ends in _ns is shown as a duration, _bytes as a size, _share as a percentage, other fractions with three
significant figures.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from npu.units import duration, size
from profiler.findings import Checked, Finding, Gain, Ignored, Setting

LANGUAGES = ("en", "zh")


@cache
def table(lang: str = "en") -> dict[str, Any]:
    """All texts of a language. KeyError for one there is no file for."""
    if lang not in LANGUAGES:
        raise KeyError(lang)
    return tomllib.loads(resources.files("profiler").joinpath(f"texts/{lang}.toml").read_text(encoding="utf-8"))


def readable(facts: Mapping[str, object]) -> dict[str, str]:
    """Facts as texts, by the units their names tell."""
    return {name: _readable(name, value) for name, value in facts.items()}


def _readable(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if name.endswith("_ns"):
        return duration(value)
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_share"):
        return percent(value)
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def percent(share: float) -> str:
    """0.234 -> '23 %', 0.0123 -> '1.2 %'."""
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def _said(finding: Finding, part: str, lang: str) -> str:
    facts = readable(finding.facts)
    if "reason" in facts:  # of idle time (view V5): an id of its own table
        facts["reason"] = str(table(lang)["reason"].get(facts["reason"], facts["reason"]))
    texts = table(lang)["finding"][finding.id]
    return str(texts.get(f"{part}_{finding.facts.get('case')}", texts[part])).format(**facts)  # a case may have words of its own


def title(finding: Finding, lang: str = "en") -> str:
    """A few words."""
    return _said(finding, "title", lang)


def claim(finding: Finding, lang: str = "en") -> str:
    """One sentence with the numbers."""
    return _said(finding, "claim", lang)


def advice(finding: Finding, lang: str = "en") -> str:
    """What to do."""
    return _said(finding, "advice", lang)


def why(finding: Finding, lang: str = "en") -> str:
    """Why it costs time."""
    return _said(finding, "why", lang)


def setting(found: Setting, lang: str = "en") -> str:
    """An environment variable as it stands, and what that means for the finding above it."""
    written = f"{found.name}={found.value}" if found.value else str(table(lang)["word"]["unset"]).format(name=found.name)
    return f"{written}{table(lang)['word']['colon']}{table(lang)['setting'][found.name]}"


def label(group: str, key: str, lang: str = "en") -> str:
    """A single word or phrase: group is a table of the file (layer, severity, method, confidence, step, word ...)."""
    return str(table(lang)[group][key])


def ignored(found: Ignored, lang: str = "en") -> str:
    """What the user told the analysis to leave out."""
    return label("word", "ignored", lang).format(count=found.ranges, time=duration(found.ns))


def checked(line: Checked, lang: str = "en") -> str:
    """What a checklist line says after the layer's name."""
    words = table(lang)["checklist"]
    if line.state == "findings":
        return str(words["one_finding" if line.count == 1 else "findings"]).format(count=line.count, time=duration(line.ns))
    if line.state == "fine":
        return str(words["fine"])
    reason = table(lang).get("why", {}).get(line.why, line.why)  # the reason is English and the key of its translations
    return str(words["not_measured" if line.switch else "not_measured_plain"]).format(why=reason, switch=line.switch)


def gain(found: Gain, window: int, lang: str = "en") -> str:
    """A recoverable time with its share of the window, method and confidence."""
    words = table(lang)
    time = f"{duration(found.ns)} ({percent(found.ns / max(1, window))})"
    if window <= 1:  # sums without a time line
        time = duration(found.ns)
    if found.at_most:
        time = str(words["gain"]["at_most"]).format(time=time)
    if found.on_all_ns is not None:
        everywhere = f"{duration(found.on_all_ns)} ({percent(found.on_all_ns / max(1, window))})"
        time = str(words["gain"]["on_all"]).format(here=time, everywhere=everywhere)
    return str(words["gain"]["text"]).format(
        time=time, method=words["method"][found.method], confidence=words["confidence"][found.confidence]
    )
