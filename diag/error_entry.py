"""An answer about a code that is none of acl's public ones: its meaning, cause and steps by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diag import code_tables
from diag.error_code import Explanation, explain
from diag.log_rules import Cause, causes
from diag.log_text import plain_steps


@dataclass(frozen=True, slots=True)
class Entry:
    """A code of another table. public: the acl code it becomes, "" where none. Texts and steps by language."""

    form: str
    code: str
    name: Mapping[str, str]
    public: str
    meaning: Mapping[str, str]
    cause: Mapping[str, str]
    do: Mapping[str, tuple[str, ...]]
    commands: tuple[str, ...]
    source: str


def of_other(entry: code_tables.Other) -> Entry:
    """The steps are those of the public code it becomes, else those of a log cause."""
    public, name = explain(entry.public) if entry.public else None, {"en": entry.name, "zh": entry.name}
    if isinstance(public, Explanation):
        return Entry(entry.form, entry.code, name, entry.public, entry.meaning, public.cause, public.do, public.commands, "")
    do, commands = advice(entry.advice)
    return Entry(entry.form, entry.code, name, "", entry.meaning, {}, do, commands, "")


def advice(cause: str) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Steps and commands of a log cause that need no fact of a log; nothing for an unknown one."""
    known = causes().get(cause)
    return (steps(known), plain_steps(known.commands)) if known is not None else ({}, ())


def steps(cause: Cause) -> dict[str, tuple[str, ...]]:
    return {language: plain_steps(texts) for language, texts in cause.do.items()}
