"""`msprof report`: the whole analysis as one HTML page, with the timeline its findings point into."""

from __future__ import annotations

from cli.commands.timeline import Charts, Open, Out, Source, make_page
from cli.options import Force, Lang
from cli.terminal import free_path, language


def report(
    source: Source, output: Out = None, open: Open = False, charts: Charts = True, lang: Lang = None, force: Force = False
) -> None:
    """Write one self-contained page to read and hand on: what was looked at, findings with advice, where each step's time
    went, charts, and the timeline with the critical path."""
    from profiler.report.timeline import write_report

    make_page(write_report, source, free_path(output, "report.html", force), language(lang), charts, open)
