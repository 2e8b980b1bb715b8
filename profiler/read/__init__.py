"""Readers: one module a layout, each `places(path)` and `read(path) -> Trace`. A reader never fails on a missing part."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from profiler.trace import Missing, Trace, Unreadable

WHERE = "give a PROF_* or *_ascend_pt folder, the folder that holds it, or a profile file"
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".xz", ".7z", ".bz2", ".rar")
PACKED = ((b"PK\x03\x04", "zip"), (b"\xfd7zXZ", "xz"), (b"7z\xbc\xaf", "7z"), (b"BZh", "bzip2"))


def open_trace(path: str | PathLike[str]) -> Trace:
    """The Trace of what lies at a path: a profile folder of any of the tools, its parent, or a single file.

    Several captures or ranks become parts: the first, by rank and then by name, is the Trace itself, the others stand in its
    `parts`; every one knows the ranks present (meta["ranks"]) and the world size. Parts that cannot be read are listed in the
    `missing` of the first. Unreadable, when nothing could be read, says what is there and what to do.
    """
    place = Path(path)
    try:
        there = place.exists()
    except (OSError, ValueError) as error:
        raise Unreadable(f"{place} is no usable path ({error})", WHERE) from error
    if not there:
        raise Unreadable(
            f"there is no {place}", "check the path; msprof run writes PROF_* folders into --output or the current folder"
        )
    from profiler.read.detect import find

    try:
        found = find(place)
    except PermissionError as error:
        raise Unreadable(f"{place} may not be read", "check its rights") from error
    if not found:
        raise Unreadable(_seen(place), _unpack(place) or WHERE)
    traces: list[Trace] = []
    failed: list[Unreadable] = []
    for read, where in found:
        try:
            traces.append(read(where))
        except Unreadable as error:
            failed.append(error)
    if not traces:
        raise (
            failed[0]
            if len(failed) == 1
            else Unreadable(f"none of {len(failed)} profiles can be read: {failed[0].what}", failed[0].next)
        )
    first = _together(traces, lone=len(found) == 1)
    first.missing += [Missing(e.what, e.next) for e in failed]
    return first


def _together(traces: list[Trace], lone: bool) -> Trace:
    """Several traces as one with parts, in order of their ranks."""
    from profiler.read.about import rank_in
    from profiler.read.loose import assume_rank

    real = [t for t in traces if not t.meta.get("simulated")]
    for trace in real:
        named = rank_in(trace.source.name)
        if "rank" not in trace.meta and named is not None:
            trace.meta["rank"] = named
    if lone and real and "rank" not in real[0].meta and real[0].meta.get("generator") in ("chrome", "torch_npu", "msprof"):
        assume_rank(real[0])
    ranks = [t.meta.get("rank") for t in traces]
    if all(isinstance(r, int) for r in ranks):
        traces = sorted(traces, key=lambda t: int(t.meta["rank"]))
        known = sorted({int(r) for r in ranks if isinstance(r, int)})
        for trace in real:
            trace.meta["ranks"] = known
            if len(traces) > 1 or (trace.meta.get("rank_assumed") and not trace.comm):  # one rank alone may be one of many
                trace.meta.setdefault("world_size", len(known))
    first, *rest = traces
    first.parts = rest
    return first


def _unpack(place: Path) -> str:
    """What to do with archives; "" where there are none."""
    names = sorted(p.name for p in place.iterdir()) if place.is_dir() else []
    packed = next((n for n in names if n.lower().endswith(ARCHIVES)), "")
    return f"unpack {packed} first, then give the folder it makes" if packed else ""


def _seen(place: Path) -> str:
    if place.is_dir():
        names = sorted(p.name for p in place.iterdir())
        if not names:
            return f"the folder {place} is empty"
        return f"no profile that can be read lies in {place} (it holds {', '.join(names[:3])}{' ...' if len(names) > 3 else ''})"
    with place.open("rb") as stream:
        head = stream.read(8)
    if not head:
        return f"{place} is empty (0 bytes)"
    packed = next((kind for magic, kind in PACKED if head.startswith(magic)), "")
    return f"{place} is a {packed} archive: unpack it first" if packed else f"{place} is no profile that can be read"
