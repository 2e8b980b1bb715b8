"""Defects of processes and threads: shared pids, no names, names behind the events, ids that are no numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.check.defect import NOTE, WARNING, Defect, some
from profiler.read.raw_events import Raw

MOST = 1 << 32  # Perfetto keeps process and thread ids in 32 bits


def shared_pid(raw: Raw) -> Iterator[Defect]:
    """Two names for one pid: files were joined without renaming their processes."""
    bad = {raw.pids[pid]: list(dict.fromkeys(names)) for pid, names in raw.named.items() if len(set(names)) > 1}
    if bad:
        pid, names = next(iter(bad.items()))
        yield Defect("shared_pid", WARNING, raw.where, len(bad), {"pid": pid, "names": ", ".join(names)})


def nameless(raw: Raw) -> Iterator[Defect]:
    """Processes with slices and without a process_name: no reader can tell host from device by them."""
    bad = [raw.pids[p] for p in np.unique(raw.pid[raw.slices]).tolist() if p not in raw.named]
    if bad:
        severity = NOTE if not raw.named else WARNING
        yield Defect("nameless", severity, raw.where, len(bad), {}, some([str(p) for p in bad]))


def late_names(raw: Raw) -> Iterator[Defect]:
    """Names of processes and threads that stand behind the events they belong to."""
    if raw.late_names:
        yield Defect("late_names", NOTE, raw.where, raw.late_names)


def odd_ids(raw: Raw) -> Iterator[Defect]:
    """Process and thread ids that are negative, longer than 32 bits, or texts."""
    bad = [v for v in (*raw.pids, *raw.tids) if not isinstance(v, int) or not 0 <= v < MOST]
    if bad:
        yield Defect("odd_id", NOTE, raw.where, len(bad), {}, some([str(v) for v in bad]))
