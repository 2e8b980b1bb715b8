"""cluster_analysis_output: sums over all ranks of a job (step times, collectives), no rows in time."""

from __future__ import annotations

from pathlib import Path

from profiler.read import about, folder, walk
from profiler.trace import Missing, Trace

NAME = "cluster_analysis_output"
SIGNS = ("cluster_step_trace_time.csv", "cluster_communication.json", "cluster_analysis.db")


def is_place(path: Path) -> bool:
    return path.is_dir() and any((path / name).is_file() for name in SIGNS)


def places(path: Path) -> list[Path]:
    return walk.below(path, is_place, 2) if path.is_dir() else []


def read(place: Path) -> Trace:
    """The sums in meta["tables"]; communication groups in meta["groups"], ranks in meta["ranks"]."""
    trace = Trace(place, meta={"generator": NAME})
    folder.read(trace, folder.sorted_out(walk.files(place)))
    groups = about.loaded(place / "communication_group.json")
    if groups:
        trace.meta["groups"] = groups
    steps = trace.meta.get("tables", {}).get("step_trace_time", {})
    ranks = {str(i) for t, i in zip(steps.get("type", []), steps.get("index", []), strict=True) if t == "rank" and i is not None}
    trace.meta["ranks"] = sorted(int(r) for r in ranks if r.isdigit() and len(r) < 10)
    trace.meta["world_size"] = len(trace.meta["ranks"]) or 1
    trace.missing.append(
        Missing("rows in time", "this folder holds sums over ranks only: open the folder with all ranks for more")
    )
    return trace
