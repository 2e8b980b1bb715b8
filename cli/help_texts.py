"""Help texts in the reader's language: the English text is the key, cli/texts/help.csv has its translation.

A text without a line there stays English, so that a new command works before it is translated.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from functools import cache
from importlib import resources

from cli.terminal import Language, language


@cache
def translations() -> dict[str, str]:
    """English -> Chinese."""
    text = resources.files("cli").joinpath("texts/help.csv").read_text(encoding="utf-8")
    return {row["en"]: row["zh"] for row in csv.DictReader(text.splitlines())}


def said(text: str) -> str:
    """A help text in the language of --lang on the command line, else of the environment; line breaks are not part of the key."""
    if help_language(sys.argv[1:]) is Language.en:
        return text
    return translations().get(" ".join(text.split()), text)


def help_language(arguments: Sequence[str]) -> Language:
    """The language for help. --lang counts only when help was asked for: otherwise it may be the script's own option."""
    if {"--help", "-h"} & set(arguments):
        for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
            chosen = following if word == "--lang" else word.removeprefix("--lang=") if word.startswith("--lang=") else ""
            if chosen in list(Language):
                return Language(chosen)
    return language()
