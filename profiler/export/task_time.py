"""task_time: every task of a device, kernels and all others, in order of start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from profiler.export import chrome, columns, csvtext, words
from profiler.trace import Trace

NAME = "task_time"
HEADER = ("Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)", "task_stop(us)")


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file, or its slices; no file when no task ran. Tasks that are no kernels have the name N/A."""
    if not trace.task:
        return []
    return csvtext.write_table(folder, NAME, stamp, HEADER, _lines(trace), len(trace.task))


def _lines(trace: Trace) -> Iterator[list[str]]:
    task, strings = trace.task, trace.strings
    order = np.lexsort((task["start"], task["device"]))
    keys = [columns.column(task, n) for n in ("device", "name", "kind", "direction", "task_type", "stream")]
    rows, which = columns.distinct(keys)
    is_kernel = trace.tasks_of(*words.KERNELS)[rows].tolist()
    heads = []
    for kernel, device, name, kind, direction, text, stream in zip(is_kernel, *(k[rows].tolist() for k in keys), strict=True):
        shown = csvtext.field(strings[name]) if kernel and name >= 0 else csvtext.NA
        kernel_type = words.task_type(kind, direction, strings[text]).kernel_type
        heads.append(f"{device},{shown},{kernel_type},{stream if stream >= 0 else csvtext.NA}")
    which = which[order]
    start, end = task["start"][order], task["end"][order]
    task_id = columns.column(task, "task_id")[order]
    zero = chrome.unix_zero(trace)
    for begin in range(0, len(order), columns.CHUNK):
        part = slice(begin, begin + columns.CHUNK)
        yield [
            f"{heads[h]},{number},{duration},{first}\t,{last}\t"
            for h, number, duration, first, last in zip(
                which[part].tolist(), columns.ints(task_id[part], csvtext.NA), columns.microseconds(end[part] - start[part]),
                columns.microseconds(start[part] + zero), columns.microseconds(end[part] + zero), strict=True)
        ]
