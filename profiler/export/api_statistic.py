"""api_statistic: the time of host calls by level and name, in order of name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from npu.units import US
from profiler.export import columns, csvtext, words
from profiler.trace import Trace

NAME = "api_statistic"
HEADER = ("Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without host calls. Variance is the population's, in us squared."""
    if not trace.api:
        return []
    duration = (trace.api["end"] - trace.api["start"]) / US
    rows, which = columns.distinct((trace.api["level"], trace.api["name"]))
    count = np.bincount(which)
    total = np.bincount(which, duration)
    mean = total / count
    variance = np.bincount(which, (duration - mean[which]) ** 2) / count  # about the mean: no cancellation of large squares
    shortest, longest = np.full(len(rows), np.inf), np.zeros(len(rows))
    np.minimum.at(shortest, which, duration)
    np.maximum.at(longest, which, duration)
    lines = []
    for n, row in enumerate(rows.tolist()):
        level = words.LEVELS[events.LEVELS[int(trace.api["level"][row])]]
        name = trace.strings[int(trace.api["name"][row])]
        numbers = (csvtext.short3(total[n]), str(count[n]), *(csvtext.short3(v[n]) for v in (mean, shortest, longest, variance)))
        lines.append((name, level, ",".join(("host", level, csvtext.field(name), *numbers))))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [[text for _, _, text in sorted(lines)]], len(lines))
