"""Defects of profile folders: raw data nobody exported, empty files, several exports, ranks that are missing or twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from profiler.check.defect import ERROR, NOTE, WARNING, Defect, some
from profiler.read import raw_folders, walk
from profiler.read.folder import NAME, SUFFIXES, stem_of
from profiler.trace import Trace

APART, FAR = 10**9, 10  # ns, and times the longest profile: profiles of one job do not lie further apart
SHORT = 0.5  # of the median span: a rank that ran less was cut short


def profile_files(path: Path) -> list[Path]:
    """Files with the suffix of a profile at a path, a few levels deep, by name."""
    if path.is_file():
        return [path]
    folders, found = [path], list[Path]()
    for _ in range(walk.DEPTH + 1):
        found += [f for d in folders for f in walk.files(d) if f.name.lower().endswith(SUFFIXES)]
        folders = [below for d in folders for below in walk.folders(d)]
    return sorted(found)


def not_exported(path: Path) -> Iterator[Defect]:
    """Result folders that hold only what the collector wrote."""
    for found in raw_folders.find(path):
        if found.exported:
            continue
        if found.devices or found.host:
            yield Defect("raw_only", ERROR, str(found.path), 1, {"path": found.path})
        else:
            yield Defect("nothing_collected", ERROR, str(found.path), 1)
        if not found.ended:
            yield Defect("not_ended", WARNING, str(found.path), 1)


def empty_files(path: Path) -> Iterator[Defect]:
    """Files of a profile that hold nothing."""
    empty = [p for p in profile_files(path) if p.stat().st_size == 0]
    if empty:
        names = [str(p.relative_to(path)) if path.is_dir() else p.name for p in empty]
        yield Defect("empty_file", ERROR, str(path), len(empty), {}, some(names))


def several_exports(path: Path) -> Iterator[Defect]:
    """Files of one kind with different stamps beside one another: exports of different times."""
    stamps: dict[tuple[Path, str], set[str]] = {}
    for file in profile_files(path):
        found = NAME.fullmatch(stem_of(file))
        if found and found["stamp"]:
            stamps.setdefault((file.parent, found["kind"] + file.suffix), set()).add(found["stamp"])
    mixed = {folder: s for (folder, _), s in stamps.items() if len(s) > 1}
    for folder, found_stamps in mixed.items():
        yield Defect("several_exports", NOTE, str(folder), len(found_stamps), {"newest": max(found_stamps)})


def slices_apart(path: Path) -> Iterator[Defect]:
    """Numbered slices with a number missing between them."""
    numbers: dict[tuple[Path, str, str], set[int]] = {}
    for file in profile_files(path):
        found = NAME.fullmatch(stem_of(file))
        if found and found["slice"]:
            numbers.setdefault((file.parent, found["kind"], found["stamp"] or ""), set()).add(int(found["slice"]))
    for (folder, kind, _), have in numbers.items():
        lost = sorted(set(range(max(have) + 1)) - have)
        if lost:
            yield Defect("slice_missing", ERROR, str(folder), len(lost), {"kind": kind}, some([str(n) for n in lost]))


def ranks(traces: list[Trace]) -> Iterator[Defect]:
    """Ranks there twice, not there although the world is larger, or much shorter than the others."""
    known = [t.meta.get("rank") for t in traces]
    numbers = [r for r in known if isinstance(r, int)]
    twice = sorted(r for r, count in Counter(numbers).items() if count > 1)
    where = str(traces[0].source.parent if len(traces) > 1 else traces[0].source)
    if twice:
        yield Defect("rank_twice", WARNING, where, len(twice), {}, some([str(r) for r in twice]))
    if len(traces) > 1 and numbers:
        world = max([max(numbers) + 1, *(int(t.meta["world_size"]) for t in traces if isinstance(t.meta.get("world_size"), int))])
        lost = sorted(set(range(world)) - set(numbers))
        if lost:
            yield Defect("rank_missing", WARNING, where, len(lost), {"world": world}, tuple(str(r) for r in lost[:8]))
    yield from _clocks(traces, where)
    spans = sorted(t.span()[1] - t.span()[0] for t in traces)
    if len(spans) > 1:
        usual = spans[len(spans) // 2]
        short = [t for t in traces if t.span()[1] - t.span()[0] < SHORT * usual]
        if short:
            names = some([f"rank {t.meta['rank']}" if isinstance(t.meta.get("rank"), int) else t.source.name for t in short])
            yield Defect("rank_short", WARNING, where, len(short), {"usual_ns": usual}, names)


def _clocks(traces: list[Trace], where: str) -> Iterator[Defect]:
    """Profiles that lie far apart in time: each on the clock of its own machine."""
    spans = sorted(
        (s + int(t.meta.get("unix_zero_ns", 0)), e + int(t.meta.get("unix_zero_ns", 0))) for t in traces for s, e in [t.span()]
    )
    longest = max(e - s for s, e in spans)
    gaps = [b[0] - a[1] for a, b in pairwise(spans)]
    if gaps and max(gaps) > max(APART, FAR * longest):
        yield Defect("clocks_apart", WARNING, where, len(traces), {"gap_ns": max(gaps)})
