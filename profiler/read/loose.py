"""Files without a profile folder around them: a folder that holds them directly, or a single JSON, CSV or database."""

from __future__ import annotations

from pathlib import Path

from profiler.read import about, chip, chrome, communication, folder, torch_npu, walk
from profiler.read.csvfile import Sheet
from profiler.read.database import is_database
from profiler.read.folder import SUFFIXES
from profiler.trace import Missing, Trace, Unreadable


def places(path: Path) -> list[Path]:
    """A file itself. A folder when its files belong together; its timelines one by one when there are several of different
    names (one of each rank), with the tables beside them as another."""
    if path.is_file():
        return [path] if path.name.lower().endswith(SUFFIXES) or chrome.looks_like_events(path) or is_database(path) else []
    found = [p for f in walk.below(path, _holds_profile, 3) for p in _of_folder(f)]
    return found


def _holds_profile(path: Path) -> bool:
    return path.is_dir() and any(is_profile(p) for p in walk.files(path))


def _of_folder(path: Path) -> list[Path]:
    files = folder.sorted_out(p for p in walk.files(path) if is_profile(p))
    kinds = {folder.kind_of_file(p) for p in files.timelines}
    if len(kinds) < 2:
        return [path]
    return [*files.timelines, *files.databases]


def is_profile(path: Path) -> bool:
    """True for a file some reader knows, and for an empty one with the suffix of one: that is worth a word."""
    if not path.name.lower().endswith(SUFFIXES):
        return False
    try:
        if path.stat().st_size == 0 or chrome.looks_like_events(path):
            return True
        if path.suffix.lower() == ".csv":
            return bool(Sheet(path).kind)
        if path.suffix.lower() == ".db":
            return is_database(path)
        return folder.kind_of_file(path).startswith(("communication", "cluster_communication"))
    except (OSError, Unreadable):
        return False


def read(place: Path) -> Trace:
    """A folder's files together, or one file. Unreadable says what a single file is when it is no profile."""
    if place.is_dir():
        trace = Trace(place, meta={"generator": "msprof"})
        folder.read(trace, folder.sorted_out(p for p in walk.files(place) if is_profile(p)))
        chip.infer(trace)
        return trace
    trace = Trace(place)
    if place.parent.name == torch_npu.OUTPUT:
        about.of_torch(trace, place.parent.parent)
    folder.read(trace, _alone(place))
    trace.meta.setdefault("generator", "msprof")
    chip.infer(trace)
    return trace


def _alone(path: Path) -> folder.Files:
    """Where a single file goes, by its content."""
    if path.stat().st_size == 0:
        raise Unreadable(f"{path.name} is empty (0 bytes)", "the export was cut short: export the profile again")
    if is_database(path):
        analysis = "analy" in path.stem and "profiler" not in path.stem
        return folder.Files(analyses=[path]) if analysis else folder.Files(databases=[path])
    if chrome.looks_like_events(path):
        return folder.Files(timelines=[path])
    if path.suffix.lower() == ".csv":
        return folder.Files(sheets=[path])
    if path.suffix.lower() == ".json" and communication.kind_of(communication.load(path)):
        return folder.Files(communication=[path])
    raise Unreadable(
        f"{path.name} is no profile: it is neither a Chrome trace, a table of msprof or torch_npu, nor their database",
        "give a PROF_* or *_ascend_pt folder, the folder that holds it, or one of their files",
    )


def assume_rank(trace: Trace) -> None:
    """A lone trace without a rank is rank 0, and the trace says so."""
    trace.meta["rank"] = 0
    trace.meta["rank_assumed"] = True
    trace.missing.append(Missing("the rank", "the profile names none and is alone: rank 0 is assumed"))
