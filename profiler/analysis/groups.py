"""Numbering the distinct values of a column: what np.unique does, but by counting where the values are small integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profiler.trace import Array, Columns

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
    narrow = values.dtype.kind == "i" and span < 1 << (8 * values.itemsize - 1)
    at = values - values.dtype.type(low) if narrow else values.astype(np.int64) - low
    seen = np.zeros(span, bool)
    seen[at] = True
    rank = np.cumsum(seen, dtype=np.int32)
    rank -= 1
    return np.take(rank, at), int(rank[-1]) + 1


def combined(*columns: Array) -> Array:
    """One number per distinct combination of the columns' values."""
    number, found = np.zeros(len(columns[0]), np.int64), 1
    for values in columns:
        position, count = numbered(values)
        if found == 1:
            number, found = position, count
        elif count > 1:
            number, found = numbered(number.astype(np.int64) * count + position)
    return number


def distinct(*columns: Array) -> tuple[Array, Array]:
    """(the distinct combinations of the columns' values as rows in ascending order, number of the combination per row): what
    np.unique(axis=0) gives, without its slow sort of whole rows."""
    number = combined(*columns)
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return np.stack([c[first] for c in columns], axis=1), number


def kinds(table: Columns, names: Sequence[str]) -> tuple[Array, Array]:
    """(the distinct combinations of some columns of a table, number of the combination per row) as `distinct` gives them; columns
    that follow from one other column are told apart by that one."""
    index = shared_index(table, names)
    if index is None:
        found, number = distinct(*(table[name] for name in names))
        return found, number.astype(np.int32)
    lookups = [one for name in names if (one := table.lookup(name)) is not None]
    size = len(lookups[0].values)
    place = np.where(index < 0, index + size, index)
    used = np.flatnonzero(np.bincount(place, minlength=size))
    found, number = distinct(*(other.values[used] for other in lookups))
    of_place = np.zeros(size, np.int32)
    of_place[used] = number
    return found, np.take(of_place, place)


def shared_index(table: Columns, names: Sequence[str]) -> Array | None:
    """The column all of these columns of a table follow from; None where there is no such one."""
    lookups = [table.lookup(name) for name in names]
    first = lookups[0] if lookups else None
    return first.index if first is not None and all(one is not None and one.index is first.index for one in lookups) else None


def narrow(values: Array) -> Array:
    """The same whole numbers in half the room, where they fit."""
    limits = np.iinfo(np.int32)
    fits = not len(values) or (int(values.min()) >= limits.min and int(values.max()) <= limits.max)
    return values.astype(np.int32) if fits else values


def room_for(values: Array, more: Array) -> Array:
    """The array, or a wider copy of it, in which the other numbers find room as well."""
    return values if narrow(more).dtype.itemsize <= values.itemsize else values.astype(np.int64)


def order_by(number: Array) -> Array:
    """Rows by a small non-negative number, stable: a radix sort where the numbers fit 16 bits."""
    small = not len(number) or int(number.max()) <= np.iinfo(np.uint16).max
    return np.argsort(number.astype(np.uint16) if small else number, kind="stable")


def largest(values: Array, most: int) -> Array:
    """Places of the `most` largest values, the largest first, of equal ones the earlier first."""
    if len(values) <= most:
        places = np.arange(len(values))
    else:
        places = np.flatnonzero(values >= np.partition(values, len(values) - most)[len(values) - most])
    order: Array = places[np.argsort(-values[places], kind="stable")[:most]]
    return order


def changes(*columns: Array) -> Array:
    """Mask: the first row of each run of equal values in sorted columns."""
    first = np.zeros(len(columns[0]), bool)
    first[:1] = True
    for values in columns:
        first[1:] |= values[1:] != values[:-1]
    return first
