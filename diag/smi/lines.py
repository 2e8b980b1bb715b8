"""The tool's own lines out of a paste: without colours, quoting, prefixes of loggers and terminal wrapping."""

from __future__ import annotations

import re

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BORDER = re.compile(r"\+[-=]{20,}")
QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+")
PROMPT = re.compile(r"^\s*(?:[\[(]?[\w.~@:/ \-)\]]*[\])]?\s*[$#]\s+|\$\s*)(?P<command>(?:sudo\s+)?(?:\S*/)?npu-smi\b.*)$")


def tool_lines(text: str) -> list[str]:
    """Lines without their ends, in the tool's own form as far as it can be told.

    A table that stands behind a prefix of constant width (a quote mark, a time stamp, a pod's name) is cut free of it, and rows
    that a narrow terminal broke are joined again.
    """
    text = COLOUR.sub("", text.removeprefix("\ufeff")).replace("\u00a0", " ").replace("\r\n", "\n").replace("\r", "\n")
    # not splitlines(): a process name may hold a form feed or another character that it takes for a line's end
    lines = [QUOTE.sub("", line) for line in text.split("\n")]
    return _joined(_freed(lines))


def command(lines: list[str]) -> str:
    """The npu-smi command line of a pasted session ("npu-smi info -t usages -i 0"), "" when there is no prompt line."""
    for line in lines:
        match = PROMPT.match(line)
        if match is not None:
            return match["command"].strip()
    return ""


def _freed(lines: list[str]) -> list[str]:
    """Lines of tables from the column their first border stands at; other lines as they are."""
    column = next((match.start() for line in lines if (match := BORDER.search(line))), 0)
    made = []
    for line in lines:
        stripped = line.lstrip()
        if stripped[:1] in ("|", "+"):
            made.append(stripped.rstrip())
        elif column and line[column : column + 1] in ("|", "+") and not line[:column].isspace():
            made.append(line[column:].rstrip())
        else:
            made.append(line)
    return made


def _joined(lines: list[str]) -> list[str]:
    """A row without its right edge takes the next line when that one brings the edge."""
    made: list[str] = []
    for line in lines:
        open_row = bool(made) and made[-1][:1] in ("|", "+") and made[-1][-1:] not in ("|", "+")
        rest = line.rstrip()
        if open_row and rest[-1:] in ("|", "+") and rest[:1] not in ("|", "+"):
            made[-1] += line
        else:
            made.append(line)
    return made
