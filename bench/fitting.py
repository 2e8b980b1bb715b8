"""Fitting constants of the cost model to measured kernels: cube kernels by groups of constants, vector kernels by operator.

fit_costs.py is the command: it judges the fit and writes it.
"""

from __future__ import annotations

import csv
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from calibration import chip_of
from measured import Case, case
from robust import non_negative

from npu.cost import Work, fits, kernel, vector
from npu.cost.attention import attention
from npu.cost.attention import family as attention_family
from npu.cost.conv import conv
from npu.cost.grouped import grouped_matmul
from npu.cost.matmul import family as product_family
from npu.cost.matmul import matmul
from npu.cost.vector import Constants
from npu.soc import Soc

CUBE = Path(__file__).resolve().parents[1] / "npu/data/cube_costs.csv"  # which constants are fitted stands there
VECTOR = CUBE.with_name("vector_costs.csv")
ODD = 0.6  # a row is not counted as further off than this
MOST = 200  # rows a fit of cube constants looks at
MOST_OF_ONE = 40  # and one of an operator's constants
ROWS_FOR_OWN = 4  # rows an operator needs for constants of its own
FOLDS = 5
DOUBT = 1  # an operator of so many rows goes half of the way from the generic constants to its own
PRICE = 0.01  # by so much a further constant has to lower the left-out error
PULL = 0.002  # how strongly constants are held near their start
T = TypeVar("T")
VECTOR_FORMS = ("vector", "row", "layout", "fill")


class Point(NamedTuple):
    """One measured row."""

    case: Case
    chip: Soc
    us: float
    source: str


class Tables(NamedTuple):
    """Everything a fit may change."""

    cube: dict[tuple[str, str], float]
    overhead: dict[str, float]
    vector: dict[tuple[str, str, str], Constants]


@cache
def held() -> frozenset[tuple[str, str, str]]:
    """Constants of vector kernels that come from elsewhere, as their source says, and that no fit replaces."""
    with VECTOR.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return frozenset((r["form"], r["op"], r["dtype"]) for r in rows if not r["source"].startswith("fit to"))


class Plan(NamedTuple):
    """A group of cube constants fitted together: the families of rows, and the overheads that move along.

    chip: only rows of that chip family, whose own constants these are.
    """

    group: str
    rows: tuple[str, ...]
    overheads: tuple[str, ...] = ()
    chip: str = ""


PLANS = (
    Plan("matmul", ("matmul",), ("matmul",), "910_93"),
    Plan("matmul@910B", ("matmul",), (), "910B"),
    Plan("matmul_fp32", ("matmul_fp32",)),
    Plan("attention", ("attention_prefill", "attention_decode"), ("attention_prefill", "attention_decode")),
    Plan("attention@910B", ("attention_kernel",), (), "910B"),
    Plan("grouped_matmul", ("moe",), ("moe", "moe_quantised")),
    Plan("grouped_matmul@910B", ("grouped_matmul",), (), "910B"),
    Plan("matmul_int8", ("matmul_int8",), ("matmul_int8",), "910_93"),
    Plan("matmul_int8@910B", ("matmul_int8",), (), "910B"),
    Plan("matmul_weights_int8", ("matmul_weights_int8",)),
    Plan("conv", ("conv",)),
)
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
UNEVEN = ("a", "b", "odd")  # and of a layout operator: rows of odd lengths move slowly


def smallest(
    f: Callable[[list[float]], float], start: Sequence[float], step: float, sweeps: int = 14
) -> tuple[list[float], float]:
    """Where f is smallest near a start, by steps along each axis that grow where they help and halve where they do not."""
    at, steps = list(start), [step] * len(start)
    best = f(at)
    for _ in range(sweeps):
        for i in range(len(at)):
            for sign in (1, -1):
                tried = [*at[:i], at[i] + sign * steps[i], *at[i + 1 :]]
                value = f(tried)
                if value < best:
                    at, best, steps[i] = tried, value, steps[i] * 1.5 * sign
                    break
            else:
                steps[i] /= 2
    return at, best


def points(rows: Iterable[Mapping[str, str]]) -> list[Point]:
    made = []
    for row in rows:
        found = case(row)
        if found is not None:
            made.append(Point(found, chip_of(row), float(row["duration_us"]), row["source"]))
    return made


