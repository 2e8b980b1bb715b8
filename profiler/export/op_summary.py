"""op_summary: one row per kernel and per communication operator of a device, with its counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from npu import events, soc
from profiler.export import chrome, columns, csvtext, pmu, words
from profiler.trace import Array, Columns, Trace

NAME = "op_summary"
FIRST = ("Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type", "Task Start Time(us)",
         "Task Duration(us)", "Task Wait Time(us)")
COMPUTE = ("Block Dim", "Mix Block Dim", "HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
           "Output Data Types", "Output Formats", "Context ID")
# What the compute columns follow from.
SHAPED_BY = ("block_dim", "mix_block_dim", "hf32", "in_shapes", "in_dtypes", "in_formats", "out_shapes", "out_dtypes",
             "out_formats", "task_type")
# Columns only chips with the STARS scheduler have; the 910A class, 310 and 310P schedule otherwise.
STARS_ONLY = ("Mix Block Dim", "Context ID", "aiv_time(us)")
NO_STARS = ("910", "310", "310P")


class _Rows(NamedTuple):
    """Rows of one source: numbers by row, and for the three text parts of a line their distinct texts and which row has which."""

    device: Array
    model: Array
    start: Array  # ns on the trace's timeline
    duration: Array
    task_id: Array
    parts: tuple[tuple[list[str], Array], ...]  # stream to task type | block dim to context | counters


class Before(NamedTuple):
    """A column that comes before all others: its name, and its texts by start (ns)."""

    name: str
    of: Callable[[Array], list[str]]


def write(trace: Trace, folder: Path, stamp: str, before: Before | None = None) -> list[Path]:
    """The file, or its slices; no file when no kernel and no communication operator ran. Times as unix us, 3 decimals.

    Rows are in order of device and start. Wait time is measured against the previous row of the device, all streams mixed.
    """
    kernels = trace.task.take(trace.tasks_of(*words.KERNELS)) if trace.task else Columns()
    collectives = trace.comm.take(trace.comm["level"] == events.COMM_LEVELS.index("op")) if trace.comm else Columns()
    if not kernels and not collectives:
        return []
    dropped = STARS_ONLY if _without_stars(trace) else ()
    compute = tuple(c for c in COMPUTE if c not in dropped) if kernels else ()
    counters = tuple(c for c in pmu.names(kernels) if c not in dropped)
    both = (_kernel_rows(trace, kernels, compute, counters), _comm_rows(trace, collectives, compute, len(counters)))
    sources = [rows for rows in both if rows is not None]
    lines = _lines(_joined(sources), chrome.unix_zero(trace), before)
    header = (*([before.name] if before else ()), *FIRST, *compute, *counters)
    return csvtext.write_table(folder, NAME, stamp, header, lines, len(kernels) + len(collectives))


def _without_stars(trace: Trace) -> bool:
    try:
        return soc.find(str(trace.meta.get("soc", ""))).family in NO_STARS
    except KeyError:
        return False


def _kernel_rows(trace: Trace, task: Columns, compute: Sequence[str], counted: Sequence[str]) -> _Rows | None:
    if not task:
        return None
    strings = trace.strings

    def texts(name: str, rows: Array) -> list[str]:
        return [csvtext.field(t) for t in columns.texts_of(strings, columns.column(task, name)[rows], csvtext.NA)]

    identity = [columns.column(task, n) for n in ("stream", "name", "op_type", "op_state", "kind", "task_type")]
    rows, which_identity = columns.distinct(identity)
    kinds = zip(identity[4][rows].tolist(), identity[5][rows].tolist(), strict=True)
    fields = (columns.ints(identity[0][rows], csvtext.NA), texts("name", rows), texts("op_type", rows), texts("op_state", rows),
              [words.task_type(kind, -1, strings[text]).stars for kind, text in kinds])
    identities = [",".join(f) for f in zip(*fields, strict=True)]

    def shape_lists(name: str) -> list[str]:
        return [csvtext.shapes(strings[i] if i >= 0 else None) for i in columns.column(task, name)[rows].tolist()]

    rows, which_shape = columns.distinct([columns.column(task, n) for n in SHAPED_BY])
    made = {
        "Block Dim": columns.ints(columns.column(task, "block_dim")[rows], csvtext.NA),
        "Mix Block Dim": columns.ints(columns.column(task, "mix_block_dim")[rows], csvtext.NA),
        "HF32 Eligible": texts("hf32", rows),
        "Input Shapes": shape_lists("in_shapes"),
        "Input Data Types": texts("in_dtypes", rows),
        "Input Formats": texts("in_formats", rows),
        "Output Shapes": shape_lists("out_shapes"),
        "Output Data Types": texts("out_dtypes", rows),
        "Output Formats": texts("out_formats", rows),
        # Kernels on both kinds of core are launched as subtask 0 of a context, all others as plain tasks.
        "Context ID": ["0" if t.startswith("MIX") else csvtext.NA for t in texts("task_type", rows)],
    }
    shapes = [",".join(f) for f in zip(*(made[n] for n in compute), strict=True)]

    if counted:
        values = pmu.shown(task, counted)
        rows, which_pmu = columns.distinct([values[n] for n in counted])
        counters = ["," + ",".join(f) for f in zip(*(csvtext.counters(n, values[n][rows]) for n in counted), strict=True)]
    else:
        counters, which_pmu = [""], np.zeros(len(task), np.int64)
    return _Rows(task["device"], columns.column(task, "model"), task["start"], task["end"] - task["start"],
                 columns.column(task, "task_id"), ((identities, which_identity), (shapes, which_shape), (counters, which_pmu)))


def _comm_rows(trace: Trace, comm: Columns, compute: Sequence[str], counted: int) -> _Rows | None:
    if not comm:
        return None
    rows, which = columns.distinct([comm["name"]])
    names = [trace.strings[i] for i in comm["name"][rows].tolist()]
    na = csvtext.NA
    identities = [",".join((na, csvtext.field(n), words.operator_type(n), na, words.COMMUNICATION)) for n in names]
    zero = np.zeros(len(comm), np.int64)
    nothing = np.full(len(comm), -1, np.int64)
    shape = ",".join("0" if n == "Block Dim" else na for n in compute)
    return _Rows(comm["device"], nothing, comm["start"], comm["end"] - comm["start"], nothing,
                 ((identities, which), ([shape], zero), ([f",{na}" * counted], zero)))


def _joined(sources: Sequence[_Rows]) -> _Rows:
    """All rows in order of device and start; the distinct texts of later sources are numbered behind those of earlier ones."""
    device, model, start, duration, task_id = (
        np.concatenate(c) for c in zip(*((s.device, s.model, s.start, s.duration, s.task_id) for s in sources), strict=True))
    order = np.lexsort((start, device))
    parts = []
    for n in range(3):
        texts: list[str] = []
        which = []
        for source in sources:
            which.append(source.parts[n][1] + len(texts))
            texts += source.parts[n][0]
        parts.append((texts, np.concatenate(which)[order]))
    return _Rows(device[order], model[order], start[order], duration[order], task_id[order], tuple(parts))


def _waits(rows: _Rows) -> Array:
    """ns between the end of the previous row of the device and this start, at least 0; -1 for the first row of a device."""
    waits = np.empty(len(rows.start), np.int64)
    waits[1:] = np.maximum(0, rows.start[1:] - rows.start[:-1] - rows.duration[:-1])
    waits[np.concatenate(([True], rows.device[1:] != rows.device[:-1]))] = -1
    return waits


def _lines(rows: _Rows, unix_zero: int, before: Before | None) -> Iterator[list[str]]:
    waits = _waits(rows)
    (identities, identity), (shapes, shape), (counters, counter) = rows.parts
    comma = "," if shapes[0] else ""
    for begin in range(0, len(rows.start), columns.CHUNK):
        part = slice(begin, begin + columns.CHUNK)
        waited = [f"{w}000" if n >= 0 else "0" for w, n in
                  zip(columns.microseconds(np.maximum(waits[part], 0)), waits[part].tolist(), strict=True)]
        models = columns.ints(rows.model[part], csvtext.NO_ID)
        made = [
            f"{device},{model},{task},{identities[i]},{start}\t,{duration},{wait}{comma}{shapes[s]}{counters[c]}"
            for device, model, task, i, start, duration, wait, s, c in zip(
                rows.device[part].tolist(), models, columns.ints(rows.task_id[part], csvtext.NA), identity[part].tolist(),
                columns.microseconds(rows.start[part] + unix_zero), columns.microseconds(rows.duration[part]), waited,
                shape[part].tolist(), counter[part].tolist(), strict=True)
        ]
        yield [f"{b},{line}" for b, line in zip(before.of(rows.start[part]), made, strict=True)] if before else made
