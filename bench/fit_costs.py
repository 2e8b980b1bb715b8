"""Fit the constants of the cost model: python bench/fit_costs.py FILE.csv [--write] [--left-out source|fold|operator]

FILE holds measured kernels in the layout of calibration.py. Fitted are the rows marked "yes" of npu/data/cube_costs.csv, the
overheads of event loops (bench/overheads.csv) and the constants a, b, c, d of the operators in npu/data/vector_costs.csv.

1. Cube kernels: for each group of constants in PLANS the mean of |log(modelled / measured)|, cut at ODD for single odd rows, is
   made smallest by steps along the logarithms, from the values that stand in the file.
2. Vector kernels: first the generic row of each form, every operator counting the same; then each operator with ROWS_FOR_OWN
   rows or more. How many constants it gets of its own is decided by leaving rows out: the generic ones times a factor, or a
   and some of b, c, d; a constant more has to earn its place.
3. Operators that only occur in chains are fitted to what the rest of the chain leaves.

--left-out prints, per family, the error on rows that had no part in the fit: each source, each of five folds, or each operator
left out in turn. Constants that the remaining rows are too few to give are forgotten first; rows that nothing else could be
fitted for are not judged. --write replaces the files and npu/data/cost_errors.csv, the table reports quote (sources left out);
--errors writes that table alone, for the constants as they are.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from calibration import OVERHEADS, chip_of, overheads
from measured import Case, case

from npu.cost import Work, fits, kernel, vector
from npu.cost.attention import attention
from npu.cost.attention import family as attention_family
from npu.cost.conv import conv
from npu.cost.grouped import grouped_matmul
from npu.cost.matmul import family as product_family
from npu.cost.matmul import matmul
from npu.cost.vector import Constants
from npu.soc import Soc

DATA = Path(__file__).resolve().parents[1] / "npu/data"
CUBE, VECTOR, ERRORS = DATA / "cube_costs.csv", DATA / "vector_costs.csv", DATA / "cost_errors.csv"
ODD = 0.6  # a row is not counted as further off than this
MOST = 200  # rows a fit of cube constants looks at
MOST_OF_ONE = 40  # and one of an operator's constants
ROWS_FOR_OWN = 4  # rows an operator needs for constants of its own
FOLDS = 5
PRICE = 0.01  # by so much a further constant has to lower the left-out error
PULL = 0.002  # how strongly constants are held near their start
T = TypeVar("T")
CONVERSIONS = ("TransData", "TensorMove")  # constants from elsewhere: the convolutions around it, a copy at the rate of memory
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
    Plan("matmul_int8", ("matmul_int8",), ("matmul_int8",)),
    Plan("matmul_weights_int8", ("matmul_weights_int8",)),
    Plan("conv", ("conv",)),
)
# What an operator may have of its own, fewest constants first.
SHAPES: tuple[tuple[str, ...], ...] = (
    ("scale",),
    ("a", "b"),
    ("a", "c"),
    ("a", "d"),
    ("a", "b", "d"),
    ("a", "c", "d"),
    ("a", "b", "c", "d"),
)
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
        return base._replace(a=base.a * k, b=base.b * k, c=base.c * k, d=base.d * k)
    cleared = base._replace(a=0.0, b=0.0, c=0.0, d=0.0, odd=1.0)
    chosen: dict[str, Any] = {n: v * v + (n == "odd") for n, v in zip(shape, values, strict=True)}
    return cleared._replace(**chosen)


class Row(NamedTuple):
    """A measured row for the fit of one operator: what else it holds, and the terms of each of its kernels of that operator."""

    us: float
    rest: float
    terms: tuple[vector.Terms, ...]

    def off(self, chosen: Constants) -> float:
        made = self.rest + sum(t.us(chosen) for t in self.terms)
        return min(abs(log(made / self.us)), ODD)


def rows_of(key: tuple[str, str, str], base: Constants, mine: Sequence[Point], tables: Tables) -> list[Row]:
    made = []
    for p in mine:
        ours = [w for w in p.case.works if (w.form, w.op) == key[:2]]
        rest = sum(work_ns(w, p.chip, tables) for w in p.case.works if (w.form, w.op) != key[:2]) / 1000
        rest += tables.overhead.get(p.case.overhead, 0.0)
        made.append(Row(p.us, rest, tuple(vector.terms(w, p.chip, base) for w in ours)))
    return made


def _fit_shape(shape: Sequence[str], base: Constants, rows: Sequence[Row]) -> Constants:
    """The constants of one operator within a shape."""
    small = min(r.us / len(r.terms) for r in rows)
    first = {"scale": 1.0, "a": (0.8 * small) ** 0.5, "b": 1.0, "c": 3.0, "d": 0.2, "odd": 1.0}

    def cost(values: list[float]) -> float:
        chosen = _own(base, shape, values)
        return statistics.fmean(r.off(chosen) for r in rows)

    starts = [[first[n] * k ** (n != "a") for n in shape] for k in (0.3, 1.0, 3.0)]
    values, _ = min((smallest(cost, s, 0.3, 24) for s in starts), key=lambda found: found[1])
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
        base = base._replace(**{n: getattr(old, n) for n in ("vec", "mte2", "mte3", "task_type", "whole", "hbm", "warm")})
    rows = thinned(rows_of(key, base, mine, tables), MOST_OF_ONE)
    shapes = [s for s in (*SHAPES, *((UNEVEN,) if key[0] == "layout" else ())) if len(s) < len(rows)]
    best = min(shapes, key=lambda s: _left_out(s, base, rows) + PRICE * len(s))
    return tables._replace(vector=tables.vector | {key: _fit_shape(best, base, rows)})


def fit_generic(form: str, measured: Sequence[Point], tables: Tables) -> Tables:
    """Tables with the generic row of a form: operators count alike, whatever their rows."""
    groups = by_operator(measured, form)
    if len(groups) < ROWS_FOR_OWN:
        return tables
    key = (form, "*", "")
    base = tables.vector[key]
    rows = [thinned(rows_of((form, op, ""), base, g, tables), 12) for op, g in groups.items()]

    def cost(values: list[float]) -> float:
        chosen = _own(base, ("a", "b", "c", "d"), values)
        return statistics.fmean(statistics.fmean(r.off(chosen) for r in group) for group in rows)

    values, _ = smallest(cost, [max(v, 0.01) ** 0.5 for v in (base.a, base.b, base.c, base.d)], 0.3, 24)
    return tables._replace(vector=tables.vector | {key: _own(base, ("a", "b", "c", "d"), values)})


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
            if len(mine) >= ROWS_FOR_OWN:
                tables = fit_operator((form, op, ""), mine, tables)
            for dtype, count in Counter(p.case.works[0].dtype for p in mine).items():
                if ROWS_FOR_OWN <= count < len(mine):
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
    """Operators known from chains only, most frequent first."""
    known = {op for form in VECTOR_FORMS for op in by_operator(measured, form)} | set(CONVERSIONS)
    chains: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for p in measured:
        if p.case.family == "chain":
            for form, op in {(w.form, w.op) for w in p.case.works if w.form in VECTOR_FORMS and w.op not in known}:
                chains[form, op].append(p)
    for (form, op), mine in sorted(chains.items(), key=lambda item: -len(item[1])):
        if len(mine) >= ROWS_FOR_OWN and (wanted is None or op in wanted):
            tables = fit_operator((form, op, ""), mine, tables)
    return tables


def start() -> Tables:
    return Tables(dict(fits.table()), dict(overheads()), dict(vector.table()))


def fit(
    measured: Sequence[Point], tables: Tables, touched: Iterable[str] | None = None, operators: Collection[str] | None = None
) -> Tables:
    """All constants. touched: only what rows of these families have a part in, operators: only these (None: everything)."""
    wanted = None if touched is None else set(touched)
    cube = {f for plan in PLANS for f in plan.rows}
    if wanted is None or wanted - cube:  # first, because chains hold vector kernels beside the cube's
        tables = fit_vector(measured, tables, operators)
    for plan in PLANS:
        if wanted is None or wanted & set(plan.rows):
            tables = fit_cube(plan, measured, tables)
    return tables


Errors = dict[str, list[float]]


def errors(measured: Iterable[Point], tables: Tables) -> Errors:
    found: Errors = defaultdict(list)
    for p in measured:
        found[p.case.family].append(abs(modelled(p, tables) / p.us - 1))
    return found


def without(measured: Sequence[Point], tables: Tables, key: Callable[[int, Point], str]) -> Errors:
    """Errors of rows left out of the fit, group by group. Rows that nothing else can be fitted for are judged by nobody."""
    found: Errors = defaultdict(list)
    groups: dict[str, list[Point]] = defaultdict(list)
    for i, p in enumerate(measured):
        groups[key(i, p)].append(p)
    for group in groups.values():
        inside = set(map(id, group))
        rest = [p for p in measured if id(p) not in inside]
        judged = [p for p in group if known(p, rest)]
        if not judged:
            continue
        made = fit(rest, forget(tables, rest), {p.case.family for p in judged}, {w.op for p in judged for w in p.case.works})
        for family, values in errors(judged, made).items():
            found[family] += values
    return found


def known(point: Point, rest: Sequence[Point]) -> bool:
    """Whether the remaining rows fix what a row takes from a fit: its overhead, and for a cube kernel its group's constants."""
    if point.case.overhead and not any(p.case.overhead == point.case.overhead for p in rest):
        return False
    bases = [plan for plan in PLANS if point.case.family in plan.rows and "@" not in plan.group]
    return all(enough(plan, rest) for plan in bases)


