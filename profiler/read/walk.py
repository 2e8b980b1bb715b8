"""Looking for profiles below a folder, a few levels deep and never without end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

DEPTH = 4  # parent / node / rank / profile
MOST = 20_000  # folders looked at


def below(path: Path, is_place: Callable[[Path], bool], depth: int = DEPTH) -> list[Path]:
    """Folders at or below a path that are what is looked for, by name; nothing is looked for inside a found one."""
    found: list[Path] = []
    level, looked = [path], 0
    for _ in range(depth):
        following = []
        for folder in level:
            looked += 1
            if looked > MOST:
                return sorted(found)
            if is_place(folder):
                found.append(folder)
            else:
                following += folders(folder)
        level = following
    return sorted(found)


def folders(path: Path) -> list[Path]:
    """Direct subfolders; links are followed only to files, so that no circle is walked."""
    try:
        with os.scandir(path) as entries:
            return [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    except OSError:
        return []


def files(path: Path) -> list[Path]:
    """Direct files; [] for a folder that is not there or may not be read."""
    try:
        with os.scandir(path) as entries:
            return [Path(e.path) for e in entries if e.is_file()]
    except OSError:
        return []
