"""`msprof merge`: several traces as one file, on one clock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.common import CliError
from cli.options import Force, Lang
from cli.say import say
from cli.terminal import free_path, language, written

if TYPE_CHECKING:
    from profiler.convert.align import Shift
    from profiler.convert.timeline import Timeline

FAR = 60 * 10**9  # ns between the end of one and the beginning of another, after alignment: hardly one run
AGREE = 1_000_000  # ns; clocks set by NTP agree to about a millisecond


def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="A B...", help="Trace files or profile folders.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .json or .json.gz.")],
    marker: Annotated[str, typer.Option("--marker", help="Name of a mark or range that all have: they are laid on it.")] = "",
    offset: Annotated[
        list[str] | None,
        typer.Option("--offset", metavar="TIME", help="Added to the times of B (once for each file after A): 12ms, -3.5us."),
    ] = None,
    force: Force = False,
    lang: Lang = None,
) -> int:
    """Merge traces: clocks aligned by a marker, unix time or collectives; every process gets a pid of its own."""
    from npu.units import duration
    from profiler.convert.align import clock_shift, shifts, silence
    from profiler.convert.timeline import load
    from profiler.convert.write import Placed, number_pids, usable, write
    from profiler.trace import Unreadable

    timelines: list[Timeline] = []
    failed: list[Unreadable] = []
    for source in sources:
        try:
            timelines += load(source)
        except Unreadable as error:
            failed.append(error)
    if failed and (len(timelines) < 2 or offset):
        raise failed[0]
    if len(timelines) < 2:
        raise CliError("there is one trace only", "name two or more: msprof merge A B -o merged.json")
    given = _offsets(offset or [], len(timelines) - 1, bool(marker))
    path = free_path(output, "merged.json", force)
    found = shifts(timelines, marker, given)
    placed = [Placed(t, usable(t.raw), s.ns) for t, s in zip(timelines, found, strict=True)]
    number_pids(placed)
    count = write(path, placed, replace=force)
    tongue = language(lang).value
    there = [s for s in sources if s.exists()]
    for again in [s for at, s in enumerate(there) if any(s.samefile(o) for o in there[:at])]:
        print(f"msprof: {say('merge', 'twice', tongue, source=again)}", file=sys.stderr)
    for left in failed:
        print(f"msprof: {say('merge', 'skipped', tongue, what=left.what)}", file=sys.stderr)
    for part, shift in zip(placed, found, strict=True):
        print(_shifted(part.timeline.label, timelines[0].label, shift, tongue))
        clock = clock_shift(timelines[0], part.timeline) if shift.by == "marker" else None
        if clock is not None:
            apart = abs(clock - shift.ns)
            _say("clocks_agree" if apart < AGREE else "clocks_differ", tongue, apart=apart)
        for old, new in part.renumbered:
            print(say("merge", "pid", tongue, label=part.timeline.label, old=old, new=new))
        for what, why in part.timeline.raw.problems:
            print(say("merge", "problem", tongue, label=part.timeline.label, what=what, why=why))
        if part.left_out:
            print(say("merge", "left_out", tongue, label=part.timeline.label, count=part.left_out))
    gap = silence(timelines, found)
    if gap > FAR:
        print(f"msprof: {say('merge', 'apart', tongue, apart=duration(gap))}", file=sys.stderr)
    if any(s.by == "start" for s in found):
        print(f"msprof: {say('merge', 'unsure', tongue)}", file=sys.stderr)
    print(say("merge", "done", tongue, count=f"{count:,}", files=len(placed)))
    written(path)
    return 0


def _offsets(texts: list[str], wanted: int, marker: bool) -> list[int]:
    from npu.units import parse_duration

    if texts and marker:
        raise CliError("--offset and --marker exclude each other", "leave one of them out")
    if texts and len(texts) != wanted:
        raise CliError(f"{len(texts)} --offset for {wanted} traces after the first", "give one for each of them, in their order")
    try:
        return [parse_duration(t) for t in texts]
    except ValueError as error:
        raise CliError(f"--offset: {error}", "give a number with its unit: ns, us, ms, s, min, h or d") from error


def _shifted(label: str, first: str, shift: Shift, lang: str) -> str:
    """One line: by how much a trace was moved, and why."""
    from npu.units import us3

    facts = {
        "label": label, "first": first, "shift": f"{'+' if shift.ns >= 0 else ''}{us3(shift.ns)} us", "name": shift.name,
        "pairs": shift.pairs, "spread": f"{us3(shift.spread)} us",
    }  # fmt: skip
    line = say("merge", shift.by, lang, **facts)
    if shift.drift is not None and abs(shift.drift) >= 0.05:
        line += say("merge", "drift", lang, drift=f"{shift.drift:.1f}")
    return line


def _say(key: str, lang: str, apart: int) -> None:
    from npu.units import duration

    print(say("merge", key, lang, apart=duration(apart)))
