"""The tool's own lines out of a paste: without colours, quoting, prefixes of loggers and terminal wrapping."""

from __future__ import annotations

import re

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
EDGES = ("|", "+")
BORDER = re.compile(r"\+[-=]{20,}")
QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+")


def tool_lines(text: str) -> list[str]:
    """Lines without their ends, in the tool's own form as far as it can be told.

    A table that stands behind a prefix of constant width (a quote mark, a time stamp, a pod's name) is cut free of it, and rows
    that a narrow terminal broke are joined again.
    """
    text = COLOUR.sub("", text.removeprefix("\ufeff")).replace("\u00a0", " ").replace("\r\n", "\n").replace("\r", "\n")
    # not splitlines(): a process name may hold a form feed or another character that it takes for a line's end
    lines = [QUOTE.sub("", line) for line in text.split("\n")]
    return _joined(_freed(lines))


def _freed(lines: list[str]) -> list[str]:
    """Lines of tables from the column their first border stands at; other lines as they are."""
    column = next((match.start() for line in lines if (match := BORDER.search(line))), 0)
    made = []
    for line in lines:
        if line.lstrip()[:1] in EDGES:
            made.append(line.lstrip() if line[column : column + 1] not in EDGES else line[column:])
        else:
            made.append(line[column:] if column and line[column : column + 1] in EDGES else line)
    return made


def _joined(lines: list[str]) -> list[str]:
    """A row without its right edge takes the next line when that one brings the edge and is no row of its own."""
    made: list[str] = []
    for line in lines:
        rest = line.rstrip()
        if made and _open(made[-1]) and rest[-1:] in EDGES and (rest[:1] not in EDGES or len(rest) * 2 < len(made[-1])):
            made[-1] += line
        else:
            made.append(line)
    return [line.rstrip() if line[:1] in EDGES else line for line in made]


def _open(line: str) -> bool:
    return line[:1] in EDGES and line.rstrip()[-1:] not in EDGES
