"""Arguments as the real binding reads them: 64-bit kinds want a real int, 32-bit kinds take what has __index__, negative
numbers wrap around instead of failing. A wrong one is a TypeError with the function's full name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from operator import index

Converter = Callable[[object], object]


class Unfit(Exception):
    """The argument is of no kind the function takes."""


class NotList(Unfit):
    """A list was wanted, and nothing else will do: not even a tuple."""


class Element(Exception):
    """A list holds something that cannot be converted."""


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


def _signed(value: object) -> int:
    if isinstance(value, int):
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    raise Unfit


def _listed(convert: Callable[[object], object], array: bool = False) -> Converter:
    """A list whose elements are converted one by one; array: a numpy array passes too, with the warning of the binding."""

    def check(value: object) -> object:
        if array and hasattr(value, "tolist") and not isinstance(value, list):
            warnings.warn("an array is deprecated here, use a list", stacklevel=4)
            value = value.tolist()
        if not isinstance(value, list):
            raise NotList
        try:
            return [convert(item) for item in value]
        except Unfit:
            raise Element from None

    return check


# letter of the table's args column -> converter
CONVERTERS: dict[str, Converter] = {
    "p": _wide,
    "z": _wide,
    "U": _wide,
    "q": _signed,
    "i": _int32,
    "u": _uint32,
    "f": _real,
    "s": _kind(str),
    "l": _listed(_any),
    "L": _listed(_signed),
    "N": _listed(_listed(_signed)),
    "S": _listed(_kind(str)),
    "a": _listed(_signed, array=True),
    "e": _listed(_real, array=True),
    "t": _kind(tuple),
    "d": _kind(dict),
    "c": _called,
    "o": _any,
    "b": _any,
}
# letter -> bounds of a plain int that needs no conversion
PLAIN = {"p": (0, 1 << 64), "z": (0, 1 << 64), "U": (0, 1 << 64), "i": (-(1 << 31), 1 << 31), "u": (0, 1 << 32)}
ANY = "*"  # args column of a function whose arguments no public text gives: it takes whatever comes
MOST_ANY = 255


def signature(spec: str) -> tuple[tuple[Converter, ...], int]:
    """'pzi' -> converters and how many of them must be given; a '?' makes the argument before it optional. '-' = none."""
    if spec == "-":
        return (), 0
    if spec == ANY:
        return (_any,) * MOST_ANY, 0
    letters = [c for c in spec if c != "?"]
    return tuple(CONVERTERS[c] for c in letters), len(letters) - spec.count("?")


@cache
def fitting(spec: str) -> Callable[[tuple[object, ...]], bool]:
    """Whether arguments are as the function takes them, without any conversion: asked first, because nearly all are. Only for
    signatures of plain integers; for the others the answer is no."""
    if spec == "-":
        return _nothing
    if not set(spec) <= set(PLAIN):
        return _never
    names = [f"args[{n}]" for n in range(len(spec))]
    kinds = " and ".join(f"{n}.__class__ is int" for n in names)
    bounds = " and ".join(f"{PLAIN[c][0]} <= {n} < {PLAIN[c][1]}" for c, n in zip(spec, names, strict=True))
    # One expression per signature, made from the letters above alone: a loop over the arguments costs three times as much.
    check: Callable[[tuple[object, ...]], bool] = eval(f"lambda args: len(args) == {len(spec)} and {kinds} and {bounds}")
    return check


def _nothing(args: tuple[object, ...]) -> bool:
    return not args


def _never(args: tuple[object, ...]) -> bool:
    return False
