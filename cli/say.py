"""What commands say in two languages: cli/texts/<lang>.toml by table and key."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str, lang: str) -> dict[str, Any]:
    """One table of a language's texts. KeyError for a table the language does not have."""
    text = resources.files("cli").joinpath(f"texts/{lang}.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)[name]
    return found


def say(group: str, key: str, lang: str = "en", **facts: object) -> str:
    """A text with its facts filled in."""
    return str(table(group, lang)[key]).format(**facts)
