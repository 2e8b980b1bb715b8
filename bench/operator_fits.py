"""Fitting constants of vector kernels, operator by operator: generic ones of a form first, then each operator's own.

How many constants an operator gets is decided by leaving rows out. Operators that only chains hold are fitted to what the rest of
their chains leaves; those that are never seen but together share theirs.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import exp, log
from typing import Any, NamedTuple

from fitting import ODD, ROWS_FOR_OWN, VECTOR_FORMS, Point, Tables, held, smallest, thinned, work_ns
from robust import non_negative

from npu.cost import vector
from npu.cost.vector import Constants

Key = tuple[str, str, str]  # form, operator, element type
MOST_OF_ONE = 40  # rows a fit of an operator's constants looks at
FAR_OFF = 3.0  # a row is not counted as further off than this where types are compared that may be a hundred times apart
FEW = 3  # rows for the integers, or for the others, of an operator
FOLDS = 5
DOUBT = 1  # an operator of so many rows goes half of the way from the generic constants to its own
PRICE = 0.01  # by so much a further constant has to lower the left-out error
PART = 0.1  # of its chains that an operator has to take, or they say nothing of it
IN_CHAINS = 0.06  # the same for operators that only chains hold, whose own part is less sure
# What an operator may have of its own, fewest constants first.
SHAPES: tuple[tuple[str, ...], ...] = (
    ("scale",),
    ("a", "b"),
    ("a", "c"),
    ("a", "d"),
    ("a", "s", "b"),
    ("a", "s", "c"),
    ("a", "b", "d"),
    ("a", "c", "d"),
    ("a", "b", "c", "d"),
)
KEPT = ("vec", "mte2", "mte3", "task_type", "whole", "hbm", "warm", "burst")  # what no fit changes
GENERIC = ("a", "s", "b", "c", "d")
START = (8.0, 0.01, 0.8, 10.0, 0.2)  # of a fit of these: not what stands in the file, so that a fit of a fit changes nothing
STEPS = (0.05, 0.2, 0.4, 0.8)  # and of a step, us
UNEVEN = ("a", "b", "odd")  # and of a layout operator: rows of odd lengths move slowly


def _own(base: Constants, shape: Sequence[str], values: Sequence[float]) -> Constants:
    """Constants of a shape: values are square roots, so that none becomes negative."""
    if shape == ("scale",):
        k = values[0] ** 2
        return base._replace(a=base.a * k, b=base.b * k, c=base.c * k, d=base.d * k, s=base.s * k)
    cleared = base._replace(a=0.0, b=0.0, c=0.0, d=0.0, odd=1.0, s=0.0)
    chosen: dict[str, Any] = {n: v * v + (n == "odd") for n, v in zip(shape, values, strict=True)}
    return cleared._replace(**chosen)


class Row(NamedTuple):
    """A measured row for the fit of one operator: what else it holds, and the terms of each of its kernels of that operator."""

    us: float
    rest: float
    terms: tuple[vector.Terms, ...]

    def linear(self, shape: Sequence[str], base: Constants) -> list[float]:
        """What a unit of each constant adds, us."""
        return [sum(_unit(t, name, base) for t in self.terms) for name in shape]

    def off(self, chosen: Constants, most: float = ODD) -> float:
        made = self.rest + sum(t.us(chosen) for t in self.terms)
        return min(abs(log(made / self.us)), most)


def _unit(terms: vector.Terms, name: str, base: Constants) -> float:
    """us that a constant of 1 adds to a kernel; odd: what an aligned row's memory time grows by."""
    moved = terms.spread(base)
    units = {"a": 1.0, "s": terms.cores - 1, "b": moved, "c": terms.cycles, "d": terms.by_row, "odd": moved * terms.unaligned}
    return units[name]


def rows_of(key: Key, base: Constants, mine: Sequence[Point], tables: Tables) -> list[Row]:
    made = []
    for p in mine:
        ours = [w for w in p.case.works if (w.form, w.op) == key[:2]]
        rest = sum(work_ns(w, p.chip, tables) for w in p.case.works if (w.form, w.op) != key[:2]) / 1000
        rest += tables.overhead.get(p.case.overhead, 0.0)
        made.append(Row(p.us, rest, tuple(vector.terms(w, p.chip, base) for w in ours)))
    return made


def _fit_shape(shape: Sequence[str], base: Constants, rows: Sequence[Row]) -> Constants:
    """The constants of one operator within a shape: the best of a few starts, one of them where a robust regression ends."""

    def cost(values: list[float]) -> float:
        chosen = _own(base, shape, values)
        return statistics.fmean(r.off(chosen) for r in rows)

    if shape == ("scale",):
        values, _ = min((smallest(cost, [k**0.5], 0.3, 10) for k in (0.3, 1.0, 3.0)), key=lambda found: found[1])
        return _own(base, shape, values)
    found = non_negative([r.linear(shape, base) for r in rows], [max(r.us - r.rest, 0.05 * r.us) for r in rows])
    if "odd" in shape:
        found[-1] /= max(found[shape.index("b")], 1e-6)  # the factor of b
    starts = [[max(v, 1e-4) ** 0.5 for v in found]]
    if "odd" in shape:  # not linear: a plain start besides
        starts.append([(0.8 * min(r.us / len(r.terms) for r in rows)) ** 0.5, 1.0, 1.0])
    values, _ = min((smallest(cost, s, 0.2, 10) for s in starts), key=lambda found: found[1])
    return _own(base, shape, values)


