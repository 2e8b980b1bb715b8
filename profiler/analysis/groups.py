"""Numbering the distinct values of a column: what np.unique does, but by counting where the values are small integers."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array

SPREAD = 4  # a table of at most this many cells per row is cheaper than a sort


def numbered(values: Array) -> tuple[Array, int]:
    """(number of each value among the distinct ones in ascending order, how many there are)."""
    if not len(values):
        return np.zeros(0, np.int64), 0
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > SPREAD * len(values) + 1024:
        found, inverse = np.unique(values, return_inverse=True)
        return inverse, len(found)
    at = values.astype(np.int64) - low
    seen = np.zeros(span, bool)
    seen[at] = True
    rank = np.cumsum(seen) - 1
    return rank[at], int(rank[-1]) + 1


def combined(*columns: Array) -> Array:
    """One number per distinct combination of the columns' values."""
    number = np.zeros(len(columns[0]), np.int64)
    for values in columns:
        position, count = numbered(values)
        number = numbered(number * max(count, 1) + position)[0]
    return number


def distinct(*columns: Array) -> tuple[Array, Array]:
    """(the distinct combinations of the columns' values as rows in ascending order, number of the combination per row): what
    np.unique(axis=0) gives, without its slow sort of whole rows."""
    number = combined(*columns)
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return np.stack([c[first] for c in columns], axis=1), number


def changes(*columns: Array) -> Array:
    """Mask: the first row of each run of equal values in sorted columns."""
    first = np.zeros(len(columns[0]), bool)
    first[:1] = True
    for values in columns:
        first[1:] |= values[1:] != values[:-1]
    return first
