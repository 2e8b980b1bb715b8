"""`msprof timeline`: one HTML page with lanes, findings and charts. `msprof report` writes its page with the same words."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Force, Lang
from cli.terminal import Language, free_path, language, written

if TYPE_CHECKING:
    from profiler.findings import Finding

Source = Annotated[str, typer.Argument(metavar="DIR", help="A PROF folder, its parent, or a single profile file.")]
Out = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.", show_default=False)]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
Charts = Annotated[bool, typer.Option(help="Summary charts; without them the page is 2 MB smaller.")]


def timeline(
    source: Source, output: Out = None, open: Open = False, charts: Charts = True, lang: Lang = None, force: Force = False
) -> None:
    """Write one self-contained page: zoomable lanes, findings that jump to their place, time by operator and API."""
    from profiler.report.timeline import write_timeline

    make_page(write_timeline, source, free_path(output, "timeline.html", force), language(lang), charts, open)


def make_page(write: Callable[..., Path], source: str, path: Path, lang: Language, charts: bool, browser: bool) -> None:
    """Analyse what lies at `source`, write its page with one of profiler.report.timeline's functions, say where it lies and
    show it in the browser if that is wanted."""
    from profiler import open as open_trace
    from profiler.analysis import analyze_with_path

    trace = open_trace(source)
    report, critical = analyze_with_path(trace)
    written(write(trace, report, path, texts(lang), trace.source.name, charts=charts, path=critical, lang=lang))
    if browser:
        webbrowser.open(path.absolute().as_uri())


def texts(lang: Language) -> Callable[[Finding], tuple[str, str]]:
    """(claim, advice) of a finding in a language."""
    from profiler.texts import advice, claim

    return lambda finding: (claim(finding, lang), advice(finding, lang))
