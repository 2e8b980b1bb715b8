"""msprof analyze: what a profile says, and what each cure would gain."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.common import CliError
from cli.options import Json, Lang

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiler.findings import Finding, JointReport, Report
    from profiler.ranks.places import Place
    from profiler.read.bench import Reference

    Bench = Mapping[str, Reference]
    Reports = list[tuple[int | None, Report]]


PIPE_WIDTH = 10_000  # a pipe gets whole lines, as grep wants them


class Severity(StrEnum):
    critical = "critical"
    warning = "warning"
    note = "note"


def analyze(
    path: Annotated[str, typer.Argument(help="A PROF folder, its parent, or a single profile file.")],
    json: Json = False,
    all: Annotated[bool, typer.Option("--all", help="Also findings below the note level, and the tables of --views.")] = False,
    views: Annotated[
        bool, typer.Option("--views", help="Also the tables behind the findings: operators, gaps, queues, links ...")
    ] = False,
    latency: Annotated[bool, typer.Option("--latency", help="Also how long iterations take, and what the slow ones do.")] = False,
    lang: Lang = None,
    ranks: Annotated[
        str | None, typer.Option("--ranks", help="Only these ranks of a folder of many: 0-7,12.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, help="Ranks judged at once, one profile in memory each. Default: one per core.", show_default=False
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Judge the ranks on a Dask cluster: tcp://HOST:PORT.", show_default=False),
    ] = None,
    bench: Annotated[
        list[str] | None,
        typer.Option("--bench", help="What hccl_test reached: all_reduce=FILE. Slower collectives are said.", show_default=False),
    ] = None,
    fail_on: Annotated[
        Severity | None, typer.Option("--fail-on", help="Exit with 1 if a finding is at least this severe.", show_default=False)
    ] = None,
) -> int:
    """Say where the time goes, in the order to look: framework and graph, host, copies, operators, communication."""
    chosen = _chosen(ranks)
    places = _places(path, chosen)
    measured = _measured(bench or [])
    if len(places) <= 1 and scheduler is None and chosen is None:
        reports, joint = _whole(path, all, views or all, measured)
    else:
        reports, joint = _each(places, chosen, jobs, scheduler, all, views or all, measured)
    if json:
        _print_json([report for _, report in reports], joint)
    else:
        _print_text(reports, joint, lang, latency)
    together = joint.findings if joint is not None else ()
    return int(fail_on is not None and (_severe(together, fail_on) or any(_severe(r.findings, fail_on) for _, r in reports)))


def _chosen(ranks: str | None) -> set[int] | None:
    from profiler.ranks.places import ranks_of

    if ranks is None:
        return None
    try:
        return ranks_of(ranks)
    except ValueError as error:
        raise CliError(f"--ranks {ranks}: {error} is no rank and no range of ranks", "write it like --ranks 0-7,12") from None


def _places(path: str, chosen: set[int] | None) -> list[Place]:
    """The profiles at a path; [] where only opening it can tell what is wrong with it."""
    from pathlib import Path

    from profiler.ranks.places import places
    from profiler.report.ranks_text import ranges

    try:
        found = places(Path(path)) if Path(path).exists() else []
    except (OSError, ValueError):
        return []
    kept = [p for p in found if chosen is None or p.rank is None or p.rank in chosen]
    if found and not kept:
        here = ranges([p.rank for p in found if p.rank is not None])
        raise CliError(f"none of the ranks asked for is in {path}", f"it holds profiles of rank {here}")
    return kept


def _measured(options: list[str]) -> Bench:
    """Operation (without underscores) -> what was measured of it."""
    from pathlib import Path

    from profiler.read.bench import read

    made = {}
    for option in options:
        operation, given, file = option.partition("=")
        kind = operation.lower().replace("_", "").removesuffix("test")
        if not given or not kind.isalpha():
            raise CliError(f"--bench {option}: no operation with a file", "write it like --bench all_reduce=all_reduce.txt")
        made[kind] = read(Path(file))
    return made


def _whole(path: str, all: bool, views: bool, bench: Bench) -> tuple[Reports, JointReport | None]:
    """One profile; a table of sums over ranks has a joint report of its own."""
    from profiler import open as open_trace
    from profiler.analysis import analyze as judge
    from profiler.analysis.ranks.joint import joint
    from profiler.analysis.ranks.summary import from_sums

    trace = open_trace(path)
    for part in (trace, *trace.parts):
        part.meta["bench"] = bench
    reports: Reports = [(part.meta.get("rank"), judge(part, all, views)) for part in (trace, *trace.parts)]
    sums = from_sums(trace)
    return reports, joint(sums) if len(sums) > 1 else None


def _each(
    places: list[Place],
    chosen: set[int] | None,
    jobs: int | None,
    scheduler: str | None,
    all: bool,
    views: bool,
    bench: Bench,
) -> tuple[Reports, JointReport | None]:
    from cli.progress import counted
    from profiler.ranks.job import judged
    from profiler.ranks.runners import runner

    run = runner(sum(p.bytes for p in places), jobs, scheduler)
    with counted("ranks") as progress:
        found, joint = judged(places, run, all, views, chosen, progress, bench)
    return [(one.rank, one.report) for one in found if one.report is not None], joint


def _severe(findings: Sequence[Finding], least: Severity) -> bool:
    order = list(Severity)
    return any(order.index(Severity(f.severity)) <= order.index(least) for f in findings if not f.cause)


def _print_json(reports: list[Report], joint: JointReport | None) -> None:
    """The report of the path itself; other processes or ranks found there follow in it as parts, what ranks say together as
    job."""
    import json

    from profiler.report.json_report import joint_json, to_json

    first, *rest = (to_json(r) for r in reports)
    together = {} if joint is None else {"job": joint_json(joint)}
    print(json.dumps(first | {"parts": rest} | together, ensure_ascii=False, indent=1))


def _print_text(reports: Reports, joint: JointReport | None, lang: Lang, latency: bool) -> None:
    from rich.console import Console

    from cli.terminal import language
    from profiler.report.ranks_text import print_joint, print_ranks
    from profiler.report.terminal import print_report

    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    if joint is not None:
        print_joint(joint, console, language(lang))
        ranked = [(rank, report) for rank, report in reports if rank is not None]
        print_ranks(ranked, joint, console, language(lang), latency)
        return
    for number, (_, report) in enumerate(reports):
        if number:
            console.print()
        print_report(report, console, language(lang), latency)
