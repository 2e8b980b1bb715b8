"""The exported files of one profile, whatever folder they lie in -> one Trace.

Of several exports (a stamp in the file names) each kind of file is taken from its newest; all its slices, models and devices are
read. Timelines give rows with full times; kernel files add shapes, types and counters to them, or give the rows themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from profiler.read import chrome, communication, copies, db_rows, op_types, statistics
from profiler.read.collect import settle
from profiler.read.csvfile import Sheet
from profiler.read.kernels import Kernels
from profiler.read.memory import Memory, markers
from profiler.read.tables import Converter
from profiler.trace import Missing, Trace, Unreadable

NAME = re.compile(r"(?P<kind>[A-Za-z][A-Za-z_]*?)(?:_slice_(?P<slice>\d+))?(?P<ids>(?:_\d{1,13})*)(?:_(?P<stamp>\d{14}))?")
DEVICE = re.compile(r"device_(\d{1,5})")
LFS = b"version https://git-lfs"
SUFFIXES = (".json", ".json.gz", ".csv", ".db")
# JSON files beside a profile that are read elsewhere (profiler.read.about) or describe the export itself.
ASIDE = re.compile(
    r"profiler_info.*|profiler_metadata|info|sample|start_info|end_info|communication_group|reports|prof_rule.*|README"
)


@dataclass
class Files:
    """Files of one profile by what they are."""

    timelines: list[Path] = field(default_factory=list)
    communication: list[Path] = field(default_factory=list)
    sheets: list[Path] = field(default_factory=list)
    databases: list[Path] = field(default_factory=list)
    analyses: list[Path] = field(default_factory=list)
    older: int = 0

    def __bool__(self) -> bool:
        return bool(self.timelines or self.communication or self.sheets or self.databases or self.analyses)


def sorted_out(paths: Iterable[Path]) -> Files:
    """The files to read of those that lie there: for each kind the newest stamp of its folder."""
    kept = [p for p in paths if p.name.lower().endswith(SUFFIXES) and not ASIDE.fullmatch(stem_of(p)) and p.is_file()]
    stamps: dict[tuple[Path, str], str] = {}
    for path in kept:
        kind, stamp = _named(path)
        stamps[path.parent, kind] = max(stamp, stamps.get((path.parent, kind), ""))
    made = Files()
    for path in sorted(kept, key=_order):
        kind, stamp = _named(path)
        if stamp != stamps[path.parent, kind]:
            made.older += 1
            continue
        lower = path.name.lower()
        if lower.endswith(".csv"):
            made.sheets.append(path)
        elif lower.endswith(".db"):
            (made.analyses if "analy" in path.stem and "profiler" not in path.stem else made.databases).append(path)
        elif kind in ("communication", "communication_matrix", "cluster_communication", "cluster_communication_matrix"):
            made.communication.append(path)
        elif kind != "step_trace":
            made.timelines.append(path)
    whole = {p.parent for p in made.timelines if kind_of_file(p) == "msprof"}  # it has the marks of msprof_tx beside it, too
    made.timelines = [p for p in made.timelines if p.parent not in whole or kind_of_file(p) != "msprof_tx"]
    return made


def stem_of(path: Path) -> str:
    name = path.name
    return name[: -len(".json.gz")] if name.lower().endswith(".json.gz") else path.stem


def _named(path: Path) -> tuple[str, str]:
    """(kind with suffix, stamp) of a file name; a name of another form is a kind of its own."""
    found = NAME.fullmatch(stem_of(path))
    suffix = path.suffix.lower()
    return (f"{found['kind']}{suffix if suffix != '.json' else ''}", found["stamp"] or "") if found else (path.name, "")


def kind_of_file(path: Path) -> str:
    """The kind a file's name tells, e.g. msprof for msprof_slice_0_20260101000000.json; another form of name is its own kind."""
    return _named(path)[0]


def _order(path: Path) -> tuple[str, int, str]:
    found = NAME.fullmatch(stem_of(path))
    return str(path.parent), int(found["slice"]) if found and found["slice"] else -1, path.name


def read(trace: Trace, files: Files) -> Trace:
    """Fill a trace from the files of a profile and settle it. Files that cannot be read are listed in its missing; Unreadable
    when none could be."""
    failed: list[Unreadable] = []
    done = 0
    if files.older:
        trace.missing.append(Missing(f"{files.older} files of earlier exports", "only the newest export of each kind is read"))
    done += _timelines(trace, files.timelines, failed)
    convert = Converter(trace.strings)
    kernels, task_times, memory = Kernels(convert), Kernels(convert), Memory(convert)
    only = _only_device(trace)
    for path in files.sheets:
        try:
            sheet = Sheet(path)
            device = device_of(path, only)
            if sheet.kind in ("kernels", "task_time"):
                (kernels if sheet.kind == "kernels" else task_times).add(sheet, device)
                trace.missing += sheet.problems
            elif sheet.kind in ("memory_record", "operator_memory", "npu_mem"):
                memory.add(sheet, device)
                trace.missing += sheet.problems
            elif sheet.kind == "msprof_tx":
                markers(trace, sheet, convert)
            else:
                statistics.read(trace, sheet)
            done += 1
        except Unreadable as error:
            failed.append(error)
    if len(task_times) and not trace.task:
        task_times.into(trace)
    if len(kernels):
        kernels.into(trace)
    memory.into(trace)
    for path in files.communication:
        done += _tried(failed, partial(communication.read_json, trace, path))
    # The text files say the same as the database; it counts where they are not there.
    if not trace.task and not trace.api:
        for path in files.databases:
            done += _tried(failed, partial(db_rows.read_into, trace, path, convert))
    if not trace.meta.get("tables", {}).get("step_trace_time") and not files.communication:
        for path in files.analyses:
            done += _tried(failed, partial(communication.read_database, trace, path, convert))
    if failed and not done:
        raise failed[0]
    trace.missing += [Missing(e.what, e.next) for e in failed]
    communication.rows_of(trace)
    copies.describe(trace)
    op_types.infer(trace)
    return settle(trace)


def _tried(failed: list[Unreadable], action: Callable[[], None]) -> int:
    try:
        action()
    except Unreadable as error:
        failed.append(error)
        return 0
    return 1


def _timelines(trace: Trace, paths: Sequence[Path], failed: list[Unreadable]) -> int:
    """Slices of one timeline share processes and connection ids, so they are read in one pass."""
    usable = []
    for path in paths:
        if path.stat().st_size == 0:
            failed.append(Unreadable(f"{path.name} is empty (0 bytes)", "the export was cut short: export the profile again"))
        elif chrome.looks_like_events(path):
            usable.append(path)
        else:
            failed.append(_no_events(path))
    if not usable:
        return 0
    try:
        chrome.read_into(trace, usable)
    except Unreadable as error:
        failed.append(error)
        return 0
    return len(usable)


def _no_events(path: Path) -> Unreadable:
    with path.open("rb") as stream:
        pointer = stream.read(len(LFS)) == LFS
    if pointer:
        return Unreadable(f"{path.name} is a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull")
    return Unreadable(f"{path.name} holds no trace events", "it was not read")


def _only_device(trace: Trace) -> int:
    """The device of rows that do not say: the one of the timeline when it is the only one, else 0."""
    found = set(trace.task["device"].tolist()) if trace.task else set()
    return found.pop() if len(found) == 1 else 0


def device_of(path: Path, otherwise: int) -> int:
    """Device by the folder of a file (device_3/summary/...), where the rows do not say."""
    found = next((m for part in reversed(path.parts[:-1]) if (m := DEVICE.fullmatch(part))), None)
    return int(found[1]) if found else otherwise
