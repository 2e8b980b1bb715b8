"""Fit the constants of the cost model: python bench/fit_costs.py FILE.csv [--write] [--left-out source|fold|operator]

FILE holds measured kernels in the layout of calibration.py. Fitted are the rows marked "yes" of npu/data/cube_costs.csv, the
overheads of event loops (bench/overheads.csv) and the constants a, b, c, d, s of the operators in npu/data/vector_costs.csv.

1. Cube kernels: for each group of constants in PLANS the mean of |log(modelled / measured)|, cut at ODD for single odd rows, is
   made smallest by steps along the logarithms, from the values that stand in the file.
2. Vector kernels: first the generic row of each form, every operator counting the same; then each operator. How many constants
   it gets of its own is decided by leaving rows out: the generic ones times a factor, or a and some of b, c, d; a constant more
   has to earn its place. With fewer than ROWS_FOR_OWN rows it is the factor, part of the way.
3. Operators that only occur in chains are fitted to what the rest of the chain leaves.

--left-out prints, per family, the error on rows that had no part in the fit: each source, each of five folds, or each tenth of
the operators left out in turn. Constants that the remaining rows are too few to give are forgotten first; rows that nothing else
could be fitted for are not judged. --write replaces the files and npu/data/cost_errors.csv, the table reports quote (sources left
out); --errors writes that table alone, for the constants as they are.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from calibration import OVERHEADS, overheads
from fitting import CUBE, PLANS, ROWS_FOR_OWN, VECTOR, Plan, Point, Tables, fit_cube, held, modelled, points
from operator_fits import FOLDS, fit_vector, plain

from npu.cost import fits, vector

TENTHS = 10  # of the operators are left out at a time
ERRORS = CUBE.with_name("cost_errors.csv")


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
    """Tables without the fitted constants that the remaining rows are too few to give again; of others what no fit changes."""
    rows = Counter((w.form, w.op) for p in rest for w in {(w.form, w.op): w for w in p.case.works}.values())
    gone = {k for k in tables.vector if k not in held() and k[1] != "*" and (k[2] or rows[k[:2]] < ROWS_FOR_OWN)}
    few = {plan.group for plan in PLANS if "@" in plan.group and not enough(plan, rest)}
    return tables._replace(
        cube={k: v for k, v in tables.cube.items() if k[0] not in few},
        vector={k: v if k in held() else plain(k, tables) for k, v in tables.vector.items() if k not in gone},
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
        if key[2] == vector.INTEGER:  # what no fit changes is the operator's
            generic = rows.get((key[0], key[1], ""), generic)
        row = dict(rows.get(key, generic | {"op": key[1], "dtype": key[2]}))
        row |= {n: f"{getattr(made, n):.4g}" for n in ("a", "b", "c", "d")}
        row["s"] = f"{made.s:.4g}" if made.s else ""
        row["odd"] = f"{made.odd:.4g}" if made.odd != 1 else ""
        rows_of = f"{counts[key[0], key[1]]} measured rows" if key[1] != "*" else "all operators of the form"
        shares = row["source"].partition("; ")[2] if key in rows else ""
        row["source"] = f"fit to {rows_of}" + (f"; {shares}" if shares else "")
        rows[key] = row
    order = {form: i for i, form in enumerate(dict.fromkeys(k[0] for k in rows))}
    with VECTOR.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        kept = {k: r for k, r in rows.items() if k in tables.vector or k in held()}  # others no row speaks for any more
        writer.writerows(r for _, r in sorted(kept.items(), key=lambda item: (order[item[0][0]], item[0][1:])))


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
    tables = start() if options.errors else fit(measured, forget(start(), measured))
    found = errors(measured, tables)
    tenths = {op: str(i % TENTHS) for i, op in enumerate(dict.fromkeys(p.case.works[-1].op for p in measured))}
    keys: dict[str, Callable[[int, Point], str]] = {
        "source": lambda _, p: p.source,
        "fold": lambda i, _: str(i % FOLDS),
        "operator": lambda _, p: tenths[p.case.works[-1].op],
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
