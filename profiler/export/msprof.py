"""The msprof layout of a Trace: host/, device_N/, mindstudio_profiler_output/ and msprof_*.db in an existing PROF folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from profiler.export import (
    aicpu,
    api_statistic,
    communication_json,
    communication_statistic,
    dvpp,
    fusion_op,
    hbm,
    hccs,
    info_json,
    l2_cache,
    memory_record,
    msprof_db,
    msprof_tx,
    msprof_tx_json,
    npu_mem,
    npu_module_mem,
    op_statistic,
    op_summary,
    operator_memory,
    pcie,
    readme,
    static_op_mem,
    step_trace,
    step_trace_json,
    task_time,
    timeline_json,
)  # fmt: skip
from profiler.export.switches import switched_off
from profiler.samples.sampler import sampled
from profiler.trace import Trace

OUTPUT = "mindstudio_profiler_output"
Progress = Callable[[str, int, int], None]  # name of the format just finished, formats done, formats in all


class Format(NamedTuple):
    """One kind of file. write(trace, folder, stamp) gives the files made: none when the trace has nothing for it, several slices
    when it is too long for one."""

    name: str
    write: Callable[[Trace, Path, str], list[Path]]


FORMATS: tuple[Format, ...] = tuple(
    Format(module.NAME, module.write)
    for module in (
        timeline_json, op_summary, op_statistic, api_statistic, task_time, communication_statistic, step_trace, step_trace_json,
        fusion_op, msprof_tx, msprof_tx_json, memory_record, operator_memory, static_op_mem, npu_mem, npu_module_mem, hbm,
        hccs, pcie, dvpp, l2_cache, aicpu, msprof_db,
    )
)  # fmt: skip


def export_msprof(
    trace: Trace,
    prof_dir: Path,
    now: datetime | None = None,
    progress: Progress | None = None,
    only: Sequence[str] = (),
    hidden: Collection[str] = (),
) -> list[Path]:
    """The files written, in order; every one of an export carries the same stamp, its local time in seconds.

    `now` is that time (default: the clock). When files of the same second are there, the next free second is taken: no
    earlier export is changed. `only`: names of FORMATS to write, none: all, and then README.txt too. Each file appears only
    when it is complete, and only when what it is made of was collected (files.csv names the switch). `hidden`: layers
    that the timeline leaves out. FileNotFoundError when prof_dir does not exist, OSError when the disk refuses.
    """
    if not prof_dir.is_dir():
        raise FileNotFoundError(f"no folder {prof_dir}")
    folder = prof_dir / OUTPUT
    folder.mkdir(exist_ok=True)
    stamp = _free_stamp(folder, datetime.now() if now is None else now)
    made = info_json.write(trace, prof_dir)
    kinds = []
    off = switched_off(trace)
    timeline = Format(timeline_json.NAME, partial(timeline_json.write, hidden=hidden))
    forms = [timeline if form.name == timeline.name else form for form in FORMATS]
    forms = [form for form in forms if form.name not in off and (form.name in only or not only)]
    trace = sampled(trace)
    for done, form in enumerate(forms, 1):
        files = form.write(trace, folder, stamp)
        if files:
            kinds.append(form.name)
        made += files
        if progress is not None:
            progress(form.name, done, len(forms))
    if not only:
        made += communication_json.write(trace, prof_dir / "analyze")
    return made if only else [*made, readme.write(folder, kinds)]


def _free_stamp(folder: Path, now: datetime) -> str:
    """YYYYMMDDhhmmss of the first second from now on that no file in the folder carries."""
    taken = {path.stem.rpartition("_")[2] for path in (*folder.iterdir(), *folder.parent.glob("msprof_*.db"))}
    while (stamp := now.strftime("%Y%m%d%H%M%S")) in taken:
        now += timedelta(seconds=1)
    return stamp
