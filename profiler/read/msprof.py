"""Result folders of msprof (PROF_*): CANN 8 and later (mindstudio_profiler_output), older (summary and timeline by device), and
database exports."""

from __future__ import annotations

import re
from pathlib import Path

from profiler.read import about, chip, folder, walk
from profiler.trace import Trace, Unreadable

OUTPUT = "mindstudio_profiler_output"
NAME = re.compile(r"PROF_\d{6}_\d{17}_\w+")
OLD = ("summary", "timeline")
PART = re.compile(r"device_\d+|host")


def is_place(path: Path) -> bool:
    """Whether a folder is one of msprof: by its name, its output folder, or its raw parts."""
    if not path.is_dir():
        return False
    if NAME.fullmatch(path.name) or (path / OUTPUT).is_dir():
        return True
    return any(PART.fullmatch(p.name) and (p / "data").is_dir() for p in walk.folders(path)) or bool(_old(path))


def places(path: Path) -> list[Path]:
    """PROF folders at or below a path; for a folder inside one, that one."""
    if path.is_dir() and (path.name == OUTPUT or PART.fullmatch(path.name)) and is_place(path.parent):
        return [path.parent]
    return walk.below(path, is_place) if path.is_dir() else []


def _old(prof: Path) -> list[Path]:
    return [d / n for d in walk.folders(prof) if PART.fullmatch(d.name) for n in OLD if (d / n).is_dir()]


def exported(prof: Path) -> list[Path]:
    """All exported files of a PROF folder: text, databases, results of --analyze."""
    places = (prof / OUTPUT, *sorted(_old(prof)), prof / "analyze")
    return [p for place in places for p in walk.files(place)] + [p for p in walk.files(prof) if p.suffix == ".db"]


def read(prof: Path) -> Trace:
    """One process with all its devices. Unreadable when there is raw data only."""
    trace = Trace(prof, meta={"generator": "msprof"})
    about.of_msprof(trace, prof)
    found = folder.sorted_out(exported(prof))
    if not found:
        raise Unreadable(
            f"{prof.name} is incomplete: it holds raw data that was not exported",
            f"run msprof --export=on --output={prof} on the host with the NPU software",
        )
    folder.read(trace, found)
    chip.infer(trace)
    return trace
