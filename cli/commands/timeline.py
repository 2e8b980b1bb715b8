"""`msprof timeline`: one HTML page with lanes, findings and charts."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Force, Lang
from cli.terminal import Language, free_path, language, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiler.findings import Finding

Source = Annotated[str, typer.Argument(metavar="DIR", help="A PROF folder, its parent, or a single profile file.")]
Out = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.", show_default=False)]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
Charts = Annotated[bool, typer.Option(help="Summary charts; without them the page is 2 MB smaller.")]


def timeline(source: Source, output: Out = None, open: Open = False, charts: Charts = True, lang: Lang = None, force: Force = False) -> None:
    """Write one self-contained page: zoomable lanes, findings that jump to their place, time by operator and API."""
    path = free_path(output, "timeline.html", force)
    from profiler import open as open_trace
    from profiler.analysis import analyze
    from profiler.report.timeline import write_timeline

    trace = open_trace(source)
    made = write_timeline(trace, analyze(trace), path, _texts(lang), str(trace.source.name), charts=charts)
    show(made, open)


def _texts(lang: Language | None) -> Callable[[Finding], tuple[str, str]]:
    from profiler.texts import advice, claim

    chosen = language(lang)
    return lambda finding: (claim(finding, chosen), advice(finding, chosen))


def show(path: Path, browser: bool) -> None:
    """Say where the page lies; open it when that was asked for."""
    written(path)
    if browser:
        webbrowser.open(path.absolute().as_uri())
