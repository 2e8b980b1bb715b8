"""What a line means: `hits(line)` names the causes whose patterns, codes or situations it carries, with the facts it tells.

Causes are data (diag/data/log_rules/*.toml, in the order of FILES: the first pattern that fits a line counts, so what is
specific stands before what is general). kind: cause, symptom (somebody waited for a fault elsewhere), after (follows from
something earlier) or harmless. Facts are the named groups of the patterns.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from diag import code_tables
from diag.codes_in_text import Code, codes_in
from diag.libc_messages import in_english
from diag.log_facts import enriched
from diag.plog import Line

FILES = ("hccl", "device", "environment", "memory", "driver", "converter", "model", "usage", "after")
PATTERN, DETAIL, FAMILY, RETURNED = range(4)  # how surely a hit means its cause: the lower, the surer
# Nothing surer is known of the line.
GENERIC = ("unmapped_family", "unmapped_code", "unknown_error", "python_exception", "refused")

# The simulated stack's own refusals: code it returned, the other table's code, situation, sentence.
SIMULATED = re.compile(
    r"error code (?P<code>\d+)(?: \((?P<table>public header|articles): (?P<other>\d+)\))?, "
    r"cause (?P<situation>\w+): (?P<sentence>.*)"
)

Alternatives = tuple[tuple[str, ...], ...]  # each place: texts of which the first that can be filled stands
Texts = Mapping[str, Alternatives]


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of the tables. Texts by language; a sentence or step that needs a fact the log does not tell is left out."""

    id: str
    kind: str
    table: str  # the file its entry stands in
    group: str  # causes of one group describe the same event: their facts belong together
    weak: bool  # never the cause where anything surer is there
    calm: bool  # its patterns also count on lines of INFO and below
    patterns: tuple[re.Pattern[str], ...]
    details: tuple[re.Pattern[str], ...]
    families: frozenset[str]
    classes: tuple[tuple[str, str], ...]  # (beginning of a code, beginning of its meaning): families nobody names one by one
    codes: frozenset[int]
    situations: frozenset[str]
    title: Mapping[str, str]
    meaning: Texts
    do: Texts
    commands: Alternatives
    collect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that speaks for a cause, how surely, the facts and codes it tells."""

    cause: str
    sure: int
    line: Line
    facts: Mapping[str, str]
    codes: tuple[Code, ...] = ()


def hits(line: Line) -> list[Hit]:
    """Everything a line says, surest first. Nothing for the stack's own advice (part hint) and for frames of a traceback."""
    if line.part in ("hint", "frame"):
        return []
    if line.quiet:
        calm = ((c, facts) for c, facts in _matching(line.text, PATTERN) if c.calm)
        return [Hit(c.id, RETURNED if c.weak else PATTERN, line, facts) for c, facts in calm][:1]
    codes = tuple(codes_in(line.text))
    own = SIMULATED.search(line.text)
    if own is not None:
        return [_simulated(line, own)]
    found = _first(line, codes)
    if line.part == "headline" and not (found and found[0].sure == PATTERN and not causes()[found[0].cause].weak):
        found += _of_family(line, codes)
    found += [_returned(line, code, codes) for code in codes if code.form == "acl"]
    if not found and line.level in ("ERROR", "EXCEPTION", "CRITICAL"):
        generic = "python_exception" if line.part == "raised" else "unknown_error"
        found = [Hit(generic, RETURNED, line, {}, codes)]
    if not found and codes:
        found = [Hit("follows", RETURNED, line, {}, codes)]
    return found


def _first(line: Line, codes: tuple[Code, ...]) -> list[Hit]:
    for sure in (PATTERN, DETAIL):
        for cause, facts in _matching(line.text, sure):
            if cause.kind == "after" and sure == PATTERN:
                later = next(iter(_matching(line.text, DETAIL)), None)
                cause, facts, sure = (*later, DETAIL) if later is not None else (cause, facts, sure)
            told, facts = enriched(cause.id, facts)
            return [Hit(told, RETURNED if cause.weak else sure, line, facts, codes)]
    return []


def _matching(text: str, sure: int) -> Iterator[tuple[Cause, dict[str, str]]]:
    """(cause, facts) of each cause one of whose patterns (or details) fits, in the tables' order; kind after comes last."""
    text = in_english(text)
    for cause in causes().values():
        for pattern in cause.patterns if sure == PATTERN else cause.details:
            match = pattern.search(text)
            if match is not None:
                yield cause, {k: v.strip() for k, v in match.groupdict().items() if v}
                break


