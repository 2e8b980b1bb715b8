"""The rules in the order of the catalogue. A rule is one function `Context -> Iterable[Finding]` in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from profiler.analysis.context import Context
from profiler.analysis.rules import blocking_copy, copy_exposed, small_copies, sync_every_submit, unfused_pattern
from profiler.findings import Finding


class Rule(NamedTuple):
    number: int
    id: str
    layer: str
    run: Callable[[Context], Iterable[Finding]]


RULES: tuple[Rule, ...] = tuple(
    Rule(name.number, name.id, name.layer, run)
    for name, run in (
        (unfused_pattern.NAME, unfused_pattern.unfused_pattern),
        (sync_every_submit.NAME, sync_every_submit.sync_every_submit),
        (blocking_copy.NAME, blocking_copy.blocking_copy),
        (small_copies.NAME, small_copies.small_copies),
        (copy_exposed.NAME, copy_exposed.copy_exposed),
    )
)
