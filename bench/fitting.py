"""Fitting constants of the cost model to measured kernels: rows, tables of constants, and cube kernels by groups of constants.

operator_fits.py has the vector kernels; fit_costs.py is the command: it judges the fit and writes it.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import exp, log
from pathlib import Path
from typing import NamedTuple, TypeVar

from calibration import chip_of
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

CUBE = Path(__file__).resolve().parents[1] / "npu/data/cube_costs.csv"  # which constants are fitted stands there
VECTOR = CUBE.with_name("vector_costs.csv")
ODD = 0.6  # a row is not counted as further off than this
MOST = 200  # rows a fit of cube constants looks at
ROWS_FOR_OWN = 4  # rows an operator needs for constants of its own
PULL = 0.002  # how strongly constants are held near their start
T = TypeVar("T")
VECTOR_FORMS = ("vector", "row", "across", "layout", "fill")


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
