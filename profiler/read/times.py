"""Microseconds as files write them -> int64 ns, exact to the last digit: a double holds today's time only to 0.25 us."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

NONE = np.iinfo(np.int64).min  # no time, or one that cannot be read
MOST = 1 << 61  # ns; numbers beyond (73 years) are cut to it, so that sums and differences fit. Epoch times are 1.8e18


def nanoseconds(values: Sequence[Any]) -> NDArray[np.int64]:
    """Times or durations in us (numbers, or texts with any number of decimals, blanks and a tab allowed) in ns; NONE for what
    is no number. Equally long texts with three decimals, what msprof writes, are converted at once."""
    if not len(values):
        return np.zeros(0, np.int64)
    types = set(map(type, values))
    if types == {str}:
        fixed = _fixed(values)
        if fixed is not None:
            return fixed
    elif types == {int} and max(map(abs, values)) < MOST // 1000:
        return np.array(values, np.int64) * 1000
    return np.fromiter((one(v) for v in values), np.int64, len(values))


def _fixed(values: Sequence[str]) -> NDArray[np.int64] | None:
    """Texts of equal length such as 1736408883704643.212; None when any is of another form."""
    length = len(values[0])
    joined = "".join(values)
    if not 5 <= length <= 22 or len(joined) != length * len(values) or not joined.isascii():
        return None
    if len(set(map(len, values))) != 1:
        return None
    cells = np.frombuffer(joined.encode(), np.uint8).reshape(len(values), length)
    while length > 4 and (cells[:, -1] == 9).all():
        cells, length = cells[:, :-1], length - 1
    if length < 5 or length > 22 or not (cells[:, -4] == ord(".")).all():
        return None
    digits = np.delete(cells, length - 4, axis=1) - np.uint8(48)
    # 19 digits fit into int64 when the first is below 9; today's time in ns has 19 and begins with 1
    if (digits > 9).any() or digits.shape[1] > 19 or (digits.shape[1] == 19 and digits[:, 0].max() > 8):
        return None
    total = np.zeros(len(values), np.int64)
    for column in range(digits.shape[1]):
        total *= 10
        total += digits[:, column]
    return np.minimum(total, MOST)


def one(value: Any) -> int:
    """A single time, see nanoseconds."""
    if type(value) is int:
        return min(max(value * 1000, -MOST), MOST)
    if isinstance(value, float):
        value = repr(value)
    if not isinstance(value, str):
        return NONE
    text = value.strip()
    whole, dot, part = text.partition(".")
    if dot and len(part) == 3 and len(whole) < 17 and whole.isascii() and whole.isdigit() and part.isascii() and part.isdigit():
        return min(int(whole + part), MOST)
    try:
        number = Decimal(text) * 1000
        if not number.is_finite():
            return NONE
        return MOST if number >= MOST else -MOST if number <= -MOST else int(number.to_integral_value(ROUND_HALF_EVEN))
    except (ArithmeticError, ValueError):  # of decimal: no number, or an exponent beyond all bounds
        return NONE


def durations(values: Sequence[Any]) -> NDArray[np.int64]:
    """Durations in us as ns. Shorter than 2**53 ns they are exact as doubles, which convert faster; else see nanoseconds."""
    try:
        numbers = np.fromiter(map(float, values), np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.fromiter((one(v) for v in values), np.int64, len(values))
    if not np.isfinite(numbers).all() or (np.abs(numbers) > 9e12).any():
        return np.fromiter((one(v) for v in values), np.int64, len(values))
    return np.rint(numbers * 1000).astype(np.int64)
