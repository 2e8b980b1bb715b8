"""operator_memory: one row per allocation, with its release and what was held at both."""

from __future__ import annotations

from pathlib import Path

from npu.units import us3
from profiler.export import chrome, columns, csvtext
from profiler.export.allocations import pairs
from profiler.export.memory_record import kilobytes
from profiler.trace import Trace

NAME = "operator_memory"
HEADER = ("Device_id", "Name", "Size(KB)", "Allocation Time(us)", "Duration(us)", "Allocation Total Allocated(KB)",
          "Allocation Total Reserved(KB)", "Release Total Allocated(KB)", "Release Total Reserved(KB)", "Device")  # fmt: skip


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without allocations. A release without its allocation has a negative size, one that never came N/A.

    Name: the operator that allocated where the source knows it, else the call site.
    """
    if not trace.memory:
        return []
    memory, found, zero = trace.memory, pairs(trace), chrome.unix_zero(trace)
    size, device = columns.column(memory, "bytes"), columns.column(memory, "device")
    name = columns.column(memory, "name" if "name" in memory else "site")
    totals = [columns.column(memory, n) for n in ("allocated", "reserved")]
    lines = []
    for alloc, free in zip(found.alloc.tolist(), found.free.tolist(), strict=True):
        row = alloc if alloc >= 0 else free
        title = trace.strings[int(name[row])] if name[row] >= 0 else csvtext.NA
        kb = kilobytes(int(size[row]))
        begun = f"{us3(int(memory['time'][alloc]) + zero)}\t" if alloc >= 0 else csvtext.NA
        lasted = us3(int(memory["time"][free] - memory["time"][alloc])) if alloc >= 0 and free >= 0 else csvtext.NA
        held = [kilobytes(int(t[at])) if at >= 0 else csvtext.NA for at in (alloc, free) for t in totals]
        signed = kb if alloc >= 0 else f"-{kb}"
        fields = (str(device[row]), csvtext.field(title), signed, begun, lasted, *held, f"NPU:{device[row]}")
        lines.append(",".join(fields))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
