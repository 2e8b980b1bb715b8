"""ATC's errors: a code with its arguments; the texts stand in errors.csv, the block layout is that of CANN 8."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

INDENT = " " * 8


@dataclass(frozen=True, slots=True)
class Text:
    """One row of errors.csv: what a code says, with its arguments in braces."""

    code: str
    title: str
    arguments: tuple[str, ...]
    message: str
    solution: str


@cache
def texts() -> dict[str, Text]:
    """Code -> text, in the table's order."""
    rows = csv.DictReader(resources.files("npu.graph").joinpath("errors.csv").read_text(encoding="utf-8").splitlines())
    return {
        r["code"]: Text(r["code"], r["title"], tuple(a for a in r["arguments"].split(",") if a), r["message"], r["solution"])
        for r in rows
    }


class AtcError(Exception):
    """The conversion was refused: code, the arguments of its message, and further lines about the cause."""

    def __init__(self, code: str, more: tuple[str, ...] = (), **arguments: object) -> None:
        super().__init__(code, arguments)
        self.code, self.more, self.arguments = code, more, arguments

    @property
    def message(self) -> str:
        return texts()[self.code].message.format(**self.arguments)

    @property
    def solution(self) -> str:
        return texts()[self.code].solution

    def block(self, pid: int, now: datetime) -> str:
        """The lines ATC prints: [PID: p] time Title(Code): message, then further lines and the solution, eight spaces in.

        The further lines stand under "Possible Cause" and not under the real tool's "TraceBack": they are facts about the input.
        """
        stamp = f"{now:%Y-%m-%d-%H:%M:%S}.{now.microsecond // 1000:03d}.{now.microsecond % 1000:03d}"
        lines = [f"[PID: {pid}] {stamp} {texts()[self.code].title}({self.code}): {self.message}"]
        lines += [f"{INDENT}{'Possible Cause: ' if at == 0 else ''}{line}" for at, line in enumerate(self.more)]
        lines.append(f"{INDENT}Solution: {self.solution}")
        return "\n".join(lines)
