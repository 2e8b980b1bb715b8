"""Rule 55: operators that a cheaper expression could replace."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.groups import distinct
from profiler.analysis.judge import Name, at_most
from profiler.analysis.kernel_model import as_multiply, modelled_ns
from profiler.analysis.rules.kernels import kernels, next_on_stream, of_type, said_of
from profiler.analysis.rules.operators import described, share
from profiler.analysis.shapes import shapes
from profiler.analysis.statistics import op_sums
from profiler.findings import Finding

NAME = Name("substitutable-op", 55, "operator")
SHARE = 0.03  # of the computing time


class Substitute(NamedTuple):
    """One row of data/substitutes.csv. after: the operator it must follow, "" for any. out: "1x1": only products of that size.
    instead: expressions of the framework."""

    op: str
    after: str
    out: str
    instead: str


@cache
def table() -> tuple[Substitute, ...]:
    text = resources.files("profiler.analysis").joinpath("data/substitutes.csv").read_text(encoding="utf-8")
    return tuple(Substitute(r["op"], r["after"], r["out"], r["instead"]) for r in csv.DictReader(text.splitlines()))


def substitutable_op(context: Context) -> Iterator[Finding]:
    """Fires when operators of the table of substitutes (selection by index or mask, repetition, one-hot sums, products to one
    element) take 3 % of the computing time. Gain: at most; each as a multiplication over the same bytes. Only the program knows
    whether the substitute computes the same. With op_statistic only: at most all of their time."""
    if not context.trace.task:
        yield from _from_sums(context)
        return
    if "op_type" not in context.trace.task:
        return
    rows = kernels(context)
    rows = rows[context.trace.tasks_of("kernel")[rows]]
    at = np.flatnonzero(of_type(context, rows, {s.op for s in table()}.__contains__))
    previous = next_on_stream(context, rows, -1)[at]
    op, out = (column(context.trace, "task", name)[rows] for name in ("op_type", "out_shapes"))
    before = np.where(previous >= 0, op[previous], -1)
    text = context.trace.strings
    cases, case = distinct(op[at], before, out[at])
    found = [_substitute(*(text[i] for i in ids)) for ids in cases.tolist()]
    chosen = np.array([s is not None for s in found], bool)[case]
    mine = rows[at[chosen]]
    if not len(mine) or share(context, mine) < SHARE:
        return
    order = dict.fromkeys(case[chosen].tolist())
    duration = context.basis.durations(mine)
    made = modelled_ns(context, mine, as_multiply)
    shorter = np.minimum(np.where(np.isnan(made), 0, made), duration).astype(np.int64)
    facts = described(context, mine) | {"instead": "; ".join(dict.fromkeys(_said(s) for c in order if (s := found[c])))}
    yield said_of(context, NAME, facts, mine, (SetTo(mine, shorter),), "low", "model", at_most=True)


def _substitute(op: str, previous: str, shape: str) -> Substitute | None:
    """The first row of the table that fits a kernel, the one before it and its output."""
    fits = (s for s in table() if op == s.op and s.after in ("", previous) and (not s.out or _single(shape)))
    return next(fits, None)


def _single(shape: str) -> bool:
    """True for products with one row and one column."""
    return shapes(shape)[0][-2:] == (1, 1)


def _said(found: Substitute) -> str:
    return f"{found.after + ' + ' if found.after else ''}{found.op}: {found.instead}"


def _from_sums(context: Context) -> Iterator[Finding]:
    sums = op_sums(context.trace)
    by_op = {s.op: s for s in table() if not s.after and not s.out}
    mine = [s for s in sums if s.op_type in by_op]
    total, whole = sum(s.total_ns for s in mine), sum(s.total_ns for s in sums)
    if mine and total >= SHARE * whole:
        facts = {
            "count": sum(s.count for s in mine),
            "per_step": "-",
            "total_ns": total,
            "computing_share": total / whole,
            "ops": ", ".join(dict.fromkeys(s.op_type for s in mine)),
            "shapes": "-",
            "instead": "; ".join(dict.fromkeys(_said(by_op[s.op_type]) for s in mine)),
        }
        yield at_most(context, NAME, facts, total)
