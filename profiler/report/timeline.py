"""The timeline page and the report page: one self-contained HTML file each, from the same parts.

The timeline page is the timeline with the findings beside it; the report page begins with the checklist, the findings, the
breakdown and the charts and has the timeline below.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from profiler.findings import Report
from profiler.report.page import write_page
from profiler.report.scene import scene
from profiler.report.verdict import Texts, verdict
from profiler.report.words import say
from profiler.trace import Trace


def write(
    form: str,
    trace: Trace,
    report: Report | None,
    out: Path,
    texts: Texts,
    title: str = "",
    *,
    charts: bool = True,
    path: Sequence[tuple[str, int]] = (),
    lang: str = "en",
) -> Path:
    """Write a page about a trace (and its parts) to `out` and give the path back.

    form: "timeline" or "report". report: findings to show beside it; None shows the events alone. texts gives (claim, advice) of
    a finding. title: as the browser's tab says it; the trace's source by default. charts=False leaves plotly out and makes the
    page 2 MB smaller. path: the critical path to mark, as (table, row) in its order. lang: of the page's own words.
    """
    facts, columns = scene(trace, None if report is None else report.window, path, lang)
    facts["form"] = form
    facts["report"] = None if report is None else verdict(report, facts["base"], texts, lang)
    facts["about"] = _about(trace, lang)
    facts["missing"] = [list(m) for m in trace.missing]
    figures = []
    if charts:
        from profiler.report.charts import charts as make

        figures = make(trace, report, lang)
    return write_page(out, title or trace.source.name or "trace", facts, columns, figures, lang)


write_timeline = partial(write, "timeline")
write_report = partial(write, "report")


def _about(trace: Trace, lang: str) -> list[str]:
    """What the head of the page says of the trace: chip, toolkit, how many processes, simulated or measured, losses."""
    meta = trace.meta
    versions = meta.get("versions")
    cann = versions.get("cann") if isinstance(versions, dict) else None
    words = [
        str(meta["soc"]) if meta.get("soc") else "",
        f"CANN {cann}" if cann else "",
        say("about.processes", lang, count=len(trace.parts) + 1) if trace.parts else "",
        say("about.simulated", lang) if meta.get("simulated") else "",
        say("about.lost", lang, count=meta["lost"]) if meta.get("lost") else "",
    ]
    return [w for w in words if w]
