"""What a check says: an id, how bad it is, and facts. Sentences and remedies are data (diag/texts/check.<lang>.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from diag import smi_words
from diag.smi_findings import SmiFinding

ERROR, WARNING, INFO = SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Verdict:
    """evidence: files, variables or commands where it can be seen. table: whose texts the id has: ours, or the device tool's."""

    id: str
    severity: str
    facts: Mapping[str, object] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    table: str = "check"


@cache
def texts(lang: str = "en") -> dict[str, Any]:
    """All sentences of a language by verdict id: say, do, either (the steps of `do` are alternatives)."""
    return tomllib.loads(resources.files("diag").joinpath(f"texts/check.{lang}.toml").read_text(encoding="utf-8"))


class _Facts(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"


def say(verdict: Verdict, lang: str = "en") -> str:
    """One sentence with the facts."""
    if verdict.table == "smi":
        return smi_words.claim(SmiFinding(verdict.id, "", verdict.facts), lang)
    return str(texts(lang)[verdict.id]["say"]).format_map(_Facts(verdict.facts))


def do(verdict: Verdict, lang: str = "en") -> list[str]:
    """Remedies with their commands, in the order to try; empty for a mere remark."""
    if verdict.table == "smi":
        return list(smi_words.steps(SmiFinding(verdict.id, "", verdict.facts), lang))
    return [str(step).format_map(_Facts(verdict.facts)) for step in texts(lang)[verdict.id].get("do", ())]


def alternatives(verdict: Verdict) -> bool:
    """Whether the remedies are ways out to choose from, instead of steps."""
    return verdict.table == "check" and bool(texts()[verdict.id].get("either", False))
