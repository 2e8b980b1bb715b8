"""Summary charts as plotly figures: time by operator, time by host call, and where each step's time went.

Only sums reach plotly (it needs 22 s to show 100,000 bars); single rows are the timeline's work.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from npu.units import duration
from profiler.findings import Report
from profiler.report.category import categories
from profiler.report.words import say
from profiler.trace import Array, Columns, Strings, Trace

TOP = 15
LABEL = 32  # characters of a name on an axis
# The parts of a step in the order they are stacked, with the colour token of the page's style sheet.
# (plotly's own check refuses CSS variables, so the token travels as the bar's meta.)
PARTS = (
    ("computing", "part.computing", "--part-compute"),
    ("communication_not_overlapped", "chart.communication", "--part-comm"),
    ("copies", "part.copies", "--part-copy"),
    ("idle", "part.idle", "--part-idle"),
)


def charts(trace: Trace, report: Report | None, lang: str = "en") -> list[dict[str, Any]]:
    """Charts that have something to show: {title, figure}, figure as plotly's JSON. Times within the report's window."""
    window = trace.span() if report is None else report.window
    made = [
        _top(say("chart.operators", lang), trace, "task", _work(trace), window, lang),
        _top(say("chart.calls", lang), trace, "api", np.ones(len(trace.api), bool), window, lang),
        _steps(report, lang),
    ]
    return [chart for chart in made if chart is not None]


def plotly_js() -> str:
    """The chart library as the installed plotly brings it (4.8 MB)."""
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text


def totals(rows: Columns, category: Array, window: tuple[int, int], names: Strings) -> list[tuple[str, int, int]]:
    """(category, ns inside the window, rows) by falling time; rows that touch the window count with the part inside."""
    if not rows:
        return []
    inside = np.minimum(rows["end"], window[1]) - np.maximum(rows["start"], window[0])
    inside = np.where((rows["end"] >= window[0]) & (rows["start"] <= window[1]), np.maximum(inside, 0), -1)
    seen = inside >= 0
    time = np.bincount(category[seen], weights=inside[seen], minlength=len(names))
    count = np.bincount(category[seen], minlength=len(names))
    order = np.argsort(-time, kind="stable")
    return [(names[int(i)], int(time[i]), int(count[i])) for i in order if count[i]]


def plain(text: str) -> str:
    """A name as plotly must get it to show it letter by letter: plotly reads <b>, <a href> and entities in labels."""
    short = re.sub(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", "\ufffd", text[: LABEL + 1])
    short = short if len(text) <= LABEL else short[: LABEL - 1] + "\u2026"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _work(trace: Trace) -> Array:
    return trace.tasks_of("kernel", "aicpu")


def _top(title: str, trace: Trace, table: str, mask: Array, window: tuple[int, int], lang: str) -> dict[str, Any] | None:
    import plotly.graph_objects as go

    rows: Columns = getattr(trace, table)
    if not mask.any():
        return None
    rows, names = rows.take(mask), Strings()
    found = [line for line in totals(rows, categories(table, rows, trace.strings, names, lang), window, names) if line[1]]
    if not found:
        return None
    whole = sum(t for _, t, _ in found) or 1
    shown, rest = found[:TOP], found[TOP:]
    if rest:
        shown = [*shown, (say("chart.more", lang, count=len(rest)), sum(t for _, t, _ in rest), sum(n for _, _, n in rest))]
    # Positions instead of names on the axis: two names that look alike when cut must stay two bars.
    place = list(range(len(shown)))
    figure = go.Figure(
        go.Bar(
            x=[t / 1e6 for _, t, _ in shown],
            y=place,
            orientation="h",
            text=[duration(t) for _, t, _ in shown],
            textposition="outside",
            cliponaxis=False,
            customdata=[say("chart.share", lang, share=f"{100 * t / whole:.1f} %", count=f"{n:,}") for _, t, n in shown],
            hovertemplate="%{customdata}<extra></extra>",
            meta="--accent",
        )
    )
    figure.update_layout(
        xaxis={"title": {"text": "ms"}, "range": [0, 1.5 * max(t for _, t, _ in shown) / 1e6 or 1]},
        yaxis={"tickvals": place, "ticktext": [plain(n) for n, _, _ in shown], "autorange": "reversed", "showgrid": False},
        bargap=0.28,
        showlegend=False,
    )
    return _chart(title, figure, 60 + 22 * len(shown))


def _steps(report: Report | None, lang: str) -> dict[str, Any] | None:
    import plotly.graph_objects as go

    if report is None or not report.breakdown:
        return None
    rows = report.breakdown[:60]
    several = len({(r.rank, r.device) for r in rows}) > 1
    place = list(range(len(rows)))
    label = [say("verdict.row.rank", lang, step=r.step, rank=r.rank) if several else str(r.step) for r in rows]
    figure = go.Figure(
        [
            go.Bar(
                name=say(title, lang),
                x=place,
                y=[getattr(r, field) / 1e6 for r in rows],
                meta=colour,
                hovertemplate="%{y:.3f} ms<extra>" + say(title, lang) + "</extra>",
            )
            for field, title, colour in PARTS
        ]
    )
    every = max(1, len(rows) // 12)
    figure.update_layout(
        barmode="stack",
        yaxis={"title": {"text": "ms"}},
        bargap=0.25,
        xaxis={"title": {"text": say("chart.step", lang)}, "tickvals": place[::every], "ticktext": label[::every]},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    )
    return _chart(say("chart.steps", lang), figure, 360, top=60)


def _chart(title: str, figure: Any, height: int, top: int = 8) -> dict[str, Any]:
    # The page brings its own colours (light and dark), so plotly's 7 kB template is left out.
    figure.update_layout(template=None, height=height, margin={"l": 10, "r": 8, "t": top, "b": 40})
    figure.update_yaxes(automargin=True)
    made: dict[str, Any] = figure.to_plotly_json()
    return {"title": title, "figure": made}
