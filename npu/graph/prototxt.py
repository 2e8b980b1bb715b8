"""Protobuf's text form without a schema: preprocessing configurations and dumped graphs are written in it.

    name: value    name { ... }    name: { ... }    name: [value, value]    # comment
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(r'(?P<space>[\s,;]+|#[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?P<mark>[{}<>\[\]:])|'
                   r"(?P<word>[^\s,;#\"'{}<>\[\]:]+)")  # fmt: skip
CLOSING = {"{": "}", "<": ">"}
DEEPEST = 100  # messages inside messages


class Field(NamedTuple):
    """One entry of a message. value: a Message, str, int, float or bool; an unquoted word is a str. line: where it stands."""

    name: str
    value: object
    line: int


class Message(NamedTuple):
    """The entries of a message in their order; a repeated field is there several times."""

    fields: tuple[Field, ...]


class Malformed(ValueError):
    """The text is no such form: the line, and what stands there."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse(text: str) -> Message:
    """The message a text holds. Malformed."""
    reader = _Reader(list(_tokens(text)))
    fields = tuple(reader.fields(""))
    return Message(fields)


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Malformed(line, f"unexpected {text[at]!r}")
        kind = str(match.lastgroup)
        if kind != "space":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
        at = match.end()


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    def _peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _next(self, wanted: str) -> _Token:
        token = self._peek()
        if token is None:
            raise Malformed(self.tokens[-1].line if self.tokens else 1, f"the text ends where {wanted} must stand")
        self.at += 1
        return token

    def fields(self, closing: str) -> Iterator[Field]:
        """The entries up to the closing bracket, or the end of the text for ""."""
        while True:
            token = self._peek()
            if token is None and not closing:
                return
            token = self._next(f"{closing!r}")
            if token.text == closing:
                return
            if token.kind != "word":
                raise Malformed(token.line, f"a name must stand where {token.text!r} is")
            following = self._next("':' or '{'")
            if following.text == ":":
                following = self._next("a value")
            elif following.text not in CLOSING:
                raise Malformed(following.line, f"':' or '{{' must follow {token.text}")
            if following.text == "[":
                while (item := self._next("']'")).text != "]":
                    yield Field(token.text, self._value(item), token.line)
            else:
                yield Field(token.text, self._value(following), token.line)

    def _value(self, token: _Token) -> object:
        if token.text in CLOSING:
            self.depth += 1
            if self.depth > DEEPEST:
                raise Malformed(token.line, f"more than {DEEPEST} messages inside each other")
            made = Message(tuple(self.fields(CLOSING[token.text])))
            self.depth -= 1
            return made
        if token.kind == "mark":
            raise Malformed(token.line, f"a value must stand where {token.text!r} is")
        return _scalar(token)


def _scalar(token: _Token) -> object:
    if token.kind == "text":
        try:
            return str(ast.literal_eval(token.text))
        except (ValueError, SyntaxError) as error:
            raise Malformed(token.line, f"{token.text} is no text") from error
    if token.text in ("true", "false"):
        return token.text == "true"
    for kind in (int, float):
        try:
            return kind(token.text)
        except ValueError:
            continue
    return token.text
