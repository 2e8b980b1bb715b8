"""Memory files of a torch_npu profile: sizes in MB (operators: KB) of 1024, empty where there is no value, a TAB after times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from npu import events
from npu.units import us3
from profiler.export import chrome, columns, csvtext
from profiler.export.allocations import changes, pairs
from profiler.export.files import whole
from profiler.export.framework import covering
from profiler.export.memory_record import COMPONENT
from profiler.trace import Trace

RECORD = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)", "Stream Ptr",
          "Device Type")  # fmt: skip
OPERATOR = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)",
            "Active Duration(us)", "Allocation Total Allocated(MB)", "Allocation Total Reserved(MB)",
            "Allocation Total Active(MB)", "Release Total Allocated(MB)", "Release Total Reserved(MB)",
            "Release Total Active(MB)", "Stream Ptr", "Device Type")  # fmt: skip
MODULE = ("Component", "Timestamp(us)", "Total Reserved(MB)", "Device")
KB, MB = 1 << 10, 1 << 20


def write(trace: Trace, folder: Path) -> list[Path]:
    """memory_record.csv, operator_memory.csv and npu_module_mem.csv, each only when there are rows for it. A capture of acl calls
    knows no stream of an allocation and releases memory at once: active is what is allocated."""
    if not trace.memory:
        return []
    made = (("memory_record", RECORD, _records(trace)), ("operator_memory", OPERATOR, _operators(trace)),
            ("npu_module_mem", MODULE, _modules(trace)))  # fmt: skip
    return [_table(folder / f"{name}.csv", header, lines) for name, header, lines in made if lines]


def _table(path: Path, header: Sequence[str], lines: list[str]) -> Path:
    with whole(path) as out:
        out.write("\n".join((",".join(header), *lines)) + "\n")
    return path


def _size(count: int, unit: int) -> str:
    return "" if count < 0 else repr(count / unit)


def _records(trace: Trace) -> list[str]:
    memory = trace.memory.take(changes(trace))
    at = columns.microseconds(memory["time"] + chrome.unix_zero(trace)) if memory else []
    component = columns.texts_of(trace.strings, columns.column(memory, "component"), COMPONENT)
    totals = [columns.column(memory, n).tolist() for n in ("allocated", "reserved")]
    device = columns.column(memory, "device").tolist()
    return [
        f"{csvtext.field(c)},{t}\t,{_size(a, MB)},{_size(r, MB)},{_size(a, MB)},,NPU:{d}"
        for c, t, a, r, d in zip(component, at, *totals, device, strict=True)
    ]


def _operators(trace: Trace) -> list[str]:
    memory, found, zero = trace.memory, pairs(trace), chrome.unix_zero(trace)
    size, device = columns.column(memory, "bytes"), columns.column(memory, "device")
    name = columns.column(memory, "name" if "name" in memory else "site")
    totals = [columns.column(memory, n) for n in ("allocated", "reserved")]
    under = covering(trace, memory["time"])
    lines = []
    for alloc, free in zip(found.alloc.tolist(), found.free.tolist(), strict=True):
        row = alloc if alloc >= 0 else free
        begun, ended = (f"{us3(int(memory['time'][at]) + zero)}\t" if at >= 0 else "" for at in (alloc, free))
        lasted = f"{us3(int(memory['time'][free] - memory['time'][alloc]))}\t" if alloc >= 0 and free >= 0 else ""
        held = []
        for at in (alloc, free):
            allocated, reserved = (_size(int(t[at]), MB) if at >= 0 else "" for t in totals)
            held += [allocated, reserved, allocated]
        bytes_ = int(size[row]) if alloc >= 0 else -int(size[row])
        title = csvtext.field((under[row] if alloc >= 0 else "") or (trace.strings[int(name[row])] if name[row] >= 0 else ""))
        lines.append(",".join((title, repr(bytes_ / KB), begun, ended, ended, lasted, lasted, *held, "", f"NPU:{device[row]}")))
    return lines


def _modules(trace: Trace) -> list[str]:
    rows = trace.memory.take(np.flatnonzero(trace.memory["event"] == events.MEMORY_EVENTS.index("sample")))
    component = columns.texts_of(trace.strings, columns.column(rows, "component"), "")
    at = columns.microseconds(rows["time"] + chrome.unix_zero(trace)) if rows else []
    reserved, device = (columns.column(rows, n).tolist() for n in ("reserved", "device"))
    return [
        f"{csvtext.field(c)},{t}\t,{_size(r, MB)},NPU:{d}" for c, t, r, d in zip(component, at, reserved, device, strict=True)
    ]
