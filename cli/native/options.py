"""Options of the native msprof, from cli/data/msprof_options.csv: what values each takes, and which of them hold here.

`here` names the values the simulated machine honours ("*" any, nothing none) and `why` says why not for the others: what
cannot be done is refused by name and value, never ignored.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from cli.common import near

RANGE = re.compile(r"(\d+)\.\.(\d+)")
SIZE = re.compile(r"(\d+)MB")
SIZES = (200, 4294967295)  # MB, of --storage-limit


class Option(NamedTuple):
    """values: words with | between them, a range 1..100, number, size, path or text."""

    name: str
    values: str
    here: str
    why: str


class Refused(Exception):
    """The line the tool prints about a wrong or unavailable option."""


@cache
def known() -> dict[str, Option]:
    """All options by name, in the order of the table."""
    text = resources.files("cli").joinpath("data/msprof_options.csv").read_text(encoding="utf-8")
    return {r["option"]: Option(r["option"], r["values"], r["here"], r["why"]) for r in csv.DictReader(text.splitlines())}


def parse(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """(option -> value, the application's words). The first word that does not begin with -- starts the application; options
    take --k=v and --k v. Refused says what is wrong, in the real tool's words where it has some."""
    given: dict[str, str] = {}
    words = list(arguments)
    while words and words[0].startswith("--"):
        word = words.pop(0)
        if word == "--sim":
            continue
        name, equals, value = word[2:].partition("=")
        option = known().get(name)
        if option is None:
            close = near(name, list(known()))
            raise Refused(
                f"Argument {word.partition('=')[0]}: unrecognized option." + (f" Did you mean --{close}?" if close else "")
            )
        if not equals:
            if not words or words[0].startswith("--"):
                raise Refused(f"Argument --{name}: expected one argument")
            value = words.pop(0)
        if not value:
            raise Refused(f"Argument --{name}: expected one argument")
        given[name] = checked(option, value)
    return given, words


def checked(option: Option, value: str) -> str:
    """The value, if the option takes it and the simulated machine honours it."""
    if not _takes(option.values, value):
        raise Refused(f"Argument --{option.name}: invalid value: {value}. Please input {_asked(option.values)}.")
    if option.here == "*" or value in option.here.split("|"):
        return value
    raise Refused(f"Argument --{option.name}: {value} is not available on the simulated NPU: {option.why}.")


def storage_limit(text: str) -> int | None:
    """Bytes of a size such as 500MB; None for what is none or out of range."""
    match = SIZE.fullmatch(text)
    return int(match[1]) << 20 if match is not None and SIZES[0] <= int(match[1]) <= SIZES[1] else None


def _takes(values: str, value: str) -> bool:
    if values in ("path", "text"):
        return True
    if values == "number":
        return value.isdecimal()
    if values == "size":
        return storage_limit(value) is not None
    match = RANGE.fullmatch(values)
    if match is not None:
        return value.isdecimal() and int(match[1]) <= int(value) <= int(match[2])
    return any(value == word or (word.endswith("*") and value.startswith(word[:-1])) for word in values.split("|"))


def _asked(values: str) -> str:
    match = RANGE.fullmatch(values)
    if match is not None:
        return f"an integer from {match[1]} to {match[2]}"
    if values == "number":
        return "a positive integer"
    if values == "size":
        return f"a size from {SIZES[0]}MB to {SIZES[1]}MB"
    words = [f"'{word}'" for word in values.split("|")]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def usage() -> list[str]:
    """The native options with their values, and which of them the simulated machine has."""
    lines = ["usage: msprof [--option=value ...] <application> [arguments]"]
    for option in known().values():
        everything = option.here in ("*", option.values)
        here = "" if everything else f"  here: {option.here.replace('|', ', ') or 'not available'}"
        lines.append(f"  --{option.name:<30} {option.values.replace('|', ', ')}{here}")
    return lines


def is_on(given: Mapping[str, str], name: str) -> bool:
    return given.get(name) == "on"
