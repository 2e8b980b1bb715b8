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
        Cause(r["cause"], _whole(r["code"]), _whole(r["status"]), re.compile(r["pattern"]))
        for r in csv.DictReader(text.splitlines())
    )


def _whole(text: str) -> int | None:
    return int(text) if text else None


def read(lines: Sequence[str]) -> Failure | None:
    """The failure these lines tell of, None when there is none.

    The code in the cause's own line stands first; a cause without one brings the code it is known by.
    """
    for cause in causes():
        its_lines = [line for line in lines if cause.pattern.search(line)]
        if not its_lines:
            continue
        own = _codes(its_lines)
        first = own or ([cause.code] if cause.code is not None else [])
        status = cause.status if not own or own[0] == cause.code else own[0] % 256
        told = tuple(line.strip() for line in lines if _tells(line))
        return Failure(cause.name, tuple(dict.fromkeys([*first, *_codes(lines)])), told, status)
    return None


def _codes(lines: Sequence[str]) -> list[int]:
    return [int(code) for line in lines for code in CODE.findall(line)]


def _tells(line: str) -> bool:
    return any(pattern.search(line) for pattern in (CODE, FOREWORD, *(cause.pattern for cause in causes())))
