"""How the tool says that it cannot, or the shell and the loader that there is no tool."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from diag.smi.records import Failure

CODE = re.compile(r"\bret(?:urn)?(?: code)?(?: is|=|:)?\s*(-?\d{4,5})\b")
FOREWORD = re.compile(r"DrvMngGetConsoleLogLevel failed")


class Cause(NamedTuple):
    """code: the one the cause is known by; status: of the real tool's exit."""

    name: str
    code: int | None
    status: int | None
    pattern: re.Pattern[str]


@cache
def causes() -> tuple[Cause, ...]:
    """In the order of the table: the first that is found is the cause, later ones are its consequences."""
    text = resources.files("diag").joinpath("data/smi_failures.csv").read_text(encoding="utf-8")
    return tuple(
        Cause(r["cause"], int(r["code"]) if r["code"] else None, int(r["status"]) if r["status"] else None, re.compile(r["pattern"]))
        for r in csv.DictReader(text.splitlines())
    )


def read(lines: Sequence[str]) -> Failure | None:
    """The failure these lines tell of, None when there is none."""
    said = [(line, [int(code) for code in CODE.findall(line)]) for line in lines]
    codes = [code for _, found in said for code in found]
    for cause in causes():
        lines_of_cause = [line for line, _ in said if cause.pattern.search(line)]
        if not lines_of_cause:
            continue
        of_cause = [code for line, found in said if cause.pattern.search(line) for code in found]
        first = of_cause or ([cause.code] if cause.code is not None else [])
        told = tuple(
            line.strip() for line, found in said if found or FOREWORD.search(line) or any(c.pattern.search(line) for c in causes())
        )
        status = cause.status if not of_cause or of_cause[0] == cause.code else of_cause[0] % 256
        return Failure(cause.name, tuple(dict.fromkeys([*first, *codes])), told, status)
    return None
