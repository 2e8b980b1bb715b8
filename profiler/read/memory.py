"""memory_record, operator_memory, npu_mem, npu_module_mem, msprof_tx -> memory and marker rows."""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.read import csvfile, times
from profiler.read.collect import Pile
from profiler.read.csvfile import Sheet
from profiler.read.tables import Converter
from profiler.trace import Array, Trace

ALLOC, FREE, SAMPLE = (events.MEMORY_EVENTS.index(e) for e in ("alloc", "free", "sample"))
SIZES = ("bytes", "allocated", "reserved", "active")


class Memory:
    """Rows of memory files, gathered file by file. Sizes in bytes, whether a file counts in KB or MB."""

    def __init__(self, convert: Converter) -> None:
        self._convert = convert
        self._rows = Pile()

    def add(self, sheet: Sheet, device: int) -> None:
        for block in sheet.blocks():
            row = csvfile.converted(sheet.kind, block, self._convert)
            if "time" not in row:
                continue
            rows = len(row["time"])
            row.setdefault("device", np.full(rows, device, np.int32))
            if sheet.kind == "operator_memory":
                self._pairs(row)
            else:
                self._rows.add(row | {"event": np.full(rows, SAMPLE, np.int8), "bytes": np.full(rows, -1, np.int64)})

    def _pairs(self, row: dict[str, Array]) -> None:
        """One row of operator_memory is an allocation and, when it was seen, its release. A free alone has no allocation time."""
        release, length = row.pop("release", None), row.pop("length", None)
        after = {n: row.pop(f"released_{n}", None) for n in ("allocated", "reserved")}
        if release is None and length is not None:
            known = (length >= 0) & (row["time"] != times.NONE)
            release = np.where(known, np.where(known, row["time"], 0) + length, times.NONE)
        size = row.get("bytes", np.full(len(row["time"]), -1, np.int64))
        begun = np.flatnonzero(row["time"] != times.NONE)
        self._rows.add({n: c[begun] for n, c in row.items()} | {"event": np.full(len(begun), ALLOC, np.int8)})
        if release is None:
            return
        ended = np.flatnonzero(release != times.NONE)
        made = {n: c[ended] for n, c in row.items() if n not in ("allocated", "reserved")}
        made |= {n: c[ended] for n, c in after.items() if c is not None}
        made |= {"time": release[ended], "bytes": np.abs(size[ended]), "event": np.full(len(ended), FREE, np.int8)}
        self._rows.add(made)

    def into(self, trace: Trace) -> None:
        if len(self._rows):
            found = self._rows.columns(("bytes", "event", "device"))
            trace.memory = found


def markers(trace: Trace, sheet: Sheet, convert: Converter) -> None:
    """Ranges of the user from msprof_tx; a mark has no end of its own."""
    rows = Pile()
    for block in sheet.blocks():
        row = csvfile.converted(sheet.kind, block, convert)
        if "start" not in row:
            continue
        end = row.get("end", np.full(len(row["start"]), times.NONE))
        mark = (end == times.NONE) | (end == row["start"])
        codes = [events.MARKERS.index(k) for k in ("mark", "range")]
        row |= {"end": np.where(mark, row["start"], end), "kind": np.where(mark, *codes).astype(np.int8)}
        row.setdefault("thread", np.full(len(end), -1, np.int32))
        row.setdefault("name", np.full(len(end), -1, np.int32))
        rows.add(row)
    trace.missing += sheet.problems
    if len(rows) and not trace.marker:
        trace.marker = rows.columns(("name", "thread"))
