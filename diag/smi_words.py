"""What a finding of the device tool says to people: title, claim and steps, from data/smi_en.toml and data/smi_zh.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from diag.smi_findings import SmiFinding

LANGUAGES = ("en", "zh")


@cache
def texts(lang: str) -> dict[str, dict[str, object]]:
    """Title, claim and steps by finding id. KeyError for a language there is no file for."""
    if lang not in LANGUAGES:
        raise KeyError(lang)
    return dict(tomllib.loads(resources.files("diag").joinpath(f"data/smi_{lang}.toml").read_text(encoding="utf-8")))


def title(finding: SmiFinding, lang: str = "en") -> str:
    """A few words."""
    return _said(finding, str(texts(lang)[finding.id]["title"]))


def claim(finding: SmiFinding, lang: str = "en") -> str:
    """What was seen, with the numbers, and what it means."""
    return _said(finding, str(texts(lang)[finding.id]["claim"]))


def steps(finding: SmiFinding, lang: str = "en") -> tuple[str, ...]:
    """What to do, in order; empty when there is nothing to do."""
    listed = texts(lang)[finding.id]["steps"]
    return tuple(_said(finding, str(step)) for step in listed) if isinstance(listed, list) else ()


def _said(finding: SmiFinding, text: str) -> str:
    from profiler.texts import readable

    return text.format(**readable(finding.facts))
