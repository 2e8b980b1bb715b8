"""Tuning of operators: every distinct kernel of a model gets the fastest schedule the cost model knows, and the bank keeps it.

A kernel whose schedule is the fastest already stays as it is: what the library does well leaves no gain, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from npu import om
from npu.cost import kernel as kernel_cost
from npu.cost.schedules import best
from npu.graph.bank import Bank, Entry, Key, distinct, key
from npu.om import Kernel
from npu.soc import Soc

TASK = "OPAT"  # operator tuning, as the real tool calls it


@dataclass(frozen=True)
class Change:
    """A kernel with another schedule. before, after: ns; mode: add, or update where the bank had one; count: kernels like it."""

    kernel: Kernel
    before: int
    after: int
    mode: str
    count: int


@dataclass(frozen=True)
class Tuned:
    """entries: the bank as it is now. hits: kernels whose schedule stood in the bank; kept: those that keep the library's own."""

    changes: tuple[Change, ...]
    entries: Mapping[Key, Entry]
    hits: int
    kept: int

    @property
    def total(self) -> int:
        """Distinct kernels."""
        return len(self.changes) + self.hits + self.kept


def kernels_of(model: om.Model) -> list[Kernel]:
    """All kernels of a model, those of every gear."""
    return [k for kernels in model.gear_kernels for k in kernels] or list(model.kernels)


def anew(kernels: Sequence[Kernel], others: Sequence[Kernel]) -> dict[Key, tuple[int, ...]]:
    """Schedules for operators of one's own. others: the kernels of the same model, scheduled without their author."""
    pairs = zip(kernels, others, strict=True)
    return {key(k): other.work.dims for k, other in pairs if k.work.form == other.work.form == "scheduled"}


def tune(
    kernels: Sequence[Kernel],
    chip: Soc,
    bank: Bank,
    found_anew: Mapping[Key, tuple[int, ...]] | None = None,
    told: Callable[[int, int], None] | None = None,
) -> Tuned:
    """The best schedules of kernels as atc planned them with this bank.

    found_anew: schedules of operators of one's own (anew()). told: hears how many kernels are done, of how many.
    """
    counts: dict[Key, int] = {}
    for each in kernels:
        counts[key(each)] = counts.get(key(each), 0) + 1
    entries = dict(bank.entries)
    changes: list[Change] = []
    hits = kept = 0
    rows = distinct(kernels)
    for number, each in enumerate(rows, 1):
        place, before = key(each), kernel_cost(each.work, chip).duration
        more = (found_anew or {}).get(place)
        found = best(replace(each.work, schedule=()), chip, () if more is None else (more,))
        after = kernel_cost(found, chip).duration
        if after < before:
            mode = "update" if place in bank.entries else "add"
            changes.append(Change(replace(each, work=found), before, after, mode, counts[place]))
            entries[place] = Entry(found.schedule, after)
        elif each.work.schedule:
            hits += 1
        else:
            kept += 1
        if told is not None:
            told(number, len(rows))
    return Tuned(tuple(changes), entries, hits, kept)
