"""Versions as Ascend packages write them: the syntax of their files, their order, and the ranges they require.

Nothing here raises: version files come from strangers, are cut short and hold test builds. What cannot be read is left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Words before the number of a field, lowest first; a plain number and words like "post" or "SPC" come after the end of a
# shorter version: 8.2.T5 < 8.2.alpha001 < 8.2.RC1 < 8.2 < 8.2.0 < 8.2.0.post1, and 25.0.rc1 < 25.0.rc1.1.
_BEFORE = {"dev": 0, "t": 0, "a": 1, "alpha": 1, "beta": 2, "rc": 3}
_END = (4, 0)
_AFTER = 5
_FIELD = re.compile(r"([a-z]*)(\d*)")
_ITEM = re.compile(r"(>=|<=|==|>|<)?\s*([0-9A-Za-z.]+)")
_BRANCH = re.compile(r"V(\d+)R(\d+)C(\d+)", re.IGNORECASE)
_PAIR = re.compile(r"\[([^\[\]:]*):([^\[\]:]*)\]")

Key = tuple[tuple[int, int], ...]


class Branch(NamedTuple):
    """V100R001C22 as numbers. C restarts at 9.0: branches of two releases are compared for equality only."""

    v: int
    r: int
    c: int

    def __str__(self) -> str:
        return f"V{self.v}R{self.r:03d}C{self.c:02d}"


class Range(NamedTuple):
    """`[low,high]` of a version list, both ends included; a single item has high == low."""

    low: str
    high: str


def key(version: str) -> Key:
    """A sort key: compare keys of two versions. Letter case, a leading v and a local part (+git...) do not count."""
    text = version.strip().lower().removeprefix("v").partition("+")[0]
    fields = []
    for word, number in _FIELD.findall(text):
        if word or number:
            fields.append((_BEFORE.get(word, _AFTER), int(number[:18] or 0)))
    return (*fields, _END)


def newer(one: str, other: str) -> bool:
    """Whether `one` is a later version than `other`. False when either says nothing (empty, no digit)."""
    if not any(c.isdigit() for c in one) or not any(c.isdigit() for c in other):
        return False
    return key(one) > key(other)


def meets(version: str, requirement: str) -> bool:
    """Whether a version fits a requirement such as `">=6.3, <=7.8"` or `"8.2"`.

    1. Fields are compared over those the item has: `<=8.2` takes 8.2.0.0.201, bare `8.2` takes any 8.2.x.
    2. A lower bound followed by an upper bound is one interval; intervals and bare values are alternatives.
    """
    items = _ITEM.findall(requirement)
    alternatives: list[list[tuple[str, str]]] = []
    for sign, value in items:
        closes = sign.startswith("<") and alternatives and len(alternatives[-1]) == 1 and alternatives[-1][0][0].startswith(">")
        if closes:
            alternatives[-1].append((sign, value))
        else:
            alternatives.append([(sign, value)])
    return not alternatives or any(all(_fits(version, s, v) for s, v in group) for group in alternatives)


def _fits(version: str, sign: str, value: str) -> bool:
    order = cut_order(version, value)
    return {">=": order >= 0, ">": order > 0, "<=": order <= 0, "<": order < 0}.get(sign, order == 0)


def cut_order(version: str, bound: str) -> int:
    """-1, 0, 1: the version against a bound, over as many fields as the bound has."""
    wanted = key(bound)[:-1]
    have = key(version)[: len(wanted)]
    return (have > wanted) - (have < wanted)


def key_values(text: str) -> dict[str, str]:
    """`key=value` lines; keys in lower case, blanks stripped, comments and other lines left out. The first of equals counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        name = name.strip().lower()
        if sign and name and not name.startswith("#"):
            found.setdefault(name, value.strip())
    return found


def name_values(text: str) -> dict[str, str]:
    """` Name : value` lines, as the acceleration libraries and the inference engine write them; names in lower case."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def branch(innerversion: str) -> Branch | None:
    """The branch at the start of an inner version such as V100R001C22SPC001B231."""
    match = _BRANCH.match(innerversion.strip())
    return Branch(*(int(n[:9]) for n in match.groups())) if match else None


def ranges(text: str) -> tuple[Range, ...]:
    """`[a,b],[c]` -> its ranges. A bracket left open at the end of a cut file is not counted."""
    made = []
    for inside in re.findall(r"\[([^\[\]]*)\]", text):
        low, comma, high = (part.strip() for part in inside.partition(","))
        if low:
            made.append(Range(low, high if comma and high else low))
    return tuple(made)


def branch_listed(wanted: Branch, listed: tuple[Range, ...]) -> bool:
    """Whether a list of branches names this one, or has it between the two ends of a range."""
    for low, high in listed:
        first, last = branch(low), branch(high)
        if first is None or last is None:
            continue
        if (wanted.v, wanted.r) == (first.v, first.r) == (last.v, last.r) and first.c <= wanted.c <= last.c:
            return True
    return False


def version_listed(version: str, listed: tuple[Range, ...]) -> bool:
    """Whether a version lies in one of the ranges, ends included. An upper end closing with a dot means "all that begin so"."""
    return any(cut_order(version, low) >= 0 and cut_order(version, high) <= 0 for low, high in listed)


def version_cfg(text: str) -> dict[str, dict[str, tuple[tuple[str, str], ...]]]:
    """`runtime_running_version=[inner:outer]...` -> {"runtime": {"running": ((inner, outer), ...)}}."""
    found: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {}
    for name, value in key_values(text).items():
        match = re.fullmatch(r"(.+)_(running|upgrade|installed)_version", name)
        if match:
            found.setdefault(match[1], {})[match[2]] = tuple(_PAIR.findall(value))
    return found
