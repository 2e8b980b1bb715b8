"""Language, colour and output files: what a command needs around its own text."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TextIO

WIDE = "\u2e80"  # from here on characters take two columns
COLOUR = re.compile(r"\x1b\[[\d;]*m")
# Blanks, or a word or one wide character, with the wide marks that open and close it.
PIECES = re.compile(rf"\s+|（?(?:[^\s{WIDE}-\U0001ffff]+|[{WIDE}-\U0001ffff])[，。、：；）！？]*")
STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}  # ECMA-48 parameters


class Language(StrEnum):
    en = "en"
    zh = "zh"


def language(chosen: Language | None = None, environ: Mapping[str, str] = os.environ) -> Language:
    """The language of texts: the chosen one, else by LC_ALL, LC_MESSAGES, LANG (the first that is set), else English."""
    if chosen is not None:
        return chosen
    locale = next((environ[n] for n in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(n)), "")
    return Language.zh if locale.lower().startswith("zh") else Language.en


def coloured(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether colours may be written: a terminal that knows them, and no NO_COLOR (no-color.org: set and not empty)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in one of STYLES if the stream (stdout) shows colours, else the text itself."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if coloured(stream or sys.stdout) else text


def folded(lines: list[str], width: int | None = None) -> list[str]:
    """Lines folded to the terminal's width (at most 110), continued under their own text. Pipes get whole lines instead."""
    columns = min(width or shutil.get_terminal_size().columns, 110)
    made: list[str] = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + (3 if line.lstrip()[:1].isdigit() and line[:1] == " " else 2))
        made += _wrapped(line.rstrip(), columns, indent)
    return made


def _wrapped(line: str, columns: int, indent: str) -> list[str]:
    """One line as many: broken at blanks and between Chinese characters, never before a closing mark; a longer word stays
    whole."""
    made, now, used = [], "", 0
    for piece in PIECES.findall(line):
        wide = cells(piece)
        if used + wide > columns and now.strip() and not piece.isspace() and now != indent:
            made.append(now.rstrip())
            now, used = indent, len(indent)
        if now == indent and made and piece.isspace():
            continue
        now, used = now + piece, used + wide
    return [*made, now.rstrip()]


def cells(text: str) -> int:
    """Columns a text takes: Chinese characters two, colour sequences none."""
    return sum(2 if character >= WIDE else 1 for character in COLOUR.sub("", text))


def free_path(given: Path | None, name: str, force: bool) -> Path:
    """Where to write: the given path, else `name` in the current folder. Refused when it exists and force is not given."""
    from cli.common import CliError

    path = Path(name) if given is None else given
    if path.exists() and not force:
        raise CliError(f"{path} exists already", "add --force to overwrite it, or give another name with --output")
    if not path.parent.is_dir():
        raise CliError(f"the folder of {path} does not exist", f"mkdir -p {path.parent}")
    return path


def written(path: Path) -> None:
    """Say where the output lies: the last line a command prints."""
    print(f"written: {path}")
