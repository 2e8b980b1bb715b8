"""Units in one place. Inside, time is int64 nanoseconds and sizes are bytes; microseconds exist only in readers and exporters."""

from __future__ import annotations

import re
from decimal import Decimal

US = 1_000
MS = 1_000_000
S = 1_000_000_000
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B?)\s*$", re.IGNORECASE)
_FACTOR = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": 1 << 40}


def parse_size(text: str) -> int:
    """'200MB', '8K', '1.5GiB' -> bytes (binary factors, as npu-smi and msprof count). ValueError names the text."""
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    return int(float(match[1]) * _FACTOR[match[2].upper()])


_TIME = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*(ns|us|ms|s|min|h|d)\s*$", re.IGNORECASE)
_TIMES = {"ns": 1, "us": US, "ms": MS, "s": S, "min": 60 * S, "h": 3600 * S, "d": 86400 * S}


def parse_duration(text: str) -> int:
    """'1.5s', '200 ms', '-3us' -> ns, rounded. ValueError names the text; a number without a unit is refused."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    return int((Decimal(match[1]) * _TIMES[match[2].lower()]).to_integral_value())


def duration(ns: float) -> str:
    """A time for people, three significant figures: 812 ns, 12.3 us, 4.57 ms, 1.20 s."""
    for unit, factor in (("s", S), ("ms", MS), ("us", US)):
        if abs(ns) >= factor:
            value = ns / factor
            digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def size(count: float) -> str:
    """A size for people: 512 B, 1.50 MiB."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(count) >= factor:
            value = count / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{count:.0f} B"


def us3(ns: int) -> str:
    """Integer nanoseconds as microseconds with exactly three decimals, as every msprof text file writes them."""
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(ns), 1000)
    return f"{sign}{whole}.{rest:03d}"
