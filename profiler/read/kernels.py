"""op_summary, kernel_details, task_time -> task and comm rows; and their details onto the rows of a timeline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npu import events
from profiler.read import csvfile, times
from profiler.read.chrome_groups import kinds
from profiler.read.collect import Pile
from profiler.read.csvfile import Sheet
from profiler.read.tables import Converter
from profiler.trace import Array, Columns, Missing, Trace

COLLECTIVE = frozenset(("HCCL", "COMMUNICATION"))  # task types of communication rows, old and new
COLLECTIVE_NAMES = ("hcom_", "Hccl", "hccl_")  # Level0 files have no task type
COMM_COLUMNS = ("start", "end", "name", "device", "step")
ALWAYS = ("name", "kind", "device", "stream", "op_type")
NOT_DETAILS = frozenset(("start", "end", "length", "name", "kind", "device", "stream", "task_id", "correlation", "direction"))


class Kernels:
    """Rows of kernel files, gathered file by file."""

    def __init__(self, convert: Converter) -> None:
        self._convert = convert
        self._tasks, self._collectives = Pile(), Pile()

    def __len__(self) -> int:
        return len(self._tasks) + len(self._collectives)

    def add(self, sheet: Sheet, device: int) -> None:
        """Rows of one file; `device` where it does not say."""
        strings = self._convert.strings
        timeless = laid = 0
        rounded = False
        for block in sheet.blocks():
            row = csvfile.converted(sheet.kind, block, self._convert)
            rounded = rounded or csvfile.rounded(sheet.kind, block)
            if "start" not in row:
                timeless += max(map(len, row.values()), default=0)
                continue
            if not len(row["start"]):
                continue
            rows = len(row["start"])
            length = row.pop("length", None)
            if rounded and length is not None:
                row["start"], laid = _in_a_row(row, length, laid)
            if "end" not in row:
                length = np.full(rows, -1, np.int64) if length is None else length
                none = (row["start"] == times.NONE) | (length == -1)
                row["end"] = np.where(none, times.NONE, np.where(none, 0, row["start"]) + length)
            row.setdefault("name", np.full(rows, -1, np.int32))
            unknown = np.full(rows, device, np.int32)
            row["device"] = np.where(row["device"] >= 0, row["device"], unknown) if "device" in row else unknown
            row.setdefault("op_type", np.full(rows, -1, np.int32))
            types = row.get("task_type")
            row["kind"], direction = kinds(strings, row["name"], types)
            if types is not None:  # what is no kernel has no name of its own in task_time
                row["name"] = np.where(row["name"] < 0, types, row["name"]).astype(np.int32)
            if (direction >= 0).any():
                row["direction"] = direction
            collective = self._collective(row["name"], row["op_type"], types)
            self._tasks.add({n: c[~collective] for n, c in row.items()})
            if collective.any():
                kept: dict[str, Array] = {n: row[n][collective] for n in COMM_COLUMNS if n in row}
                kept["part"] = np.full(int(collective.sum()), -1, np.int8)
                kept["level"] = np.full(int(collective.sum()), events.COMM_LEVELS.index("op"), np.int8)
                self._collectives.add(kept)
        if rounded:
            why = "they were rounded (1.79E+15), as spreadsheet programs do when they save: gaps are lost, and rows stand one "
            why += "behind the other in the order of the file; export again"
            sheet.problems.append(Missing(f"start times of {sheet.path.name}", why))
        if timeless:
            why = "they have no start times: export the profile again with all columns"
            sheet.problems.append(Missing(f"{timeless} rows of {sheet.path.name}", why))

    def _collective(self, names: Array, op_types: Array, types: Array | None) -> Array:
        """Communication operators: by their task type, without one by their name."""
        strings = self._convert.strings
        if types is not None and (types >= 0).any():
            return np.isin(types, [i for i in map(strings.find, COLLECTIVE) if i >= 0])
        named = {i for i in np.unique(names).tolist() if strings[i].startswith(COLLECTIVE_NAMES)}
        return np.isin(names, list(named)) & (op_types < 0)

    def into(self, trace: Trace) -> None:
        """Add the rows to a trace; where it holds tasks of a timeline, their details to those."""
        tasks, collectives = self._tasks.columns(ALWAYS), self._collectives.columns(("name", "device", "part"))
        if "stream" not in tasks and tasks:
            tasks = tasks.with_columns(stream=np.full(len(tasks), -1, np.int32))
        trace.task = merged(trace, tasks) if trace.task and tasks else tasks or trace.task
        if collectives and not trace.comm:
            trace.comm = collectives


def _in_a_row(row: Mapping[str, Array], length: Array, behind: int) -> tuple[Array, int]:
    """Starts of rows whose times say nothing, one behind the other from `behind` on (0: from the first one's time), and where the
    next one starts."""
    known = np.maximum(length, 0)
    first = behind or int(row["start"][0])
    starts = first + np.cumsum(known) - known
    return starts, int(starts[-1] + known[-1])


def merged(trace: Trace, rows: Columns) -> Columns:
    """Timeline tasks with the details of the kernel rows of the same name and start. The times of the timeline are kept: they
    are finer. Kernel rows the timeline lacks are added; when none fits, the files are of different runs: the timeline counts."""
    task = trace.task
    at = {
        key: n for n, key in enumerate(zip(task["start"].tolist(), task["name"].tolist(), task["device"].tolist(), strict=True))
    }
    keys = zip(rows["start"].tolist(), rows["name"].tolist(), rows["device"].tolist(), strict=True)
    place = np.fromiter((at.get(k, -1) for k in keys), np.int64, len(rows))
    hit = place >= 0
    if not hit.any() and int(rows["start"].min()) < int(task["end"].max()) and int(rows["end"].max()) > int(task["start"].min()):
        trace.missing.append(
            Missing(
                "shapes, types and counters of kernels", "no row of the kernel file has the name and start of a timeline task"
            )
        )
        return task
    made = dict(task)
    for name, column in rows.items():
        if name in NOT_DETAILS or not hit.any():
            continue
        nothing: Array = np.full(len(task), np.nan if column.dtype.kind == "f" else -1, column.dtype)
        values = task.get(name, nothing).copy()
        given = column[hit]
        known = ~np.isnan(given) if column.dtype.kind == "f" else given != -1
        values[place[hit][known]] = given[known]
        made[name] = values
    if "task_type" in rows and hit.any():
        kind, _ = kinds(trace.strings, made["name"], made["task_type"])
        rewritten = made["kind"].copy()
        rewritten[place[hit]] = kind[place[hit]]
        made["kind"] = rewritten
    both = Pile()
    both.add(made)
    if not hit.all():
        both.add(rows.take(np.flatnonzero(~hit)))
    return both.columns(ALWAYS)