def _of_family(line: Line, codes: tuple[Code, ...]) -> list[Hit]:
    cause = by_family().get(line.family)
    if cause is not None:
        weak = causes()[cause].weak
        return [Hit(cause, RETURNED if weak else FAMILY, line, {}, codes)]
    entry = code_tables.family(line.family)
    if entry is None or line.family[2:] in ("9999", "8888") or line.level == "WARNING":
        return []
    return [Hit("unmapped_family", FAMILY, line, {"family": line.family}, codes)]


def _returned(line: Line, code: Code, codes: tuple[Code, ...]) -> Hit:
    cause = by_code().get(code.number, "unmapped_code")
    return Hit(cause, RETURNED, line, {"acl_code": code.code}, codes)


def _simulated(line: Line, match: re.Match[str]) -> Hit:
    """The situation decides, never the code: two tables of codes exist for five situations."""
    cause = by_situation().get(match["situation"], "refused")
    facts = {k: v for k, v in match.groupdict().items() if v and k != "table"}
    meaning = {"en": match["sentence"], "zh": match["sentence"]}
    code = Code("acl", match["code"], match["code"], match["situation"], meaning)
    patterns = causes()[cause].patterns if cause in causes() else ()
    inside = next((m for p in patterns if (m := p.search(match["sentence"]))), None)
    told = {k: v.strip() for k, v in inside.groupdict().items() if v} if inside is not None else {}
    return Hit(cause, PATTERN, line, enriched(cause, facts | told)[1], (code,))


@cache
def causes() -> dict[str, Cause]:
    """Every cause by id, in the order in which patterns are tried."""
    read = [_cause(entry, name) for name in FILES for entry in _table(name)["cause"]]
    return {c.id: c for c in sorted(read, key=lambda c: c.kind == "after")}


def _cause(entry: dict[str, Any], table: str) -> Cause:
    return Cause(
        id=entry["id"],
        kind=entry.get("kind", "cause"),
        table=table,
        group=entry.get("like", entry["id"]),
        weak=entry.get("weak", False),
        calm=entry.get("calm", False),
        patterns=tuple(re.compile(p) for p in entry.get("patterns", ())),
        details=tuple(re.compile(p) for p in entry.get("details", ())),
        families=frozenset(entry.get("families", ())),
        classes=tuple(tuple(text.split(" ", 1)) for text in entry.get("classes", ())),
        codes=frozenset(entry.get("codes", ())),
        situations=frozenset(entry.get("situations", ())),
        title=entry["title"],
        meaning={k: _places(v) for k, v in entry["meaning"].items()},
        do={k: _places(v) for k, v in entry["do"].items()},
        commands=_places(entry.get("commands", ())),
        collect=tuple(entry.get("collect", ())),
    )


def _places(texts: Iterable[str | list[str]]) -> Alternatives:
    return tuple((text,) if isinstance(text, str) else tuple(text) for text in texts)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("diag").joinpath("data/log_rules", f"{name}.toml").read_text(encoding="utf-8"))


@cache
def generic() -> dict[str, Cause]:
    """The entries that are said when nothing better is known."""
    return {c.id: c for c in (_cause(entry, "generic") for entry in _table("generic")["cause"])}


@cache
def by_family() -> dict[str, str]:
    """Code of the error manager -> cause: the one that names it, else the first whose class it belongs to."""
    named = {code: c.id for c in reversed(list(causes().values())) for code in c.families}
    classes = [(code, meaning, c.id) for c in causes().values() for code, meaning in c.classes]
    for entry in code_tables.families().values():
        if entry.is_group or entry.code in named:
            continue
        fits = (i for code, meaning, i in classes if entry.code.startswith(code) and entry.meaning["en"].startswith(meaning))
        cause = next(fits, None)
        if cause is not None:
            named[entry.code] = cause
    return named


@cache
def by_code() -> dict[int, str]:
    return {code: c.id for c in reversed(list(causes().values())) for code in c.codes}


@cache
def by_situation() -> dict[str, str]:
    return {name: c.id for c in reversed(list(causes().values())) for name in c.situations}


@cache
def collecting() -> dict[str, dict[str, str]]:
    """What to hand in: name -> texts by language and a command."""
    return _table("collect")
