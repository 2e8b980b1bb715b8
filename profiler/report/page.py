"""Puts the page together: one HTML file with style, scripts and data inside, which asks no network for anything.

Names and texts are data (JSON in a script element, packed columns) and reach the screen only through textContent and
fillText; the content security policy of the page forbids every request. (It allows eval: the chart library and browser
automation use it, and nothing of the data is ever handed to it.)
"""

from __future__ import annotations

import html
from importlib import resources
from pathlib import Path
from typing import Any

from profiler.report.pack import packed_text
from profiler.report.scene import as_json
from profiler.report.words import words

# In this order in the page; each has one idea.
SCRIPTS = (
    "text.js",
    "theme.js",
    "data.js",
    "view.js",
    "layout.js",
    "curves.js",
    "draw.js",
    "marks.js",
    "path.js",
    "arrows.js",
    "overview.js",
    "pick.js",
    "details.js",
    "stats.js",
    "search.js",
    "findings.js",
    "charts.js",
    "verdict.js",
    "interact.js",
    "main.js",
)


def write_page(out: Path, title: str, facts: dict[str, Any], columns: str, charts: list[dict[str, Any]], lang: str) -> Path:
    """Write the page: facts as JSON, columns as packed by scene(), charts as made by charts(); no charts, no plotly inside."""
    known = words(lang)
    parts = {
        "TITLE": html.escape(title),
        "STYLE": _asset("timeline.css"),
        "LANG": lang,
        "NOSCRIPT": html.escape(known["noscript"]),
        "FACTS": as_json({**facts, "title": title, "words": known}),
        "COLUMNS": columns,
        "CHARTS": as_json(charts),
        "PLOTLY": _plotly() if charts else "",
        "SCRIPT": "\n".join(f"// ---- {name}\n{_asset(name)}" for name in SCRIPTS),
    }
    pieces = _asset("timeline.html").split("@@")
    # Odd pieces are the places: filled in one pass, so that a name in the data that looks like a place stays a name.
    text = "".join(parts[piece] if n % 2 else piece for n, piece in enumerate(pieces))
    out.write_bytes(text.encode("utf-8", "replace"))
    return out


def _plotly() -> str:
    from profiler.report.charts import plotly_js

    return packed_text(plotly_js())


def _asset(name: str) -> str:
    return resources.files("profiler.report").joinpath("assets", name).read_text(encoding="utf-8")
