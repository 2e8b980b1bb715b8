"""Operator types from names of kernels, where files hold no types (Level0, a timeline alone): libraries name kernels by type."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from profiler.read import tables
from profiler.trace import Missing, Trace

MOST = 0.9  # of the kernels; where fewer tell, the names follow another rule and none of them is believed
KINDS = ("kernel", "aicpu")
ELSEWHERE = "chrome"  # generator of timelines of other devices, whose kernels have names of their own


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(row["pattern"]), row["type"]) for row in tables.rows_of("op_names.csv")]


def type_of(name: str) -> str:
    """The operator type in the name of a kernel, "" where it holds none: aclnnAdd_AddAiCore_Add -> Add, Conv2D12 -> Conv2D."""
    for pattern, given in _patterns():
        found = pattern.fullmatch(name)
        if found:
            return given or found["type"]
    return ""


def infer(trace: Trace) -> None:
    """Give kernels the types their names tell where the files hold no type at all, and say so in `missing`."""
    task = trace.task
    if not task or trace.meta.get("generator") == ELSEWHERE or (task.filled("op_type") >= 0).any():
        return
    kernels = np.flatnonzero(trace.tasks_of(*KINDS) & (task["name"] >= 0))
    names, place, counts = np.unique(task["name"][kernels], return_inverse=True, return_counts=True)
    types = [type_of(trace.strings[int(n)]) for n in names]
    known = np.array([bool(t) for t in types], bool)
    if not known.any() or counts[known].sum() < MOST * len(kernels):
        return
    ids = np.array([trace.strings.id(t) if t else -1 for t in types], np.int32)
    op_type = np.full(len(task), -1, np.int32)
    op_type[kernels] = ids[place]
    trace.task = task.with_columns(op_type=op_type)
    trace.missing.append(Missing("operator types", "the files hold none: they were taken from the names of the kernels"))
