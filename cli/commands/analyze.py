"""msprof analyze: what a profile says, and what each cure would gain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from profiler.findings import Report

SEVERITIES = ("critical", "warning", "note")


def analyze(
    path: Annotated[str, typer.Argument(help="A PROF folder, its parent, or a single profile file.")],
    as_json: Annotated[bool, typer.Option("--json", help="The same facts as JSON.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also findings below the note level.")] = False,
    lang: Annotated[str, typer.Option("--lang", help="Language of the texts: en or zh.")] = "en",
    fail_on: Annotated[
        str, typer.Option("--fail-on", help="Exit with 1 if a finding is at least this severe: critical, warning, note.")
    ] = "",
) -> None:
    """Say where the time goes, in the order to look: framework and graph, host, copies, operators, communication."""
    from profiler import open as open_trace
    from profiler.analysis import analyze as judge
    from profiler.texts import LANGUAGES
    from profiler.trace import Unreadable

    _one_of("--lang", lang, LANGUAGES)
    _one_of("--fail-on", fail_on, ("", *SEVERITIES))
    try:
        trace = open_trace(path)
    except Unreadable as error:
        print(f"{error.what}\n{error.next}", file=sys.stderr)
        raise typer.Exit(2) from error
    reports = [judge(part, everything) for part in (trace, *trace.parts)]
    _print(reports, as_json, lang)
    if fail_on and any(SEVERITIES.index(f.severity) <= SEVERITIES.index(fail_on) for r in reports for f in r.findings if not f.cause):
        raise typer.Exit(1)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(k for k in known if k)}", param_hint=option)


def _print(reports: list[Report], as_json: bool, lang: str) -> None:
    """The first report is that of the path itself; other processes or ranks found there follow as parts."""
    if as_json:
        import json

        from profiler.report.json_report import to_json

        first, *rest = (to_json(r) for r in reports)
        print(json.dumps(first | {"parts": rest}, ensure_ascii=False, indent=1))
        return
    from rich.console import Console

    from profiler.report.terminal import print_report

    console = Console()
    for number, report in enumerate(reports):
        if number:
            console.print()
        print_report(report, console, lang)
