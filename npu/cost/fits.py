"""Fitted constants of the cube kernels, as data (data/cube_costs.csv): one typed record per family.

Times in us, rates in TB/s, sizes in MB (1e6 bytes). bench/fit_costs.py fits and writes them; the column source says what stands
behind each. A model takes its record as an argument, so a fit can try others.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeVar


class MatmulFit(NamedTuple):
    """launch: fixed part; eta: attained part of the cube's peak; hbm, warm: rates of operands from memory and from L2.

    l2: rate at which tiles are read again; core: rate one core reaches; p: how parts overlap (chip.join).
    warm_mb, cold_mb: operand sizes up to which and from which the rates are those of L2 and of memory.
    passes: times an operand beyond L2 is streamed from memory at most, where several row blocks need it.
    split: added where K is split over cores; stride: what rates fall to where rows are 32 KiB apart or more.
    unaligned: the same where a row is no multiple of 32 bytes; slow: factor of everything but the fixed part.
    """

    launch: float
    eta: float
    hbm: float
    warm: float
    l2: float
    core: float
    p: float
    warm_mb: float
    cold_mb: float
    passes: float
    split: float
    stride: float
    unaligned: float
    slow: float


class AttentionFit(NamedTuple):
    """launch: fixed part. prefill: task, block: us of a core for 128 queries, and for every 128 keys they meet (head size 128).

    task_width, block_width: the parts of both that grow with head size. spill: rate of what does not fit L2; spill_mb,
    spilled_mb: sizes at which that begins and is complete. decode: batch, wave: us for each sequence and each wave of heads
    over the cores; hbm, core: rates of memory and of a core; grouped: part of the memory rate left where 2 to 15 heads share
    keys.
    """

    launch: float
    task: float
    task_width: float
    block: float
    block_width: float
    spill: float
    spill_mb: float
    spilled_mb: float
    batch: float
    wave: float
    hbm: float
    core: float
    warm_mb: float
    cold_mb: float
    grouped: float


class GroupedFit(NamedTuple):
    """launch: fixed part; rate: of weights; eta: attained part of the peak; p: how both overlap.

    unaligned: factor of a kernel whose rows are no multiple of 32 bytes.
    """

    launch: float
    rate: float
    eta: float
    p: float
    unaligned: float


F = TypeVar("F", MatmulFit, AttentionFit, GroupedFit)


Rows = Mapping[tuple[str, str], float]


@cache
def table() -> dict[tuple[str, str], float]:
    """(family, name) -> value. A family "attention@910B" holds what chips of that family show differently."""
    text = resources.files("npu").joinpath("data/cube_costs.csv").read_text(encoding="utf-8")
    return {(r["family"], r["name"]): float(r["value"]) for r in csv.DictReader(text.splitlines())}


def record(rows: Rows, family: str, kind: type[F], chip_family: str) -> F:
    """The record of a family on a chip; what its rows do not give is the matrix product's, or inference attention's."""
    bases = {"MatmulFit": "matmul", "AttentionFit": "attention"}
    places = [place for f in (family, bases.get(kind.__name__, family)) for place in (f"{f}@{chip_family}", f)]

    def value(name: str) -> float:
        return next(rows[place, name] for place in places if (place, name) in rows)

    return kind._make(value(name) for name in kind._fields)


@cache
def matmul_fit(family: str, chip_family: str) -> MatmulFit:
    """family: matmul, matmul_fp32, matmul_int8, matmul_weights_int8 or conv; chip_family: as Soc.family names it."""
    return record(table(), family, MatmulFit, chip_family)


@cache
def attention_fit(family: str, chip_family: str) -> AttentionFit:
    """family: attention, or attention_training for the kernel that keeps what the backward pass needs."""
    return record(table(), family, AttentionFit, chip_family)


@cache
def grouped_fit(chip_family: str) -> GroupedFit:
    return record(table(), "grouped_matmul", GroupedFit, chip_family)
