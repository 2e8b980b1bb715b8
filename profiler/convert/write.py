"""Events of timelines as one Chrome JSON that every viewer takes.

What is done to them: times become small numbers relative to a zero (the unix time of which stands in the metadata), ids of
arrows and of asynchronous ranges are numbered anew, pids that collide or are no 32-bit numbers get new ones, metadata comes
first. Records that cannot be true (no time, negative or endless duration) are left out and counted.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import msgspec
import numpy as np

from npu.units import us3
from profiler.convert.timeline import Timeline
from profiler.export.files import whole
from profiler.read import times
from profiler.read.events_json import Event
from profiler.read.raw_events import NONE, Raw
from profiler.trace import Array

WEEK = 7 * 24 * 3600 * 10**9  # ns; a longer slice is a broken record
MOST = (1 << 31) - 1  # Perfetto keeps process and thread ids in signed 32 bits
PAIRED = "stfbne"  # phases whose ids are numbered anew: arrows, asynchronous ranges


@dataclass
class Placed:
    """One timeline as it goes into the file: rows kept, ns added to its times."""

    timeline: Timeline
    keep: Array
    shift: int = 0
    pids: dict[Any, int] = field(default_factory=dict)
    renumbered: list[tuple[Any, int]] = field(default_factory=list)  # pid as it was, as it is now

    @property
    def left_out(self) -> int:
        """Events that are not written."""
        return int(len(self.keep) - self.keep.sum())


def usable(raw: Raw) -> Array:
    """Mask of the rows that can be true: all but slices that are not sound, and events without a time that need one."""
    keep: Array = (raw.start != NONE) | (raw.phase == "M")
    ranges = raw.slices
    sound = raw.sound
    sound = sound[raw.length[sound] <= WEEK]
    bad = np.setdiff1d(ranges, sound)
    keep[bad] = False
    lost = set(bad.tolist())
    for end, begin in raw.begun_at.items():
        if begin in lost:
            keep[end] = False
    return keep


def number_pids(placed: Sequence[Placed]) -> None:
    """Give every process a pid of its own: the first that has one keeps it, later ones get the next free number."""
    taken: set[int] = set()
    wanted = {p for part in placed for p in part.timeline.raw.pids if isinstance(p, int)}
    following = 1
    for part in placed:
        for pid in part.timeline.raw.pids:
            new = pid if isinstance(pid, int) and 0 <= pid <= MOST and pid not in taken else None
            if new is None:
                while following in taken or following in wanted:
                    following += 1
                new = following
                part.renumbered.append((pid, new))
            taken.add(new)
            part.pids[pid] = new


def write(path: Path, placed: Sequence[Placed], replace: bool = False) -> int:
    """Write the file (gzip for a name in .gz) and give the number of events in it. Pids must be numbered."""
    zero = min((first for part in placed if (first := _first(part)) is not None), default=0)
    with whole(path, replace) as out:
        if path.suffix == ".gz":
            out.flush()
            with gzip.open(out.buffer, "wb", compresslevel=5) as packed, io.TextIOWrapper(packed, "utf-8") as text:
                return _write(text, placed, zero)
        return _write(out, placed, zero)


def _first(part: Placed) -> int | None:
    rows = np.flatnonzero(part.keep & (part.timeline.raw.phase != "M"))
    return int(part.timeline.raw.start[rows].min()) + part.shift if len(rows) else None


def _write(out: TextIO, placed: Sequence[Placed], zero: int) -> int:
    count = 0
    out.write('{"traceEvents":[')
    ids: dict[tuple[int, str, str], int] = {}
    for lines in (*map(_metadata, placed), *(_events(number, part, zero, ids) for number, part in enumerate(placed))):
        for line in lines:
            out.write(("\n" if not count else ",\n") + line)
            count += 1
    offset = placed[0].timeline.unix_minus_clock or 0
    about = {"clock": "relative to the first event", "unix_minus_clock_us": float(us3(offset - placed[0].shift + zero))}
    ranks = [p.timeline.label for p in placed]
    # as text too: a double of today's microseconds keeps a quarter of one only
    about |= {"unix_zero_ns": str(offset - placed[0].shift + zero), "sources": ranks}
    out.write(f'\n],"displayTimeUnit":"ns","metadata":{json.dumps(about, ensure_ascii=False)}}}\n')
    return count


def _metadata(part: Placed) -> Iterator[str]:
    raw = part.timeline.raw
    labelled = {e.pid for e in raw.metadata if e.name == "process_labels"}
    numbers = {pid: number for number, pid in enumerate(raw.pids)}
    kept = set(raw.pid[part.keep & (raw.phase != "M")].tolist())
    for event in raw.metadata:
        if numbers.get(event.pid) in kept:
            yield _line(event, part, None, None, None)
    for number in sorted(kept):
        pid = raw.pids[number]
        if len(part.renumbered) and pid not in labelled:
            yield json.dumps(
                {"ph": "M", "name": "process_labels", "pid": part.pids[pid], "tid": 0, "args": {"labels": part.timeline.label}}
            )


def _events(number: int, part: Placed, zero: int, ids: dict[tuple[int, str, str], int]) -> Iterator[str]:
    row = 0
    keep, start, phase = part.keep, part.timeline.raw.start, part.timeline.raw.phase
    for some in part.timeline.chunks():
        end = row + len(some)
        wanted = keep[row:end] & (phase[row:end] != "M")
        at = (start[row:end] + (part.shift - zero)).tolist()
        for place in np.flatnonzero(wanted).tolist():
            event = some[place]
            new = None
            if event.ph in PAIRED and event.id is not None:
                new = ids.setdefault((number, f"{event.ph in 'bne'}{event.cat}", str(event.id)), len(ids) + 1)
            yield _line(event, part, at[place], event.dur, new)
        row = end


def _line(event: Event, part: Placed, at: int | None, length: Any, new_id: int | None) -> str:
    """One event as JSON. Times are numbers of us with three decimals."""
    text = msgspec.json.encode
    tid = event.tid if isinstance(event.tid, int) and 0 <= event.tid <= MOST else _small(event.tid)
    made = [f'{{"ph":"{event.ph}","name":{text(event.name).decode()},"pid":{part.pids.get(event.pid, event.pid)},"tid":{tid}']
    if event.cat:
        made.append(f'"cat":{text(event.cat).decode()}')
    if at is not None:
        made.append(f'"ts":{us3(at)}')
    if event.ph == "X":
        made.append(f'"dur":{us3(times.one(0 if length is None else length))}')
    if new_id is not None:
        made.append(f'"id":{new_id}')
    for name, value in (("bp", event.bp), ("s", event.s)):
        if value is not None:
            made.append(f'"{name}":{text(value).decode()}')
    args = bytes(event.args)
    if args not in (b"null", b"{}", b""):
        made.append(f'"args":{args.decode("utf-8", "replace")}')
    return ",".join(made) + "}"


def _small(tid: Any) -> int:
    """A thread number for a text or a huge number: stable, above those the system gives."""
    return (1 << 30) + zlib.crc32(str(tid).encode()) % (1 << 29)
