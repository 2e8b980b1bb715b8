"""What an error code means and what to do: `explain("507018")`, by number, hexadecimal or constant name.

The public header's meaning comes first, then the reading of practitioners' texts where there is one, then cause and steps.
Texts are data: npu/data/error_codes.csv (header), diag/data/error_advice_*.toml (advice, English and Chinese).
Lookup is a list of matchers, each `text -> explanation or nothing`; the first answer counts.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from npu import errors

ADVICE = ("acl", "runtime", "graph", "aclnn")
PREFIXES = ("ACL_ERROR_", "ACL_ERROR_RT_", "ACL_ERROR_GE_", "ACL_", "ACLNN_", "ACLNN_ERR_", "ACLNN_ERR_INNER_")
NEAR = 3  # how many codes are offered for an unknown one
NEAR_BY = 20  # numbers further apart than this are not near, unless one slip of the finger lies between them

Text = dict[str, str]  # by language: en, zh
Steps = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A known code. told: how practitioners' texts read it, empty where they do not differ. commands: lines for a shell."""

    code: int
    names: tuple[str, ...]
    group: str
    meaning: Text
    told: Text
    cause: Text
    do: Steps
    commands: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Near:
    code: int
    name: str
    meaning: Text


@dataclass(frozen=True, slots=True)
class NotFound:
    """No public code: the nearest ones, and what its range of numbers says (empty for names)."""

    asked: str
    near: tuple[Near, ...]
    range: Text


def explain(text: str) -> Explanation | NotFound:
    """The explanation of a code given as decimal, hexadecimal, wrapped int32 or constant name (prefix and case optional)."""
    asked = text.strip().strip("\"'`.,;:()[]")
    for matcher in MATCHERS:
        found = matcher(asked)
        if found is not None:
            return found
    number = _number(asked)
    near = _near_name(asked) if number is None else _near_number(number)
    return NotFound(asked, tuple(Near(c.code, c.name, _meaning(c)) for c in near), _range(number))


def by_number(asked: str) -> Explanation | None:
    """507018, 0x7bc8a, -507018, and the same seen as a signed or unsigned 32-bit number."""
    number = _number(asked)
    if number is None:
        return None
    wrapped = (number + (1 << 31)) % (1 << 32) - (1 << 31)  # as int32
    return next((_explained(n) for n in (number, abs(number), abs(wrapped)) if n in _known()), None)


def by_name(asked: str) -> Explanation | None:
    """ACL_ERROR_RT_AICPU_EXCEPTION in any case, with or without its prefix, also with blanks or hyphens for underscores."""
    name = _as_name(asked)
    codes = {c.name: c.code for c in errors.codes()} | _aliases()
    return next((_explained(codes[n]) for n in (name, *(p + name for p in PREFIXES)) if n in codes), None)


MATCHERS: tuple[Callable[[str], Explanation | None], ...] = (by_number, by_name)


def _number(asked: str) -> int | None:
    match = re.fullmatch(r"([-+]?)(?:0x([0-9a-f]+)|(\d+))[ul]*", asked, re.IGNORECASE | re.ASCII)
    if match is None:
        return None
    value = int(match[2], 16) if match[2] else int(match[3])
    return -value if match[1] == "-" else value


def _as_name(asked: str) -> str:
    return re.sub(r"[\s-]+", "_", asked).upper()


def _explained(code: int) -> Explanation:
    rows = _known()[code]
    advice = _advice()[code]
    named = [r.name for r in rows] + [n for n, c in _aliases().items() if c == code]
    return Explanation(
        code=code,
        names=tuple(named),
        group=rows[0].group,
        meaning=_meaning(rows[-1]),  # of several names the last is the present one (0: ACL_SUCCESS)
        told=advice.get("told", {}),
        cause=advice["cause"],
        do={language: tuple(steps) for language, steps in advice["do"].items()},
        commands=tuple(advice.get("commands", ())),
        source=rows[-1].source,
    )


def _meaning(row: errors.Code) -> Text:
    return {"en": row.meaning, "zh": _meanings_zh()[row.code]}


@cache
def _known() -> dict[int, tuple[errors.Code, ...]]:
    found: dict[int, tuple[errors.Code, ...]] = {}
    for row in errors.codes():
        found[row.code] = (*found.get(row.code, ()), row)
    return found


def _data(name: str) -> str:
    return resources.files("diag").joinpath("data", name).read_text(encoding="utf-8")


@cache
def _advice() -> dict[int, dict[str, dict[str, str]]]:
    """Code -> its advice entry. Every public code has exactly one."""
    entries = [entry for part in ADVICE for entry in tomllib.loads(_data(f"error_advice_{part}.toml"))["advice"]]
    return {code: entry for entry in entries for code in entry["codes"]}


@cache
def _meanings_zh() -> dict[int, str]:
    return {int(r["code"]): r["meaning"] for r in csv.DictReader(_data("error_meaning_zh.csv").splitlines())}


@cache
def _aliases() -> dict[str, int]:
    """Names the documentation uses beside the header's."""
    return {r["name"]: int(r["code"]) for r in csv.DictReader(_data("error_aliases.csv").splitlines())}


def _range(number: int | None) -> Text:
    rows = csv.DictReader(_data("error_ranges.csv").splitlines())
    inside = (r for r in rows if number is not None and int(r["first"]) <= abs(number) <= int(r["last"]))
    return next(({"en": r["en"], "zh": r["zh"]} for r in inside), {})


def _near_number(number: int) -> tuple[errors.Code, ...]:
    """Codes with swapped digits first, then one digit wrong, missing or doubled, then close by; none that is none of these."""
    text = str(abs(number))
    scored = []
    for code, (first, *_) in _known().items():
        edits, apart = _edits(text, str(code)), abs(code - abs(number))
        if code != 0 and (edits == 1 or apart <= NEAR_BY):
            scored.append((edits > 1, sorted(text) != sorted(str(code)), apart, code, first))
    return tuple(row[-1] for row in sorted(scored, key=lambda row: row[:-1])[:NEAR])


def _near_name(asked: str) -> tuple[errors.Code, ...]:
    """Codes whose name, without its prefix, takes the fewest edits; none when over half of the letters would change."""
    word = _bare(_as_name(asked))
    scored = sorted(((_edits(word, _bare(c.name)), c.code, c) for c in errors.codes()), key=lambda s: s[:2])
    return tuple(c for edits, _, c in scored[:NEAR] if edits * 2 <= len(word))


def _bare(name: str) -> str:
    return re.sub(r"^(ACL_ERROR_|ACLNN_ERR_|ACL_)(RT_|GE_|INNER_)?", "", name)


def _edits(one: str, other: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two texts (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
