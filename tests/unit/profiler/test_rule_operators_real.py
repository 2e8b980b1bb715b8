"""Rules 45 to 57 and 71 on extracts of real profiles: library kernels that a kernel expert would leave alone stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

import profiler
from profiler.analysis.context import Context
from profiler.analysis.judge import speaks
from profiler.analysis.rules import RULES

REAL = Path(__file__).parents[2] / "data" / "real"
MINE = [rule for rule in RULES if 45 <= rule.number <= 57 or rule.number == 71]


def contexts(name: str) -> list[Context]:
    trace = profiler.open(REAL / name)
    return [Context(t) for t in (trace, *trace.parts)]


@pytest.mark.parametrize("name", ["level0", "level1", "level2", "db", "text2023", "op_summary_memoryl0_2023.csv"])
def test_nothing_is_said_of_them(name: str) -> None:
    assert [f.id for c in contexts(name) for rule in MINE for f in rule.run(c) if speaks(f, c)] == []


def test_random_numbers_of_2023_are_no_block_tail() -> None:
    """DSAStatelessGenBitMask takes 5.3 ms with one block, on an engine beside the cores."""
    (context,) = contexts("op_summary_memoryl0_2023.csv")
    assert any(t == "DSA_SQE" for t in context.trace.strings.texts)
    (tail,) = (rule for rule in MINE if rule.id == "block-tail")
    assert list(tail.run(context)) == []


def test_the_pool_of_2023_is_not_mixed_with_the_process() -> None:
    """The framework's pool: 4600 of 8664 MiB in use; the process as a whole reserves 25.7 GiB. Three samples are too few."""
    (context,) = contexts("text2023")
    (use,) = context.views.memory
    assert use.reserved_bytes < 10 << 30 and use.samples < 10
