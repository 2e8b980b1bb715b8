"""hbm: mean rate of reading from and writing to the device's memory."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from profiler.export import csvtext
from profiler.trace import Trace

NAME = "hbm"
HEADER = ("Device_id", "Metric", "Read(MB/s)", "Write(MB/s)")
WAYS = ("Read", "Write")
SERIES = re.compile(r"HBM (\d+)/(Read|Write)")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file: per device the mean over its stacks (Average) and each stack by number; no file without such samples."""
    counter = trace.counter
    if not counter:
        return []
    means: dict[tuple[int, str], dict[str, float]] = {}
    for number in np.unique(counter["name"]).tolist():
        match = SERIES.fullmatch(trace.strings[number])
        if match is None:
            continue
        mine = counter["name"] == number
        for device in np.unique(counter["device"][mine]).tolist():
            value = float(counter["value"][mine & (counter["device"] == device)].mean())
            means.setdefault((device, match[1]), {})[match[2]] = value
    lines = []
    for device in sorted({d for d, _ in means}):
        stacks = {s: v for (d, s), v in means.items() if d == device}
        average = {w: sum(v.get(w, 0.0) for v in stacks.values()) / len(stacks) for w in WAYS}
        for metric, values in (("Average", average), *sorted(stacks.items(), key=lambda item: int(item[0]))):
            rates = (csvtext.short3(values.get(way, 0.0)) for way in WAYS)
            lines.append(",".join((str(device), metric, *rates)))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
