"""Which layout lies at a path: an explicit list of readers, asked in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from profiler.read import cluster, loose, msprof, own, torch_npu
from profiler.trace import Trace

Read = Callable[[Path], Trace]


class Layout(NamedTuple):
    """One layout: the places at or below a path that hold it, and how one place is read."""

    name: str
    places: Callable[[Path], list[Path]]
    read: Read


# Own captures lie inside folders of the real layout, msprof folders inside those of torch_npu: the more exact comes first.
LAYOUTS: tuple[Layout, ...] = (
    Layout("own capture", own.places, own.read),
    Layout("torch_npu or MindSpore profile", torch_npu.places, torch_npu.read),
    Layout("msprof folder", msprof.places, msprof.read),
    Layout("cluster analysis", cluster.places, cluster.read),
    Layout("single files", loose.places, loose.read),
)


def find(path: Path) -> list[tuple[Read, Path]]:
    """Readers and places for all that lies at a path: the first layout that knows any of it."""
    for layout in LAYOUTS:
        places = layout.places(path)
        if places:
            return [(layout.read, p) for p in places]
    return []
