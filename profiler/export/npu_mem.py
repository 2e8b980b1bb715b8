"""npu_mem: samples of the memory that the program (app) and all programs of a device (Device) hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu.units import us3
from profiler.export import chrome, csvtext
from profiler.trace import Trace

NAME = "npu_mem"
HEADER = ("Device_id", "event", "ddr(KB)", "hbm(KB)", "memory(KB)", "timestamp(us)")
EVENTS = {"APP": "app", "Device": "Device"}
KINDS = ("DDR", "HBM", "Memory")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without such samples. Where a sample names one kind of memory the other is 0, and memory is their sum."""
    counter = trace.counter
    if not counter:
        return []
    held: dict[tuple[int, str, int], dict[str, float]] = {}
    for name, event in EVENTS.items():
        for kind in KINDS:
            series = trace.strings.find(f"{name}/{kind}")
            rows = np.flatnonzero(counter["name"] == series) if series >= 0 else np.zeros(0, np.int64)
            for device, time, value in zip(*(counter[c][rows].tolist() for c in ("device", "time", "value")), strict=True):
                held.setdefault((device, event, time), {})[kind] = value
    if not held:
        return []
    zero = chrome.unix_zero(trace)
    lines = []
    for (device, event, time), values in sorted(held.items(), key=lambda item: (item[0][0], item[0][2], item[0][1])):
        ddr, hbm = values.get("DDR", 0.0), values.get("HBM", 0.0)
        memory = values.get("Memory", ddr + hbm)
        sizes = ",".join(csvtext.short3(v) for v in (ddr, hbm, memory))
        lines.append(f"{device},{event},{sizes},{us3(time + zero)}\t")
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