def _left_out(shape: Sequence[str], base: Constants, rows: Sequence[Row], most: float = ODD) -> float:
    """Mean error of rows that had no part in the fit."""
    folds = min(FOLDS, len(rows))
    errors = []
    for fold in range(folds):
        chosen = _fit_shape(shape, base, [r for i, r in enumerate(rows) if i % folds != fold])
        errors += [r.off(chosen, most) for i, r in enumerate(rows) if i % folds == fold]
    return statistics.fmean(errors)


def plain(key: Key, tables: Tables, kept: Key | None = None) -> Constants:
    """The generic constants of a form with what no fit changes of an operator; kept: where that stands, if not at its key."""
    base, old = tables.vector[key[0], "*", ""], tables.vector.get(key if kept is None else kept)
    return base if old is None else base._replace(**{n: getattr(old, n) for n in KEPT})


def _shapes(key: Key, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [s for s in (*SHAPES, *((UNEVEN,) if key[0] == "layout" else ())) if len(s) < len(rows)]


def fit_operator(key: Key, mine: Sequence[Point], tables: Tables, kept: Key | None = None, price: float = PRICE) -> Tables:
    """Tables with the constants of one operator, as many as leaving rows out allows. kept: where what no fit changes stands;
    price: what a further constant has to lower the error by."""
    base = plain(key, tables, kept)
    rows = thinned(rows_of(key, base, mine, tables), MOST_OF_ONE)
    best = min(_shapes(key, rows), key=lambda s: _left_out(s, base, rows) + price * len(s))
    return tables._replace(vector=tables.vector | {key: _fit_shape(best, base, rows)})


def shrunken(key: Key, mine: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the generic constants times a factor for an operator of few rows: the fewer, the nearer to 1."""
    base = tables.vector[key[0], "*", ""]
    logs = [log(r.us / (r.rest + sum(t.us(base) for t in r.terms))) for r in rows_of(key, base, mine, tables)]
    factor = exp(statistics.median(logs) * len(logs) / (len(logs) + DOUBT))
    return tables._replace(vector=tables.vector | {key: _own(base, ("scale",), [factor**0.5])})


def fit_generic(form: str, measured: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the generic row of a form: operators count alike, whatever their rows. Across an axis everything but the time
    of a step is as along one."""
    groups = by_operator(measured, form)
    if len(groups) < ROWS_FOR_OWN:
        return tables
    key = (form, "*", "")
    base = tables.vector["row", "*", ""] if form == "across" else tables.vector[key]
    rows = [thinned(rows_of((form, op, ""), base, g, tables), 12) for op, g in groups.items()]

    def chosen(values: list[float]) -> Constants:
        return base._replace(d=values[0] ** 2) if form == "across" else _own(base, GENERIC, values)

    def cost(values: list[float]) -> float:
        tried = chosen(values)
        return statistics.fmean(statistics.fmean(r.off(tried) for r in group) for group in rows)

    starts = [[d**0.5] for d in STEPS] if form == "across" else [[v**0.5 for v in START]]
    values, _ = min((smallest(cost, start, 0.3, 24) for start in starts), key=lambda found: found[1])
    return tables._replace(vector=tables.vector | {key: chosen(values)})


def by_operator(measured: Iterable[Point], form: str) -> dict[str, list[Point]]:
    """Operator -> rows that are that one kernel."""
    groups: dict[str, list[Point]] = defaultdict(list)
    for p in measured:
        if len(p.case.works) == 1 and p.case.works[0].form == form:
            groups[p.case.works[0].op].append(p)
    return groups


def fit_vector(measured: Sequence[Point], tables: Tables, wanted: Collection[str] | None = None) -> Tables:
    """wanted: the operators that are fitted, with those of the same chains (None: all)."""
    if wanted is not None:
        chains = [{w.op for w in p.case.works} for p in measured if p.case.family == "chain"]
        wanted = {op for ops in chains if not ops.isdisjoint(wanted) for op in ops}.union(wanted)
    for form in VECTOR_FORMS:
        tables = fit_generic(form, measured, tables)
        for op, mine in by_operator(measured, form).items():
            if wanted is not None and op not in wanted:
                continue
            if len(mine) >= ROWS_FOR_OWN and (form, op, "") not in held():
                tables = fit_operator((form, op, ""), mine, tables)
            elif (form, op, "") not in tables.vector:
                tables = shrunken((form, op, ""), mine, tables)
            tables = _fit_integers((form, op, vector.INTEGER), mine, tables)
            for dtype, count in Counter(p.case.works[0].dtype for p in mine).items():
                if ROWS_FOR_OWN <= count < len(mine) and (form, op, dtype) not in held():
                    tables = _fit_type((form, op, dtype), [p for p in mine if p.case.works[0].dtype == dtype], tables)
    return fit_chains(measured, tables, wanted)


def _fit_integers(key: Key, mine: Sequence[Point], tables: Tables) -> Tables:
    """Constants for the integers and for all other types of an operator apart, only where that lowers the error on rows left out
    by a third: what an operator has no instructions for it does one value at a time."""
    general = (*key[:2], "")
    parts = [[p for p in mine if _integer(p, key) is which] for which in (True, False)]
    if general in held() or key in held() or min(map(len, parts)) < FEW:
        return tables
    apart = tables
    for place, part in zip((key, general), parts, strict=True):
        apart = fit_operator(place, part, apart, general)
    together = [_honest(general, mine, tables, general)] * 2
    left = [_honest(place, part, tables, general) for place, part in zip((key, general), parts, strict=True)]
    whole = sum(len(part) * error for part, error in zip(parts, together, strict=True))
    return apart if sum(len(part) * error for part, error in zip(parts, left, strict=True)) < 0.67 * whole else tables


def _integer(point: Point, key: Key) -> bool:
    return next(w.dtype for w in point.case.works if (w.form, w.op) == key[:2]) in vector.INTEGERS


def _honest(key: Key, mine: Sequence[Point], tables: Tables, kept: Key) -> float:
    """The least mean error on rows left out that a shape of constants gives an operator."""
    base = plain(key, tables, kept)
    rows = thinned(rows_of(key, base, mine, tables), MOST_OF_ONE)
    return min(_left_out(s, base, rows, FAR_OFF) for s in _shapes(key, rows))


def _fit_type(key: Key, mine: Sequence[Point], tables: Tables) -> Tables:
    """Constants for one element type of an operator, only where they halve the error on rows left out."""
    form, op, _ = key
    base = vector.closest(tables.vector, form, op, "")
    rows = rows_of(key, base, mine, tables)
    shapes = [s for s in SHAPES if len(s) < len(rows)]
    honest = min(_left_out(s, base, rows) for s in shapes)
    return fit_operator(key, mine, tables) if honest < 0.5 * statistics.fmean(r.off(base) for r in rows) else tables


def fit_chains(measured: Sequence[Point], tables: Tables, wanted: Collection[str] | None = None) -> Tables:
    """Operators that too few rows hold alone, from the chains they are in; those that take most of their chains first."""
    known = {op for form in VECTOR_FORMS for op, alone in by_operator(measured, form).items() if len(alone) >= ROWS_FOR_OWN}
    chains: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for p in measured:
        if p.case.family == "chain":
            for form, op in {(w.form, w.op) for w in p.case.works if w.form in VECTOR_FORMS and w.op not in known}:
                chains[form, op].append(p)
    groups: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for (form, op), mine in sorted(chains.items(), key=lambda item: -len(item[1])):
        if len(mine) >= ROWS_FOR_OWN and (form, op, "") not in held() and (wanted is None or op in wanted):
            groups[form, tuple(map(id, mine))].append(op)
    found = [(form, ops, chains[form, ops[0]]) for (form, _), ops in groups.items()]
    for form, ops, mine in sorted(found, key=lambda item: -part(item[0], item[1], item[2], tables)):
        key = (form, ops[0], "")
        if part(form, ops, mine, tables, measured=True) < PART:
            continue
        if len(ops) == 1:
            tables = _fit_integers((form, ops[0], vector.INTEGER), mine, fit_operator(key, mine, tables, price=IN_CHAINS))
        else:
            tables = fit_together(form, ops, mine, tables)
    return tables


def part(form: str, ops: Collection[str], mine: Sequence[Point], tables: Tables, measured: bool = False) -> float:
    """The part of chains that operators take, of the median one: as modelled, or what the others leave of the measured time."""
    parts = []
    for p in mine:
        times = [(w.form == form and w.op in ops, work_ns(w, p.chip, tables) / 1000) for w in p.case.works]
        ours, rest = (sum(us for own, us in times if own is which) for which in (True, False))
        parts.append(1 - rest / p.us if measured else ours / (ours + rest))
    return statistics.median(parts)


def fit_together(form: str, ops: Sequence[str], mine: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the same constants for operators that are never seen but together: the rows say only what they take in sum."""
    base = tables.vector[form, "*", ""]
    rows = []
    for p in mine:
        ours = [w for w in p.case.works if w.form == form and w.op in ops]
        rest = sum(work_ns(w, p.chip, tables) for w in p.case.works if w not in ours) / 1000
        rows.append(Row(p.us, rest, tuple(vector.terms(w, p.chip, base) for w in ours)))
    shapes = [s for s in SHAPES if len(s) < len(rows)]
    best = min(shapes, key=lambda s: _left_out(s, base, rows) + PRICE * len(s))
    found = _fit_shape(best, base, rows)
    made = {}
    for op in ops:
        old = tables.vector.get((form, op, ""), base)
        made[form, op, ""] = found._replace(**{n: getattr(old, n) for n in KEPT})
    return tables._replace(vector=tables.vector | made)
