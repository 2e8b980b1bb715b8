"""memory_record: what each component holds after every allocation and release."""

from __future__ import annotations

from pathlib import Path

from profiler.export import chrome, columns, csvtext
from profiler.export.allocations import changes
from profiler.trace import Trace

NAME = "memory_record"
HEADER = ("Device_id", "Component", "Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)", "Device")
COMPONENT = "APP"  # who allocated when the source does not say


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without allocations. Totals the source does not have are N/A."""
    rows = changes(trace)
    if not len(rows):
        return []
    memory = trace.memory.take(rows)
    device = columns.column(memory, "device").tolist()
    component = columns.texts_of(trace.strings, columns.column(memory, "component"), COMPONENT)
    at = columns.microseconds(memory["time"] + chrome.unix_zero(trace))
    totals = [[kilobytes(v) for v in columns.column(memory, n).tolist()] for n in ("allocated", "reserved")]
    lines = [
        f"{d},{csvtext.field(c)},{t}\t,{allocated},{reserved},NPU:{d}"
        for d, c, t, allocated, reserved in zip(device, component, at, *totals, strict=True)
    ]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))


def kilobytes(count: int) -> str:
    """Bytes as KB of 1024, as many decimals as it needs; N/A for no value."""
    if count < 0:
        return csvtext.NA
    whole, rest = divmod(count, 1024)
    return repr(whole + rest / 1024)
