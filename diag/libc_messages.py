"""Messages of the C library and the shell in a Chinese locale, and the words Chinese programs write before a code:
`in_english(text)` gives the words the log rules know.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources


@cache
def table() -> dict[str, str]:
    """Chinese phrase -> the English one of the same error number or signal (diag/data/libc_zh.csv)."""
    text = resources.files("diag").joinpath("data/libc_zh.csv").read_text(encoding="utf-8")
    return {row["zh"]: row["en"] for row in csv.DictReader(text.splitlines())}


def in_english(text: str) -> str:
    """The text with those phrases in English, everything else as it was."""
    if text.isascii():
        return text
    for chinese, english in table().items():
        text = text.replace(chinese, english)
    return text