def work_ns(work: Work, chip: Soc, tables: Tables) -> int:
    """Duration of one kernel under these tables."""

    def record(family: str, kind: type[fits.F]) -> fits.F:
        return fits.record(tables.cube, family, kind, chip.family)

    if work.form == "matmul":
        return matmul(work, chip, record(product_family(work), fits.MatmulFit)).duration
    if work.form == "conv":
        return conv(work, chip, record("conv", fits.MatmulFit)).duration
    if work.form == "attention":
        return attention(work, chip, record(attention_family(work), fits.AttentionFit)).duration
    if work.form == "grouped_matmul":
        return grouped_matmul(work, chip, record("grouped_matmul", fits.GroupedFit)).duration
    if work.form in VECTOR_FORMS:
        return vector.vector(work, chip, constants(tables, work)).duration
    return kernel(work, chip).duration


def constants(tables: Tables, work: Work) -> Constants:
    return vector.closest(tables.vector, work.form, work.op, work.dtype)


def modelled(point: Point, tables: Tables) -> float:
    """us."""
    works = sum(work_ns(w, point.chip, tables) for w in point.case.works)
    return tables.overhead.get(point.case.overhead, 0.0) + works / 1000


def off(points: Sequence[Point], tables: Tables) -> float:
    return statistics.fmean(min(abs(log(modelled(p, tables) / p.us)), ODD) for p in points)


