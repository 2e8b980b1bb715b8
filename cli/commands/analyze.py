"""msprof analyze: what a profile says, and what each cure would gain."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Json, Lang

if TYPE_CHECKING:
    from profiler.findings import Report


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
    fail_on: Annotated[
        Severity | None, typer.Option("--fail-on", help="Exit with 1 if a finding is at least this severe.", show_default=False)
    ] = None,
) -> int:
    """Say where the time goes, in the order to look: framework and graph, host, copies, operators, communication."""
    from profiler import open as open_trace
    from profiler.analysis import analyze as judge

    trace = open_trace(path)
    reports = [judge(part, all, views or all) for part in (trace, *trace.parts)]
    if json:
        _print_json(reports)
    else:
        _print_text(reports, lang, latency)
    return int(fail_on is not None and any(_fails(report, fail_on) for report in reports))


def _fails(report: Report, least: Severity) -> bool:
    order = list(Severity)
    return any(order.index(Severity(f.severity)) <= order.index(least) for f in report.findings if not f.cause)


def _print_json(reports: list[Report]) -> None:
    """The report of the path itself; other processes or ranks found there follow in it as parts."""
    import json

    from profiler.report.json_report import to_json

    first, *rest = (to_json(r) for r in reports)
    print(json.dumps(first | {"parts": rest}, ensure_ascii=False, indent=1))


def _print_text(reports: list[Report], lang: Lang, latency: bool) -> None:
    from rich.console import Console

    from cli.terminal import language
    from profiler.report.terminal import print_report

    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    for number, report in enumerate(reports):
        if number:
            console.print()
        print_report(report, console, language(lang), latency)
