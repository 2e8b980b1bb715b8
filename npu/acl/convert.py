"""Arguments as the real binding reads them: 64-bit kinds want a real int, 32-bit kinds take what has __index__, negative
numbers wrap around instead of failing. A wrong one is a TypeError with the function's full name."""

from __future__ import annotations

from collections.abc import Callable
from operator import index

Converter = Callable[[object], object]


class Unfit(Exception):
    """The argument is of no kind the function takes."""


def _wide(value: object) -> int:
    if isinstance(value, int):
        return value & 0xFFFF_FFFF_FFFF_FFFF
    raise Unfit


def _int32(value: object) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise Unfit from None
    if not -(1 << 31) <= number < 1 << 31:
        raise Unfit
    return number


def _uint32(value: object) -> int:
    try:
        return index(value) & 0xFFFF_FFFF  # type: ignore[arg-type]
    except TypeError:
        raise Unfit from None


def _real(value: object) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    raise Unfit


def _kind(wanted: type) -> Converter:
    def check(value: object) -> object:
        if isinstance(value, wanted):
            return value
        raise Unfit

    return check


def _called(value: object) -> object:
    if callable(value):
        return value
    raise Unfit


def _any(value: object) -> object:
    return value


# letter of the table's args column -> converter
CONVERTERS: dict[str, Converter] = {
    "p": _wide,
    "z": _wide,
    "U": _wide,
    "i": _int32,
    "u": _uint32,
    "f": _real,
    "s": _kind(str),
    "l": _kind(list),
    "t": _kind(tuple),
    "d": _kind(dict),
    "c": _called,
    "o": _any,
    "b": _any,
}


def signature(spec: str) -> tuple[tuple[Converter, ...], int]:
    """'pzi' -> converters and how many of them must be given; a '?' makes the argument before it optional. '-' = none."""
    if spec == "-":
        return (), 0
    letters = [c for c in spec if c != "?"]
    return tuple(CONVERTERS[c] for c in letters), len(letters) - spec.count("?")
