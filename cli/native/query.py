"""The table of `msprof --query=on`: one line per device of each capture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from profiler.trace import Trace

HEAD = ("Job Info", "Device ID", "Dir Name", "Collection Time", "Model ID", "Iteration Number", "Top Time Iteration", "Rank ID")
NOTHING = "N/A"


def table(captures: Sequence[Trace]) -> list[str]:
    """The lines, columns as wide as their widest text. Model ids are those that ran; graph iterations are not counted here."""
    rows = [HEAD, *(line for trace in captures for line in _lines(trace))]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _lines(trace: Trace) -> list[tuple[str, ...]]:
    began = int(trace.meta.get("unix_zero_ns", 0)) + trace.span()[0]
    when = datetime.fromtimestamp(began / 1e9).strftime("%Y-%m-%d %H:%M:%S.%f")
    ranks = trace.meta.get("ranks") or []
    rank = str(ranks[0]) if len(ranks) == 1 else NOTHING
    return [
        (NOTHING, str(device), str(Path(trace.source).name), when, _models(trace, device), NOTHING, NOTHING, rank)
        for device in trace.devices()
    ]


def _models(trace: Trace, device: int) -> str:
    import numpy as np

    if not trace.task or "model" not in trace.task:
        return NOTHING
    ran = np.unique(trace.task["model"][trace.task["device"] == device])
    return ",".join(str(m) for m in ran.tolist() if m >= 0) or NOTHING