def enough(plan: Plan, rest: Sequence[Point]) -> bool:
    return sum(p.case.family in plan.rows and plan.chip in ("", p.chip.family) for p in rest) >= ROWS_FOR_OWN


def forget(tables: Tables, rest: Sequence[Point]) -> Tables:
    """Tables without the fitted constants that the remaining rows are too few to give again."""
    rows = Counter((w.form, w.op) for p in rest for w in {(w.form, w.op): w for w in p.case.works}.values())
    with VECTOR.open(encoding="utf-8", newline="") as stream:
        fitted = {(r["form"], r["op"], r["dtype"]) for r in csv.DictReader(stream) if r["source"].startswith("fit to")}
    gone = {k for k in fitted if k[1] != "*" and (k[2] or rows[k[:2]] < ROWS_FOR_OWN)}
    few = {plan.group for plan in PLANS if "@" in plan.group and not enough(plan, rest)}
    return tables._replace(
        cube={k: v for k, v in tables.cube.items() if k[0] not in few},
        vector={k: v for k, v in tables.vector.items() if k not in gone},
    )


def write(tables: Tables, measured: Sequence[Point], found: Errors, left: Errors) -> None:
    """The data files; a row keeps its source, what was fitted says to how many rows."""
    _rewrite(CUBE, lambda r: _cube_row(r, tables, measured))
    _rewrite(OVERHEADS, lambda r: r | {"us": f"{tables.overhead[r['family']]:.2f}"})
    _write_vector(tables, measured)
    write_errors(found, left)


