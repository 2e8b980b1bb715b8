"""hccs: largest, smallest and mean rate sent to and received from other devices."""

from __future__ import annotations

from pathlib import Path

from profiler.export import csvtext, series
from profiler.trace import Trace

NAME = "hccs"
HEADER = ("Device_id", "Mode", "Max", "Min", "Average")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without such samples. The unit stands behind the mode, as it does in the timeline."""
    lines = [
        ",".join((str(device), f"{match[1]}(MB/s)", *map(csvtext.short3, (values.max(), values.min(), values.mean()))))
        for device, match, values in sorted(series.named(trace, r"HCCS/(Tx|Rx)"), key=lambda s: (s[0], s[1][1] != "Tx"))
    ]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
