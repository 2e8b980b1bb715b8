"""hbm: mean rate of reading from and writing to the device's memory."""

from __future__ import annotations

from pathlib import Path

from profiler.export import csvtext, series
from profiler.trace import Trace

NAME = "hbm"
HEADER = ("Device_id", "Metric", "Read(MB/s)", "Write(MB/s)")
WAYS = ("Read", "Write")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file: per device the mean over its stacks (Average) and each stack by number; no file without such samples."""
    means: dict[tuple[int, str], dict[str, float]] = {}
    for device, match, values in series.named(trace, r"HBM (\d+)/(Read|Write)"):
        means.setdefault((device, match[1]), {})[match[2]] = float(values.mean())
    lines = []
    for device in sorted({d for d, _ in means}):
        stacks = {s: v for (d, s), v in means.items() if d == device}
        average = {w: sum(v.get(w, 0.0) for v in stacks.values()) / len(stacks) for w in WAYS}
        for metric, rates in (("Average", average), *sorted(stacks.items(), key=lambda item: int(item[0]))):
            shown = (csvtext.short3(rates.get(way, 0.0)) for way in WAYS)
            lines.append(",".join((str(device), metric, *shown)))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
