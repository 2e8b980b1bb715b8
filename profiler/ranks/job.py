"""Map: one rank's profile -> its report and a small summary. Reduce: all summaries -> the joint report.

A worker holds one rank's trace at a time and sends back what a report says of it, without the rows: peak memory is the number of
workers times the largest rank, plus some kilobytes a rank. Only where all profiles together are small (cures.MOST) are they then
read once more, side by side, so that gains on all ranks come from one replay of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from profiler.analysis.ranks.joint import joint
from profiler.analysis.ranks.summary import RankSummary, from_sums
from profiler.findings import JointReport, Report
from profiler.ranks.cures import MOST, cured
from profiler.ranks.places import Place
from profiler.ranks.runners import Runner
from profiler.read.bench import Reference
from profiler.trace import Trace, Unreadable


class Task(NamedTuple):
    """One profile to judge, with the ranks known to be present and how many profiles there are in all."""

    place: Place
    ranks: tuple[int, ...]
    profiles: int
    all_findings: bool
    views: bool
    bench: Mapping[str, Reference]


@dataclass(frozen=True)
class Judged:
    """What one profile says. summaries: of its rank (of several for a cluster's table of sums). failed: why it was not read."""

    path: Path
    rank: int | None
    report: Report | None
    summaries: tuple[RankSummary, ...]
    failed: tuple[str, str] = ("", "")


def judged(
    places: Sequence[Place],
    runner: Runner,
    all_findings: bool = False,
    views: bool = False,
    ranks: Collection[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
    bench: Mapping[str, Reference] | None = None,
) -> tuple[list[Judged], JointReport | None]:
    """Every profile judged, in order of ranks, and what they say together; None unless all of at least two tell their rank.

    ranks: only these. progress: called with how many are done, of how many. bench: see
    profiler.analysis.bench, by operation. Unreadable when none could be read.
    """
    known = tuple(sorted({p.rank for p in places if p.rank is not None}))
    tasks = [Task(p, known, len(places), all_findings, views, bench or {}) for p in places]
    made: list[Judged | None] = [None] * len(tasks)
    for done, (at, result) in enumerate(runner.run(judge, tasks), 1):
        made[at] = result
        if progress is not None:
            progress(done, len(tasks))
    found = [m for m in made if m is not None and (ranks is None or m.rank is None or m.rank in ranks)]
    good = [m for m in found if m.report is not None]
    failed = [m.failed for m in found if m.report is None]
    if not good:
        what, next = failed[0] if failed else ("they are of other ranks", "give --ranks of ranks that are there")
        raise Unreadable(f"none of {len(places)} profiles can be read: {what}" if len(places) > 1 else what, next)
    good.sort(key=lambda m: (m.rank is None, m.rank or 0, str(m.path)))
    first = good[0]
    if first.report is not None:
        good[0] = replace(first, report=replace(first.report, missing=(*first.report.missing, *failed)))
    summaries = [s for m in good for s in m.summaries if ranks is None or s.rank in ranks]
    names = [s.rank for s in summaries]
    twice = [n for n in names if names.count(n) > 1]
    if twice and good[0].report is not None:
        why = f"{names.count(twice[0])} profiles say they are rank {twice[0]}: each is judged alone; keep one of each rank"
        missing = (*good[0].report.missing, ("what the ranks say together", why))
        good[0] = replace(good[0], report=replace(good[0].report, missing=missing))
    if len(names) < 2 or twice:
        return [_plain(m) for m in good], None
    told = joint(summaries, failed)
    rows = [n for n, m in enumerate(good) if m.report is not None and m.report.rows.keys() & {"api", "task", "comm"}]
    if len(rows) > 1 and sum(_rows(m) for m in good) <= MOST:
        by_path = {t.place.path: t for t in tasks}
        reports = [r for n in rows if (r := good[n].report) is not None]
        changed, meetings = cured(reports, lambda n: _read(by_path[good[rows[n]].path]))
        for n, report in zip(rows, changed, strict=True):
            good[n] = replace(good[n], report=report)
        told = replace(told, meetings=meetings)
    return [_plain(m) for m in good], told


def judge(task: Task) -> Judged:
    """Read and judge one profile: the work of one worker."""
    from profiler.analysis.run import with_context

    place = task.place
    try:
        trace = _read(task)
    except Unreadable as error:
        return Judged(place.path, place.rank, None, (), (error.what, error.next))
    report, summary = with_context(trace, task.all_findings, task.views)
    rank = trace.meta.get("rank")
    sums = tuple(from_sums(trace))
    found = (summary,) if summary is not None and (trace.task or not sums) else sums
    made = Judged(place.path, rank if isinstance(rank, int) else None, report, found)
    return made if _rows(made) * task.profiles <= MOST else _plain(made)


def _read(task: Task) -> Trace:
    trace = task.place.read(task.place.path)
    trace.meta["bench"] = task.bench
    _place_in_job(trace, task)
    return trace


def _place_in_job(trace: Trace, task: Task) -> None:
    """The rank of its name, the ranks present, and how many there are at least: as reading all of them at once would tell."""
    if trace.meta.get("simulated"):
        return
    if "rank" not in trace.meta and task.place.rank is not None:
        trace.meta["rank"] = task.place.rank
    if task.ranks:
        trace.meta.setdefault("ranks", list(task.ranks))
        trace.meta.setdefault("world_size", task.profiles)


def _rows(made: Judged) -> int:
    return sum(made.report.rows.values()) if made.report is not None else 0


def _plain(made: Judged) -> Judged:
    """Without the rows of edits, which nobody needs after the joint replay."""
    if made.report is None:
        return made
    return replace(made, report=replace(made.report, findings=[replace(f, edits=()) for f in made.report.findings]))
