"""One check of a file or folder: every function of the lists below, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from profiler.check import arrows, folder, forms, processes, slices
from profiler.check import times_as_written as times
from profiler.check.defect import ERROR, SEVERITIES, Checkup, Defect, Sound
from profiler.read import open_trace, raw_events
from profiler.read.chrome import looks_like_events
from profiler.read.clock_signs import WEEK
from profiler.read.events_json import NotEvents
from profiler.read.raw_events import Raw
from profiler.trace import TABLES, Trace, Unreadable

OF_FILES: tuple[Callable[[Raw], Iterator[Defect]], ...] = (
    forms.as_read,
    slices.no_slices,
    times.no_time,
    times.negative_duration,
    times.endless,
    times.negative_time,
    times.wrong_unit,
    times.precision,
    times.clock_jump,
    times.backwards,
    slices.overlaps,
    slices.duplicates,
    slices.unmatched_ranges,
    arrows.one_ended,
    arrows.shared_ids,
    arrows.large_ids,
    arrows.reversed_arrows,
    processes.shared_pid,
    processes.nameless,
    processes.odd_ids,
    processes.late_names,
    forms.unit_shown,
    forms.too_large,
)
OF_FOLDERS: tuple[Callable[[Path], Iterator[Defect]], ...] = (
    folder.not_exported,
    folder.empty_files,
    folder.several_exports,
    folder.slices_apart,
)
OF_RANKS: tuple[Callable[[list[Trace]], Iterator[Defect]], ...] = (folder.ranks,)


def check(path: Path) -> Checkup:
    """Everything found at a path. FileNotFoundError for a path that does not exist; what cannot be read at all is a defect."""
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    defects = [d for look in OF_FOLDERS for d in look(path)]
    sound: list[Sound] = []
    for file in folder.profile_files(path):
        if file.stat().st_size and (looks_like_events(file) or (file == path and _json(file))):
            try:
                timeline = raw_events.read(file, str(file.relative_to(path)) if path.is_dir() else file.name)
            except NotEvents as error:
                defects.append(Defect(error.what or "not_events", ERROR, file.name, 1))
                continue
            defects += [d for look in OF_FILES for d in look(timeline)]
            sound.append(_sound(timeline))
    traces: list[Trace] = []
    try:
        first = open_trace(path)
        traces = [first, *first.parts]
    except Unreadable as error:
        if not any(d.severity == ERROR for d in defects):
            defects.append(Defect("unreadable", ERROR, str(path), 1, {"why": error.what, "next": error.next}))
    if traces:
        defects += [d for look in OF_RANKS for d in look(traces)]
    defects.sort(key=lambda d: SEVERITIES.index(d.severity))
    rows = {n: sum(len(getattr(t, n)) for t in traces) for n in TABLES}
    missing = tuple(dict.fromkeys((m.what, m.why) for t in traces for m in t.missing))
    return Checkup(str(path), tuple(sound), {n: count for n, count in rows.items() if count}, tuple(defects), missing)


def _json(file: Path) -> bool:
    return file.name.lower().endswith((".json", ".json.gz"))


def _sound(timeline: Raw) -> Sound:
    rows = timeline.sound
    rows = rows[timeline.length[rows] <= WEEK]
    start = timeline.start[rows]
    span = int((start + timeline.length[rows]).max() - start.min()) if len(rows) else 0
    lanes = np.unique(timeline.pid[rows].astype(np.int64) << 32 | timeline.tid[rows])
    heads = int((timeline.phase == "f").sum())
    return Sound(
        timeline.where, len(timeline), len(rows), heads, int((timeline.phase == "C").sum()),
        len(np.unique(timeline.pid[rows])), len(lanes), span,
    )  # fmt: skip
