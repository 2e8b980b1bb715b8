"""static_op_mem: what lies in the feature map of each static model that ran, from which kernel on and until which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from profiler.export import columns, csvtext
from profiler.export.memory_record import kilobytes
from profiler.trace import Trace

NAME = "static_op_mem"
HEADER = ("Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
TOTAL = "TOTAL"


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no model of ours ran. A block counts once though others use its place before and after it; the last
    row of a model is what the feature map needs with that reuse."""
    if not trace.task or "model" not in trace.task:
        return []
    ran = sorted(set(zip(trace.task["device"].tolist(), columns.column(trace.task, "model").tolist(), strict=True)))
    lines = [line for device, model in ran for line in _lines(device, model, trace.meta.get(f"model_{model}"))]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []


def _lines(device: int, model: int, facts: Any) -> list[str]:
    if not isinstance(facts, dict) or not facts.get("lifetimes"):
        return []
    name = csvtext.field(str(facts.get("name", csvtext.NA)))
    lines = [f"{device},{csvtext.field(str(op))},{name},{model},{first},{last},{kilobytes(size)}"
             for op, first, last, size in facts["lifetimes"]]  # fmt: skip
    steps = np.array([(first, last) for _, first, last, _ in facts["lifetimes"]])
    needed = kilobytes(int(facts.get("memory", {}).get("feature_map", 0)))
    return [*lines, f"{device},{TOTAL},{name},{model},{steps[:, 0].min()},{steps[:, 1].max()},{needed}"]