def write_errors(found: Errors, left: Errors) -> None:
    """The table reports quote. left: errors by source left out; a family no other source measured has none."""
    with ERRORS.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("family", "rows", "median", "mean", "left_out_rows", "left_out_median"))
        for family, values in sorted(found.items()):
            honest = left.get(family, [])
            middle = f"{statistics.median(honest):.3f}" if honest else ""
            figures = f"{statistics.median(values):.3f}", f"{statistics.fmean(values):.3f}"
            writer.writerow((family, len(values), *figures, len(honest), middle))


def _rewrite(path: Path, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        names, rows = list(reader.fieldnames or ()), [change(r) for r in reader]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _cube_row(row: dict[str, str], tables: Tables, measured: Sequence[Point]) -> dict[str, str]:
    plan = next((p for p in PLANS if p.group == row["family"]), None)
    if row["fitted"] != "yes" or plan is None:
        return row
    count = sum(p.case.family in plan.rows and plan.chip in ("", p.chip.family) for p in measured)
    value = tables.cube[row["family"], row["name"]]
    return row | {"value": f"{value:.4g}", "source": f"fit to {count} measured rows"}


def _write_vector(tables: Tables, measured: Sequence[Point]) -> None:
    with VECTOR.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        names = list(reader.fieldnames or ())
        rows = {(r["form"], r["op"], r["dtype"]): r for r in reader}
    counts = Counter((w.form, w.op) for p in measured for w in {(w.form, w.op): w for w in p.case.works}.values())
    before = vector.table()
    for key, made in tables.vector.items():
        if key in before and made == before[key]:
            continue
        generic = rows[key[0], "*", ""]
        row = dict(rows.get(key, generic | {"op": key[1], "dtype": key[2]}))
        row |= {n: f"{getattr(made, n):.4g}" for n in ("a", "b", "c", "d")}
        row["odd"] = f"{made.odd:.4g}" if made.odd != 1 else ""
        rows_of = f"{counts[key[0], key[1]]} measured rows" if key[1] != "*" else "all operators of the form"
        shares = row["source"].partition("; ")[2] if key in rows else ""
        row["source"] = f"fit to {rows_of}" + (f"; {shares}" if shares else "")
        rows[key] = row
    order = {form: i for i, form in enumerate(dict.fromkeys(k[0] for k in rows))}
    with VECTOR.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(r for _, r in sorted(rows.items(), key=lambda item: (order[item[0][0]], item[0][1:])))


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the constants of the cost model to measured kernels.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the data files")
    parser.add_argument(
        "--left-out", choices=("source", "fold", "operator"), help="also print errors of rows left out of the fit"
    )
    parser.add_argument("--errors", action="store_true", help="fit nothing, write the table of errors")
    options = parser.parse_args()
    if options.errors or options.write:
        options.left_out = "source"
    with options.file.open(encoding="utf-8", newline="") as stream:
        measured = points(csv.DictReader(stream))
    tables = start() if options.errors else fit(measured, start())
    found = errors(measured, tables)
    keys: dict[str, Callable[[int, Point], str]] = {
        "source": lambda _, p: p.source,
        "fold": lambda i, _: str(i % FOLDS),
        "operator": lambda _, p: p.case.works[-1].op,
    }
    left = without(measured, tables, keys[options.left_out]) if options.left_out else {}
    print(f"{'family':<20}{'rows':>6}{'median':>9}{'mean':>9}{'left out: median':>19}{'mean':>9}")
    for family, values in sorted(found.items()):
        honest = left.get(family)
        tail = f"{statistics.median(honest):>19.1%}{statistics.fmean(honest):>9.1%} of {len(honest)}" if honest else ""
        print(f"{family:<20}{len(values):>6}{statistics.median(values):>9.1%}{statistics.fmean(values):>9.1%}{tail}")
    if options.errors:
        write_errors(found, left)
        print(f"written: {ERRORS}")
    if options.write:
        write(tables, measured, found, left)
        print(f"written: {CUBE}, {VECTOR}, {OVERHEADS}, {ERRORS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
