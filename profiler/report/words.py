"""The page's own words in both languages (assets/words.csv). Names from the trace are never translated."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources


@cache
def words(lang: str = "en") -> dict[str, str]:
    """Key -> text. KeyError for a language the table has no column for."""
    text = resources.files("profiler.report").joinpath("assets/words.csv").read_text(encoding="utf-8")
    return {row["key"]: row[lang] for row in csv.DictReader(text.splitlines())}


def say(key: str, lang: str = "en", **facts: object) -> str:
    """A text with its facts filled in."""
    return words(lang)[key].format(**facts)
