"""Differences between hosts for people and for scripts: what breaks first, then everything that differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diag.breaking import Break, apart
from diag.differences import Difference
from diag.report import words
from diag.verdict import alternatives, do, say

SCHEMA, TOOL = 1, "npu-diag diff"
MANY = 5  # hosts, from which on those of one value share a line


def lines(hosts: Sequence[str], found: Sequence[Difference], broken: Sequence[Break], lang: str = "en") -> Iterator[str]:
    """Each break with the differences behind it and what to do; each difference with every host's value."""
    word, names = words(lang), _short(hosts)
    blamed = {(item, n) for one in broken for item in one.items for n in one.bad if _apart(item, n, one.good, found)}
    for one in broken:
        bad, good = (", ".join(names[n] for n in which) for which in (one.bad, one.good))
        yield f"{word[one.verdict.severity]} {word['breaks']} {bad}, {word['and_not']} {good}: {say(one.verdict, lang)}"
        if one.items:
            yield f"  {word['because']}: {', '.join(one.items)}"
        for number, step in enumerate(do(one.verdict, lang)):
            label = word["do"] if not alternatives(one.verdict) else word["or"] if number else word["either"]
            yield f"  {label}: {step.removeprefix('or ')}"
    for difference in found:
        yield difference.item
        for which in _rows(difference, len(hosts)):
            value = difference.values[which[0]]
            shown = word["not_known"] if value is None else _own(value, difference, word["common"])
            mark = _mark(which[0], difference, blamed, len(hosts), word)
            yield f"    {', '.join(names[n] for n in which)}: {shown}{mark}"
    yield word["differences"].format(n=len(found)) if found else word["no_differences"]


def _rows(difference: Difference, count: int) -> list[list[int]]:
    """The hosts line by line: each by itself, of more than a handful those of one value together, the largest group first."""
    if count < MANY:
        return [[n] for n in range(count)]
    groups: dict[str | None, list[int]] = {}
    for n, value in enumerate(difference.values):
        groups.setdefault(value, []).append(n)
    return sorted(groups.values(), key=len, reverse=True)


def _short(hosts: Sequence[str]) -> list[str]:
    """The last part of each path, where these tell the hosts apart."""
    ends = [name.rstrip("/").rpartition("/")[2] or name for name in hosts]
    return ends if len(set(ends)) == len(hosts) else list(hosts)


def _own(value: str, difference: Difference, common: str) -> str:
    """Of a list of paths the entries that not all hosts have."""
    lists = [v.split(":") for v in difference.values if v is not None]
    shared = set(lists[0]).intersection(*lists[1:])
    own = [entry for entry in value.split(":") if entry not in shared]
    if not difference.item.startswith("env ") or not shared or len(own) + len(shared) < 3:
        return value
    return f"{':'.join(own) or '-'} {common.format(n=len(value.split(':')) - len(own))}"


def _apart(item: str, host: int, others: tuple[int, ...], found: Sequence[Difference]) -> bool:
    return any(d.item == item and apart(d, host, others) for d in found)


def _mark(host: int, difference: Difference, blamed: set[tuple[str, int]], count: int, word: dict[str, str]) -> str:
    marks = [word["odd"]] if host in difference.odd and count > 2 else []
    marks += [word["broken"]] if (difference.item, host) in blamed else []
    return f"  <- {', '.join(marks)}" if marks else ""


def to_json(hosts: Sequence[str], found: Sequence[Difference], broken: Sequence[Break], lang: str = "en") -> dict[str, Any]:
    """Schema 1; additive changes only. hosts by name; values one a host, null where the evidence does not tell."""
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "hosts": list(hosts),
        "missing": [],
        "breaks": [
            {
                "id": b.verdict.id,
                "severity": b.verdict.severity,
                "hosts": [hosts[n] for n in b.bad],
                "not": [hosts[n] for n in b.good],
                "items": list(b.items),
                "say": say(b.verdict, lang),
                "do": do(b.verdict, lang),
                "alternatives": alternatives(b.verdict),
            }
            for b in broken
        ],
        "findings": [{"item": d.item, "values": list(d.values), "odd": [hosts[n] for n in d.odd]} for d in found],
    }
