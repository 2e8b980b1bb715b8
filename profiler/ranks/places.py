"""Which profiles lie at a path, and of which rank each is, before any of them is read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from profiler.read.about import rank_in
from profiler.read.detect import Read, find
from profiler.read.own import FOLDER, META

INFO = re.compile(r"profiler_info_(\d+)\.json")


class Place(NamedTuple):
    """A profile: how and where it is read. rank: None where only reading it can tell. bytes: of its files."""

    read: Read
    path: Path
    rank: int | None
    bytes: int


def places(path: Path, ranks: Collection[int] | None = None) -> list[Place]:
    """Profiles at or below a path, by rank and name. `ranks`: without those known to be of other ranks."""
    found = [Place(read, where, rank_of(where), size_of(where)) for read, where in find(path)]
    if ranks is not None:
        found = [p for p in found if p.rank is None or p.rank in ranks]
    return sorted(found, key=lambda p: (p.rank is None, p.rank or 0, str(p.path)))


def rank_of(place: Path) -> int | None:
    """The rank a profile's own description or name tells."""
    own = place / FOLDER / META
    if own.is_file():
        try:
            value = json.loads(own.read_text(encoding="utf-8")).get("rank")
        except (OSError, ValueError, AttributeError):
            return None
        return value if isinstance(value, int) else None
    if place.is_dir():
        for info in sorted(place.glob("profiler_info_*.json")):
            if told := INFO.fullmatch(info.name):
                return int(told[1])
    return rank_in(place.name)


def size_of(place: Path) -> int:
    """Bytes of all files of a profile; 0 where nothing may be read."""
    if place.is_file():
        return place.stat().st_size
    total = 0
    for path in place.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def ranks_of(text: str) -> set[int]:
    """'0-7,12' -> {0, ..., 7, 12}. ValueError names what is no rank."""
    chosen: set[int] = set()
    for piece in text.split(","):
        told = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", piece)
        if told is None or (told[2] is not None and int(told[2]) < int(told[1])):
            raise ValueError(piece.strip() or text)
        chosen |= set(range(int(told[1]), int(told[2] or told[1]) + 1))
    return chosen
