"""What is said of a finding, by language: title, meaning, steps, commands, what to collect. Facts fill the texts.

A sentence, step or command that names a fact the log does not tell is left out; of alternatives (a list in its place) the first
that can be filled stands.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass

from diag import code_tables
from diag.error_code import Explanation, explain
from diag.log_report import Finding
from diag.log_rules import Alternatives, causes, collecting, generic

# Facts that only help the texts, or stand in the line itself.
UNSAID = {"code", "other", "situation", "sentence", "acl_code", "serial", "core_type", "slack", "others", "low", "last", "high",
          "bits", "inner_meaning", "rank_size", "own_rank", "line", "what"}  # fmt: skip

_TWO_STOPS = re.compile(r"(?<!\.)\.\.(?!\.)|\.。|。。")  # a fact may bring a full stop of its own


@dataclass(frozen=True, slots=True)
class Said:
    """All texts of one finding in one language."""

    title: str
    meaning: str
    do: tuple[str, ...]
    commands: tuple[str, ...]
    collect: tuple[tuple[str, str], ...]  # what, command ("" for none)
    facts: Mapping[str, str]


def said(finding: Finding, language: str = "en") -> Said:
    facts = localised(finding.facts, language)
    if finding.cause == "unmapped_code":
        return _of_code(finding, facts, language)
    if finding.cause == "unmapped_family":
        return _of_family(finding, facts, language)
    cause = generic().get(finding.cause) or causes()[finding.cause]
    gap = " " if language == "en" else ""
    own = (facts["sentence"],) if "sentence" in facts else ()  # the simulated stack says itself what happened
    return Said(
        _filled(cause.title[language], facts) or cause.title[language],
        gap.join([*own, *_known(cause.meaning[language], facts)]),
        _known(cause.do[language], facts),
        _known(cause.commands, facts),
        tuple((collecting()[name][language], collecting()[name]["command"]) for name in cause.collect),
        {name: value for name, value in facts.items() if name not in UNSAID},
    )


def plain_steps(texts: Alternatives) -> tuple[str, ...]:
    """The steps that need no fact of a log."""
    return _known(texts, {})


def localised(facts: Mapping[str, str], language: str) -> dict[str, str]:
    """Facts in a language: `bits_zh` stands for `bits` in Chinese."""
    mine = {name: value for name, value in facts.items() if not name.endswith("_zh")}
    if language == "zh":
        mine |= {name.removesuffix("_zh"): value for name, value in facts.items() if name.endswith("_zh")}
    return mine


def _filled(text: str, facts: Mapping[str, str]) -> str:
    """The text with its facts, "" when one of them is not known."""
    wanted = {name for _, name, _, _ in string.Formatter().parse(text) if name}
    if not all(facts.get(name) for name in wanted):
        return ""
    return _TWO_STOPS.sub(lambda found: found[0][-1], text.format_map(facts))


def _known(texts: Alternatives, facts: Mapping[str, str]) -> tuple[str, ...]:
    filled = (next((told for text in alternatives if (told := _filled(text, facts))), "") for alternatives in texts)
    return tuple(told[:1].upper() + told[1:] if told[:5] == "error" else told for told in filled if told)


def _of_code(finding: Finding, facts: Mapping[str, str], language: str) -> Said:
    entry = explain(facts["acl_code"])
    if not isinstance(entry, Explanation):
        raise KeyError(facts["acl_code"])
    title = f"{entry.code} {entry.names[-1]}: {entry.meaning[language]}"
    collect = tuple((collecting()[name][language], collecting()[name]["command"]) for name in ("plog", "device_log"))
    return Said(title, entry.cause[language], entry.do[language], entry.commands, collect, {})


def _of_family(finding: Finding, facts: Mapping[str, str], language: str) -> Said:
    entry = code_tables.family(facts["family"])
    if entry is None:
        raise KeyError(facts["family"])
    line = re.sub(r"\[FUNC:.*", "", finding.lines[0].text).strip()
    collect = tuple((collecting()[name][language], collecting()[name]["command"]) for name in ("plog",))
    steps = tuple(text[:1].upper() + text[1:] for text in (entry.action[language], entry.cause[language]) if text)
    meaning = entry.component[language] if entry.is_group else entry.meaning[language]  # the code itself is in no public table
    steps = steps or generic()["unknown_error"].do[language][0]
    return Said(f"{facts['family']}: {meaning}", f"{entry.component[language]}: {line}", steps, (), collect, {})
