"""Profiles of torch_npu (`*_ascend_pt`) and MindSpore (`*_ascend_ms`): text or database, Level_none to Level2."""

from __future__ import annotations

from pathlib import Path

from profiler.read import about, chip, folder, msprof, walk
from profiler.trace import Trace, Unreadable

OUTPUT = "ASCEND_PROFILER_OUTPUT"
NAMES = ("_ascend_pt", "_ascend_ms")


def is_place(path: Path) -> bool:
    return path.is_dir() and (path.name.endswith(NAMES) or (path / OUTPUT).is_dir())


def places(path: Path) -> list[Path]:
    """Profile folders at or below a path; for the output folder inside one, that one."""
    if path.is_dir() and path.name == OUTPUT:
        return [path.parent if is_place(path.parent) else path]
    return walk.below(path, is_place) if path.is_dir() else []


def read(place: Path) -> Trace:
    """One rank. Without exported files those of the msprof folder inside count; Unreadable when there is raw data only."""
    trace = Trace(place, meta={"generator": "mindspore" if place.name.endswith("_ascend_ms") else "torch_npu"})
    about.of_torch(trace, place)
    for inside in walk.below(place, msprof.is_place, 2):
        about.of_msprof(trace, inside)
    candidates = (
        walk.files(place / OUTPUT),
        walk.files(place),
        *(msprof.exported(p) for p in walk.below(place, msprof.is_place, 2)),
    )
    for paths in candidates:
        found = folder.sorted_out(paths)
        if found:
            folder.read(trace, found)
            chip.infer(trace)
            return trace
    analyse = f"from torch_npu.profiler.profiler import analyse; analyse('{place}')"
    raise Unreadable(
        f"{place.name} is incomplete: it holds raw data that was not exported",
        f'run python -c "{analyse}" on the host with the NPU software, or msprof --export=on --output={place}',
    )
