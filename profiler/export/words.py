"""Texts that depend on the CANN generation and on what a task is. This is the 8.3 generation: HCCL, Block Dim."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from npu import events

COMMUNICATION = "HCCL"  # task type and track name; COMMUNICATION and Communication from 2026 on
LEVELS = {level: "hccl" if level == "communication" else level for level in events.LEVELS}
LAYERS = {"acl": "AscendCL", "model": "Model", "node": "Node", "communication": "Hccl", "runtime": "Runtime"}

# Task type of a kernel in op_summary -> kernel_type of task_time. MIX_AIC and MIX_AIV keep their names (seen in 910B files).
KERNEL_TYPES = {"AI_CORE": "KERNEL_AICORE", "AI_VECTOR_CORE": "KERNEL_AIVEC", "AI_CPU": "KERNEL_AICPU"}
KERNELS = ("kernel", "aicpu")


class TaskType(NamedTuple):
    """kernel_type: text of task_time, and the name on the timeline where a task has none. stars: Task Type on the timeline."""

    kernel_type: str
    stars: str


@cache
def rows_of(table: str) -> list[dict[str, str]]:
    """The rows of a data file of this package."""
    text = resources.files("profiler.export").joinpath(table).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def acl_modes() -> list[dict[str, str]]:
    """Prefix of an AscendCL call -> the group it is filed under; the first that fits counts."""
    return rows_of("api_modes.csv")


@cache
def _other_tasks() -> dict[tuple[str, str], TaskType]:
    return {(r["kind"], r["direction"]): TaskType(r["kernel_type"], r["stars"]) for r in rows_of("task_types.csv")}


def task_type(kind: int, direction: int, text: str) -> TaskType:
    """How a task is called, from its kind and direction and the task type the source gave ("" for none).

    What the source said wins: a kernel's type, or an exact hardware or runtime name such as SDMA_SQE or MEMCPY_ASYNC.
    """
    name = events.KINDS[kind]
    if name in KERNELS:
        known = text if text else ("AI_CPU" if name == "aicpu" else "N/A")
        return TaskType(KERNEL_TYPES.get(known, known), known)
    table = _other_tasks()
    usual = table.get((name, events.DIRECTIONS[direction] if direction >= 0 else ""), table[name, ""])
    if not text or text == usual.kernel_type:
        return usual
    if text.endswith("_SQE"):
        return TaskType(usual.kernel_type, text)
    return TaskType(text, usual.stars if text.endswith("_ASYNC") else text)


def operator_type(name: str) -> str:
    """OP Type of a communication operator from its name: hcom_allReduce__586_0_1 -> hcom_allReduce_."""
    head, mark, _ = name.partition("__")
    return head + "_" if mark else name
