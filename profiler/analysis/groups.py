"""Numbering the distinct values of a column: what np.unique does, but by counting where the values are small integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profiler.trace import Array, Columns

SPREAD = 4  # a table of at most this many cells per row is cheaper than a sort
BLOCK = 1 << 16  # rows looked at before it is asked whether all values have been seen


def numbered(values: Array) -> tuple[Array, int]:
    """(number of each value among the distinct ones in ascending order, how many there are)."""
    if not len(values):
        return np.zeros(0, np.int64), 0
    if values.strides == (0,):
        return np.zeros(len(values), np.int32), 1
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > SPREAD * len(values) + 1024:
        found, inverse = np.unique(values, return_inverse=True)
        return inverse, len(found)
    narrow = values.dtype.kind == "i" and span < 1 << (8 * values.itemsize - 1)
    at = values - values.dtype.type(low) if narrow else values.astype(np.int64) - low
    seen = np.zeros(span, bool)
    for begin in range(0, len(at), max(BLOCK, span)):
        seen[at[begin : begin + max(BLOCK, span)]] = True
        if seen.all():
            return at.astype(np.int32), span
    rank = np.cumsum(seen, dtype=np.int32)
    rank -= 1
    return np.take(rank, at), int(rank[-1]) + 1


def combined(*columns: Array) -> Array:
    """One number per distinct combination of the columns' values."""
    number, found = numbered(columns[0])
    for values in columns[1:]:
        position, count = numbered(values)
        if found == 1:
            number, found = position, count
        elif count > 1:
            narrow_enough = found * count <= np.iinfo(np.int32).max
            wide: Array = number.astype(np.int32 if narrow_enough else np.int64)
            number, found = numbered(wide * count + position)
    return number


def distinct(*columns: Array) -> tuple[Array, Array]:
    """(the distinct combinations of the columns' values as rows in ascending order, number of the combination per row): what
    np.unique(axis=0) gives, without its slow sort of whole rows."""
    number = combined(*columns)
    row = one_of_each(number, int(number.max(initial=-1)) + 1)
    return np.stack([c[row] for c in columns], axis=1), number


def one_of_each(number: Array, count: int) -> Array:
    """A row for each of the numbers 0 to count - 1, every one of which occurs."""
    row = np.full(count, -1, np.int64)
    for begin in range(0, len(number), max(BLOCK, count)):
        part = number[begin : begin + max(BLOCK, count)]
        row[part] = np.arange(begin, begin + len(part))
        if (row >= 0).all():
            break
    return row


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


def in_order(*columns: Array) -> bool:
    """Whether rows stand by the first of these columns, of equal values by the next, and so on."""
    varied = [c for c in columns if c.strides != (0,)]
    if len(varied) > 1:
        varied = [c for c in varied if len(c) and (c[0] != c[-1] or (c != c[0]).any())]
    if not varied:
        return True
    sorted_: Array = varied[-1][1:] >= varied[-1][:-1]
    for values in varied[-2::-1]:
        sorted_ &= values[1:] == values[:-1]
        sorted_ |= values[1:] > values[:-1]
    return bool(sorted_.all())


def sort_by(*columns: Array) -> Array:
    """Rows by the first of these columns, of equal values by the next, and so on; stable."""
    if in_order(*columns):
        return np.arange(len(columns[0]))
    return np.lexsort(columns[::-1])


def stretch(rows: Array) -> Array | slice:
    """Ascending rows as an index: where they lie side by side the slice that holds them, which copies nothing."""
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def values_of(column: Array) -> Array:
    """The distinct values of a column, ascending."""
    number, count = numbered(column)
    found: Array = column[one_of_each(number, count)]
    return found


def ranges(starts: Array, counts: Array) -> Array:
    """The numbers of several ranges one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    numbers: Array = np.arange(int(ends[-1]) if len(ends) else 0)
    numbers += np.repeat(starts - (ends - counts), counts)
    return numbers


def rises(values: Array) -> Array:
    """By how much each value is above the one before it; the first one itself."""
    by = values.copy()
    by[1:] -= values[:-1]
    return by


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
