"""What torch_npu.profiler recorded in a script, in the layout of the real one: the capture inside, the files of the analysis
beside
it. Called by name (npu.torch_npu.profile.WRITER)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from time import CLOCK_REALTIME, clock_gettime  # not datetime.now: the script sees the simulated timeline through that
from typing import Any

from profiler.export import framework, torch_db
from profiler.export.torch_npu import OUTPUT, export_torch_npu, rank_of
from profiler.read import open_trace

PROF, FACTS = "PROF_*", "npuscope_torch.json"  # FACTS: what the script asked for, kept for an analysis later


def write(folder: Path, parent: Path, worker: str, facts: Mapping[str, Any], analyse: bool) -> Path:
    """The *_ascend_pt folder made below `parent` from the PROF folder in `folder`. worker: its name's head, "" for host and
    process.

    analyse=False keeps the capture alone; `analyse` of this module writes its files later.
    """
    now = datetime.fromtimestamp(clock_gettime(CLOCK_REALTIME))
    prof = next(iter(sorted(folder.glob(PROF))))
    if worker:
        place = parent / f"{worker}_{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03d}_ascend_pt"
        place.mkdir(parents=True)
    else:
        place = parent
    kept = place / prof.name
    shutil.copytree(prof, kept)
    (kept / FACTS).write_text(json.dumps(facts, indent=1, default=str), encoding="utf-8")
    return _files(kept, place, bool(worker)) if analyse else place


def stacks(folder: Path, output: Path, metric: str) -> Path:
    """Call stacks of the operators of the PROF folder in `folder` with their own time, us, in the form flame graphs take: frames
    from the outermost on, joined by semicolons. metric: self_cpu_time_total, or self_npu_time_total for what they launched."""
    trace = open_trace(next(iter(sorted(folder.glob(PROF)))))
    rows = framework.operators(trace)
    found = framework.times(trace, rows)
    spent = (found.own if metric == "self_cpu_time_total" else found.launched).tolist()
    sums: dict[str, int] = {}
    names = trace.marker["name"][rows].tolist() if len(rows) else []
    for name, stack, time in zip(names, framework.stacks(trace, rows).tolist(), spent, strict=True):
        if stack >= 0 and time > 0:
            frames = [trace.strings[name], *trace.strings[stack].splitlines()]
            line = ";".join(f.replace(" ", "_").replace(";", ",") for f in reversed(frames))
            sums[line] = sums.get(line, 0) + time
    output.write_text("".join(f"{line} {time // 1000}\n" for line, time in sums.items()), encoding="utf-8")
    return output


def _files(prof: Path, place: Path, here: bool) -> Path:
    """The files of the analysis, in `place` itself or (not here) in a folder of the usual name below it."""
    trace = open_trace(prof)
    facts = json.loads((prof / FACTS).read_text(encoding="utf-8"))
    kinds = facts["config"]["experimental_config"]["_export_type"]
    now = datetime.fromtimestamp(clock_gettime(CLOCK_REALTIME))
    made = export_torch_npu(trace, place, now, "text" if "text" in kinds else "db")
    if "text" in kinds and "db" in kinds:
        torch_db.fill(trace, made / OUTPUT / f"ascend_pytorch_profiler_{rank_of(trace)}.db")
    for info in made.glob("profiler_info_*.json"):
        content = json.loads(info.read_text(encoding="utf-8"))
        content["config"] = facts["config"]
        info.write_text(json.dumps(content, indent=1), encoding="utf-8")
    metadata = made / "profiler_metadata.json"
    content = json.loads(metadata.read_text(encoding="utf-8"))
    metadata.write_text(json.dumps({**content, **facts["metadata"]}, indent=1), encoding="utf-8")
    if not here:
        return made
    for path in list(made.iterdir()):
        path.rename(place / path.name)
    made.rmdir()
    return place


def analyse(path: Path) -> list[Path]:
    """Write the files of all *_ascend_pt folders at a path (itself, or below it) that have a capture and no files yet."""
    found = [path] if path.name.endswith("_ascend_pt") else sorted(path.glob("*_ascend_pt"))
    made = []
    for place in found:
        profs = sorted(place.glob(PROF))
        if profs and not (place / OUTPUT).exists() and (profs[0] / FACTS).is_file():
            made.append(_files(profs[0], place, True))
    return made