def thinned(rows: list[T], most: int) -> list[T]:
    """Every n-th, so that there are at most so many."""
    return rows[:: max(1, -(-len(rows) // most))]


def fitted_names(group: str) -> list[str]:
    with CUBE.open(encoding="utf-8", newline="") as stream:
        return [r["name"] for r in csv.DictReader(stream) if r["family"] == group and r["fitted"] == "yes"]


def fit_cube(plan: Plan, measured: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the constants of a plan fitted to the rows it names."""
    mine = thinned([p for p in measured if p.case.family in plan.rows and plan.chip in ("", p.chip.family)], MOST)
    names = fitted_names(plan.group)
    if len(mine) < ROWS_FOR_OWN or not names:
        return tables
    start = [tables.cube[plan.group, n] for n in names] + [tables.overhead[n] for n in plan.overheads]
    guess = [log(v) for v in start]

    def put(logs: Sequence[float]) -> Tables:
        values = list(map(exp, logs))
        cube = tables.cube | {(plan.group, n): v for n, v in zip(names, values, strict=False)}
        return tables._replace(cube=cube, overhead=tables.overhead | dict(zip(plan.overheads, values[len(names) :], strict=True)))

    pull = PULL * 30 / len(mine)

    def cost(logs: list[float]) -> float:
        if max(abs(x - g) for x, g in zip(logs, guess, strict=True)) > 2.5:
            return 10.0
        return off(mine, put(logs)) + pull * sum((x - g) ** 2 for x, g in zip(logs, guess, strict=True))

    logs, _ = smallest(cost, guess, 0.12, 10)
    return put(logs)


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

    def off(self, chosen: Constants) -> float:
        made = self.rest + sum(t.us(chosen) for t in self.terms)
        return min(abs(log(made / self.us)), ODD)


def _unit(terms: vector.Terms, name: str, base: Constants) -> float:
    """us that a constant of 1 adds to a kernel; odd: what an aligned row's memory time grows by."""
    moved = terms.spread(base)
    units = {"a": 1.0, "s": terms.cores - 1, "b": moved, "c": terms.cycles, "d": terms.by_row, "odd": moved * terms.unaligned}
    return units[name]


def rows_of(key: tuple[str, str, str], base: Constants, mine: Sequence[Point], tables: Tables) -> list[Row]:
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


def _left_out(shape: Sequence[str], base: Constants, rows: Sequence[Row]) -> float:
    """Mean error of rows that had no part in the fit."""
    folds = min(FOLDS, len(rows))
    errors = []
    for fold in range(folds):
        chosen = _fit_shape(shape, base, [r for i, r in enumerate(rows) if i % folds != fold])
        errors += [r.off(chosen) for i, r in enumerate(rows) if i % folds == fold]
    return statistics.fmean(errors)


def fit_operator(key: tuple[str, str, str], mine: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the constants of one operator, as many as leaving rows out allows."""
    old = tables.vector.get(key)
    base = tables.vector[key[0], "*", ""]
    if old is not None:
        base = base._replace(**{n: getattr(old, n) for n in KEPT})
    rows = thinned(rows_of(key, base, mine, tables), MOST_OF_ONE)
    shapes = [s for s in (*SHAPES, *((UNEVEN,) if key[0] == "layout" else ())) if len(s) < len(rows)]
    best = min(shapes, key=lambda s: _left_out(s, base, rows) + PRICE * len(s))
    return tables._replace(vector=tables.vector | {key: _fit_shape(best, base, rows)})


def shrunken(key: tuple[str, str, str], mine: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the generic constants times a factor for an operator of few rows: the fewer, the nearer to 1."""
    base = tables.vector[key[0], "*", ""]
    logs = [log(r.us / (r.rest + sum(t.us(base) for t in r.terms))) for r in rows_of(key, base, mine, tables)]
    factor = exp(statistics.median(logs) * len(logs) / (len(logs) + DOUBT))
    return tables._replace(vector=tables.vector | {key: _own(base, ("scale",), [factor**0.5])})


def fit_generic(form: str, measured: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the generic row of a form: operators count alike, whatever their rows."""
    groups = by_operator(measured, form)
    if len(groups) < ROWS_FOR_OWN:
        return tables
    key = (form, "*", "")
    base = tables.vector[key]
    rows = [thinned(rows_of((form, op, ""), base, g, tables), 12) for op, g in groups.items()]

    def cost(values: list[float]) -> float:
        chosen = _own(base, GENERIC, values)
        return statistics.fmean(statistics.fmean(r.off(chosen) for r in group) for group in rows)

    values, _ = smallest(cost, [max(getattr(base, n), 0.01) ** 0.5 for n in GENERIC], 0.3, 24)
    return tables._replace(vector=tables.vector | {key: _own(base, GENERIC, values)})


def by_operator(measured: Iterable[Point], form: str) -> dict[str, list[Point]]:
    """Operator -> rows that are that one kernel."""
    groups: dict[str, list[Point]] = defaultdict(list)
    for p in measured:
        if len(p.case.works) == 1 and p.case.works[0].form == form:
            groups[p.case.works[0].op].append(p)
    return groups


def fit_vector(measured: Sequence[Point], tables: Tables, wanted: Collection[str] | None = None) -> Tables:
    """wanted: the operators that are fitted (None: all)."""
    for form in VECTOR_FORMS:
        tables = fit_generic(form, measured, tables)
        for op, mine in by_operator(measured, form).items():
            if wanted is not None and op not in wanted:
                continue
            if len(mine) >= ROWS_FOR_OWN and (form, op, "") not in held():
                tables = fit_operator((form, op, ""), mine, tables)
            elif (form, op, "") not in tables.vector:
                tables = shrunken((form, op, ""), mine, tables)
            for dtype, count in Counter(p.case.works[0].dtype for p in mine).items():
                if ROWS_FOR_OWN <= count < len(mine) and (form, op, dtype) not in held():
                    tables = _fit_type((form, op, dtype), [p for p in mine if p.case.works[0].dtype == dtype], tables)
    return fit_chains(measured, tables, wanted)


def _fit_type(key: tuple[str, str, str], mine: Sequence[Point], tables: Tables) -> Tables:
    """Constants for one element type of an operator, only where they halve the error on rows left out."""
    form, op, _ = key
    base = vector.closest(tables.vector, form, op, "")
    rows = rows_of(key, base, mine, tables)
    shapes = [s for s in SHAPES if len(s) < len(rows)]
    honest = min(_left_out(s, base, rows) for s in shapes)
    return fit_operator(key, mine, tables) if honest < 0.5 * statistics.fmean(r.off(base) for r in rows) else tables


def fit_chains(measured: Sequence[Point], tables: Tables, wanted: Collection[str] | None = None) -> Tables:
    """Operators that too few rows hold alone, from the chains they are in; most frequent first."""
    known = {op for form in VECTOR_FORMS for op, alone in by_operator(measured, form).items() if len(alone) >= ROWS_FOR_OWN}
    chains: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for p in measured:
        if p.case.family == "chain":
            for form, op in {(w.form, w.op) for w in p.case.works if w.form in VECTOR_FORMS and w.op not in known}:
                chains[form, op].append(p)
    for (form, op), mine in sorted(chains.items(), key=lambda item: -len(item[1])):
        if len(mine) >= ROWS_FOR_OWN and (form, op, "") not in held() and (wanted is None or op in wanted):
            tables = fit_operator((form, op, ""), mine, tables)
    return tables
