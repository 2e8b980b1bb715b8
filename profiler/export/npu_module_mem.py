"""npu_module_mem: what each module of the stack reserves, as sampled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from profiler.export import chrome, columns, csvtext
from profiler.export.memory_record import kilobytes
from profiler.trace import Trace

NAME = "npu_module_mem"
HEADER = ("Device_id", "Component", "Timestamp(us)", "Total Reserved(KB)", "Device")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without samples."""
    if not trace.memory:
        return []
    samples = trace.memory.take(np.flatnonzero(trace.memory["event"] == events.MEMORY_EVENTS.index("sample")))
    if not samples:
        return []
    device = columns.column(samples, "device").tolist()
    component = columns.texts_of(trace.strings, columns.column(samples, "component"), csvtext.NA)
    at = columns.microseconds(samples["time"] + chrome.unix_zero(trace))
    reserved = [kilobytes(v) for v in columns.column(samples, "reserved").tolist()]
    lines = [f"{d},{csvtext.field(c)},{t}\t,{r},NPU:{d}" for d, c, t, r in zip(device, component, at, reserved, strict=True)]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
