"""Every view and every rule answers on a trace that lacks tables or columns: with less, never with an exception."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiler.analysis.context import Context
from profiler.analysis.rules import RULES
from profiler.analysis.run import report
from profiler.analysis.views.operators import sequences
from profiler.analysis.views.tables import tables
from profiler.trace import TABLES, Columns, Trace
from tests.unit.profiler.eager import Eager

NEEDED = {  # columns every reader gives
    "api": ("start", "end", "thread", "level", "name"),
    "task": ("start", "end", "device", "stream", "kind"),
    "comm": ("start", "end", "device", "level", "name"),
    "memory": ("time", "event", "bytes"),
    "counter": ("time", "device", "name", "value"),
    "marker": ("start", "end", "thread", "kind", "name"),
}


def whole() -> Trace:
    """Four steps with kernels, copies and waits."""
    run = Eager()
    for _ in range(4):
        run.begin()
        for name in ("MatMulV2", "Add", "Cast", "Mul"):
            run.launch(name, 20)
        run.sync()
        run.end()
    return run.made.trace()


WHOLE = whole()
OPTIONAL = [(t, c) for t in TABLES for c in getattr(WHOLE, t) if c not in NEEDED[t]]


def without(dropped: set[str], columns: set[tuple[str, str]], rows: int | None = None) -> Trace:
    """The whole trace without some tables and columns, and with the first `rows` rows of each table only."""
    kept = {}
    for name in TABLES:
        table = getattr(WHOLE, name)
        if name in dropped or not len(table) or rows == 0:
            kept[name] = Columns()
            continue
        made = {c: table[c][:rows] for c in table if (name, c) not in columns}
        kept[name] = Columns(made)
    return Trace(WHOLE.source, WHOLE.strings, **kept, meta=dict(WHOLE.meta))


def judged(trace: Trace) -> None:
    made = report(trace, all_findings=True, views=True)
    assert made.window[0] <= made.window[1]
    again = Context(trace)
    tables(again)
    for rule in RULES:
        assert all(f.gain is None or f.gain.ns >= 0 for f in rule.run(again)), rule.id


@pytest.mark.parametrize("table", TABLES)
def test_without_a_table(table: str) -> None:
    judged(without({table}, set()))


def test_of_nothing_views_are_empty() -> None:
    """A trace without a row has no kernels, no idle time and no collectives."""
    context = Context(without(set(TABLES), set()))
    assert (len(context.views.roofline.row), context.views.gaps, len(context.collectives.row)) == (0, {}, 0)
    assert context.views.roofline.floor_ns.tolist() == []
    judged(without(set(TABLES), set()))


def test_three_kernels_are_too_few_for_a_long_sequence() -> None:
    """They repeat nothing, and are looked through all the same."""
    run = Eager()
    run.begin()
    for _ in range(3):
        run.launch("Add", 20)
    run.end()
    trace = run.made.trace()
    assert sequences(Context(trace).basis) == ()
    judged(trace)


def test_launches_without_names_or_steps() -> None:
    """A repetition cannot be found without names; the whole span is the window."""
    trace = without({"marker"}, {("task", "name")})
    assert Context(trace).steps.kind == "none"
    judged(trace)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sets(st.sampled_from(TABLES), max_size=3), st.sets(st.sampled_from(OPTIONAL)), st.none() | st.integers(0, 30))
def test_with_less(dropped: set[str], columns: set[tuple[str, str]], rows: int | None) -> None:
    judged(without(dropped, columns, rows))


def test_lookups_give_what_whole_columns_give() -> None:
    """Columns that follow from another one: the same rows, and the same kinds, as when they stand there in full."""
    from profiler.analysis.groups import kinds
    from profiler.trace import Lookup

    index = np.array([1, 0, -1, 1], np.int32)
    looked_up = Columns({"start": np.arange(4), "a": Lookup(index, np.array([7, 5, -1])), "b": Lookup(index, np.array([2, 2, -1]))})
    plain = Columns({n: looked_up[n] for n in looked_up})
    assert plain["a"].tolist() == [5, 7, -1, 5]
    assert looked_up.at("a", np.array([2, 3])).tolist() == [-1, 5]
    assert looked_up.take(np.array([3, 2]))["a"].tolist() == [5, -1]
    for table in (looked_up, plain):
        found, number = kinds(table, ("a", "b"))
        assert found.tolist() == [[-1, -1], [5, 2], [7, 2]]
        assert number.tolist() == [1, 2, 0, 1]
