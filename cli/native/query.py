"""The table of `msprof --query=on`: what ran on each device of each capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from profiler.export.step_trace import executions
from profiler.trace import Trace

HEAD = ("Job Info", "Device ID", "Dir Name", "Collection Time", "Model ID", "Iteration Number", "Top Time Iteration", "Rank ID")
NOTHING = "N/A"
LONGEST = 5  # executions named in the column of those that took longest


def table(captures: Sequence[Trace]) -> list[str]:
    """The lines, columns as wide as their widest text. A model that ran has a line of its own with the number of its executions
    and those that took longest, a device without models has one line."""
    rows = [HEAD, *(line for trace in captures for line in _lines(trace))]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _lines(trace: Trace) -> Iterator[tuple[str, ...]]:
    began = int(trace.meta.get("unix_zero_ns", 0)) + trace.span()[0]
    when = datetime.fromtimestamp(began / 1e9).strftime("%Y-%m-%d %H:%M:%S.%f")
    ranks = trace.meta.get("ranks") or []
    rank = str(ranks[0]) if len(ranks) == 1 else NOTHING
    ran = executions(trace)
    for device in trace.devices():
        for model in sorted({e.model for e in ran if e.device == device}) or (None,):
            mine = [e for e in ran if (e.device, e.model) == (device, model)]
            longest = sorted(mine, key=lambda e: (e.begin - e.end, e.number))[:LONGEST]
            counted = (NOTHING,) * 3
            if mine:
                counted = (str(model), str(len(mine)), ",".join(str(e.number) for e in longest))
            yield (NOTHING, str(device), str(Path(trace.source).name), when, *counted, rank)
