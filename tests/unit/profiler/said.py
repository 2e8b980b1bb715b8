"""What one rule says of a hand-made trace."""

from __future__ import annotations

from profiler.analysis.context import Context
from profiler.analysis.judge import speaks
from profiler.analysis.rules import RULES
from profiler.findings import Finding
from tests.made import Made


def said(made: Made, rule: str) -> list[Finding]:
    """Findings of a rule, loud or not."""
    (run,) = (r.run for r in RULES if r.id == rule)
    return list(run(Context(made.trace())))


def loud(made: Made, rule: str) -> list[Finding]:
    context = Context(made.trace())
    return [f for f in said(made, rule) if speaks(f, context)]
