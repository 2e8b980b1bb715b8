"""Result folders that hold what the collector wrote and not yet what people read: which ones lie at a path, and what they lack.

The collector's raw files can only be read by the toolkit's own exporter; here they are recognised, so that the missing step
can be named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from profiler.read import walk

PROF = re.compile(r"^PROF_\d{6}_\d{17}_\w+$")
FRAMEWORK = re.compile(r".*_ascend_(pt|ms)$")
OUTPUT, FRAMEWORK_OUTPUT = "mindstudio_profiler_output", "ASCEND_PROFILER_OUTPUT"
DEEPEST = 4  # folders by rank, node and job lie above the result folders
DEVICE = re.compile(r"^device_(\d+)$")


class RawFolder(NamedTuple):
    """kind: msprof (a PROF folder) or pt, ms (of a framework's profiler). exported: readable files are there.
    ended: the collection was stopped in an orderly way. devices: those with raw data; host: whether the host has raw data."""

    path: Path
    kind: str
    exported: bool
    ended: bool
    devices: tuple[int, ...]
    host: bool


def find(path: Path) -> list[RawFolder]:
    """Result folders at a path: the path itself, else those in it, by name, at the first of DEEPEST levels that has any. A
    framework's folder stands for the PROF folders inside it. Own captures are none."""
    places = [path] if path.is_dir() else []
    for _ in range(DEEPEST + 1):
        found = [f for f in map(_look, places) if f is not None]
        if found:
            return found
        places = sorted(inner for p in places[: walk.MOST] for inner in walk.folders(p))
    return []


def _look(folder: Path) -> RawFolder | None:
    match = FRAMEWORK.match(folder.name)
    inner = sorted(p for p in folder.glob("PROF_*") if PROF.match(p.name) and p.is_dir())
    if match is not None or (inner and (folder / "FRAMEWORK").is_dir()):
        raw = [_raw(p) for p in inner]
        devices = tuple(sorted({d for found, _ in raw for d in found}))
        # The profiler writes its own facts when it stops; the collector its end files.
        ended = any(folder.glob("profiler_info*.json")) and all(map(_ended, inner))
        kind = match[1] if match is not None else "pt"
        return RawFolder(folder, kind, _any_file(folder / FRAMEWORK_OUTPUT), ended, devices, any(host for _, host in raw))
    if not PROF.match(folder.name) or (folder / "npuscope").is_dir():
        return None
    found, host = _raw(folder)
    exported = (
        _any_file(folder / OUTPUT)
        or any(folder.glob("msprof_*.db"))
        or any(_any_file(p) for p in (*folder.glob("device_*/summary"), *folder.glob("device_*/timeline")))
    )
    return RawFolder(folder, "msprof", exported, _ended(folder), found, host)


def _raw(prof: Path) -> tuple[tuple[int, ...], bool]:
    """(devices, whether the host) with raw files."""
    matches = [(DEVICE.match(p.name), p) for p in prof.iterdir()]
    devices = sorted(int(m[1]) for m, p in matches if m is not None and _any_file(p / "data"))
    return tuple(devices), _any_file(prof / "host" / "data")


def _ended(prof: Path) -> bool:
    """Each side that was collected has its end file."""
    sides = [p for p in prof.iterdir() if p.is_dir() and (p.name == "host" or DEVICE.match(p.name))]
    return bool(sides) and all(any(p.glob("end_info*")) for p in sides)


def _any_file(folder: Path) -> bool:
    return folder.is_dir() and any(p.is_file() and p.stat().st_size for p in folder.iterdir())
