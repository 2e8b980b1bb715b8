"""A comparison as text, as a Markdown table for a review page, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu.units import duration
from profiler import texts
from profiler.findings import Comparison, Difference
from profiler.report.json_report import SCHEMA, TOOL

ROWS_MOST = 12  # rows shown to people; JSON has all


def lines(made: Comparison, lang: str = "en") -> Iterator[str]:
    """Verdict, layers, and the rows that changed most, as text."""
    yield f"A {made.a}"
    yield f"B {made.b}"
    yield ""
    yield _verdict(made, lang)
    yield ""
    width = max(len(_word(d.layer, lang)) for d in made.layers)
    for layer in made.layers:
        yield f"  {_word(layer.layer, lang):<{width}}  {_change(layer)}{_mark(layer, lang)}"
    if made.rows:
        yield ""
        yield _word("rows", lang)
    for row in made.rows[:ROWS_MOST]:
        yield f"  {_word(row.layer, lang)}: {row.name}"
        yield f"    {_change(row)}  {_reason(row, lang)}"
    if len(made.rows) > ROWS_MOST:
        yield f"  {_word('more', lang).format(count=len(made.rows) - ROWS_MOST)}"


def markdown(made: Comparison, lang: str = "en") -> Iterator[str]:
    """The same as tables of GitHub's Markdown."""
    yield f"**{_verdict(made, lang)}**"
    yield ""
    yield f"A: `{made.a}`  "
    yield f"B: `{made.b}`"
    yield ""
    yield f"| {_word('layer', lang)} | A | B | B - A | |"
    yield "|---|---:|---:|---:|---|"
    for layer in made.layers:
        yield f"| {_word(layer.layer, lang)} | {_cells(layer)} | {_word(layer.kind, lang)} |"
    if not made.rows:
        return
    yield ""
    yield f"| {_word('what', lang)} | A | B | B - A | |"
    yield "|---|---:|---:|---:|---|"
    for row in made.rows[:ROWS_MOST]:
        name = row.name.replace("|", "\\|")
        yield f"| {_word(row.layer, lang)}: {name} | {_cells(row)} | {_reason(row, lang)} |"


def to_json(made: Comparison) -> dict[str, Any]:
    """Schema 1; times us per step."""
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "source": made.a,
        "compared": made.b,
        "missing": [{"what": what, "why": why} for what, why in made.missing],
        "verdict": made.kind,
        "wall": {
            "a_us": made.a_ns / 1000,
            "b_us": made.b_ns / 1000,
            "change": made.change,
            "noise_us": None if made.noise is None else made.noise / 1000,
            "a_steps": made.a_steps,
            "b_steps": made.b_steps,
        },
        "layers": [_json(d) for d in made.layers],
        "findings": [_json(d) for d in made.rows],
    }


def _json(row: Difference) -> dict[str, Any]:
    return {
        "layer": row.layer,
        "name": row.name,
        "kind": row.kind,
        "a_us": row.a_ns / 1000,
        "b_us": row.b_ns / 1000,
        "a_count": row.a_count,
        "b_count": row.b_count,
        "a_path_us": row.a_path_ns / 1000,
        "b_path_us": row.b_path_ns / 1000,
    }


def _verdict(made: Comparison, lang: str) -> str:
    noise = _word("no_noise", lang) if made.noise is None else _word("noise", lang).format(noise=duration(made.noise))
    unit = _word("step" if made.a_steps and made.b_steps else "sums" if made.sums else "whole", lang)
    return _word(f"is_{made.kind}", lang).format(
        unit=unit, a=duration(made.a_ns), b=duration(made.b_ns), change=f"{made.change * 100:+.1f} %", noise=noise
    )


def _signed(ns: int) -> str:
    return f"{'-' if ns < 0 else '+'}{duration(abs(ns))}"


def _change(row: Difference) -> str:
    return f"{duration(row.a_ns):>9} -> {duration(row.b_ns):>9}  {_signed(row.b_ns - row.a_ns):>10}"


def _cells(row: Difference) -> str:
    return f"{duration(row.a_ns)} | {duration(row.b_ns)} | {_signed(row.b_ns - row.a_ns)}"


def _mark(layer: Difference, lang: str) -> str:
    return f"  {_word('same', lang)}" if layer.kind == "same" else ""


def _reason(row: Difference, lang: str) -> str:
    """Why the row changed, and how much of it is on the critical path."""
    each = [duration(ns / count) if count else "-" for ns, count in ((row.a_ns, row.a_count), (row.b_ns, row.b_count))]
    said = _word(f"why_{row.kind}", lang).format(a=f"{row.a_count:g}", b=f"{row.b_count:g}", a_each=each[0], b_each=each[1])
    path = row.b_path_ns - row.a_path_ns
    return said + (texts.label("word", "comma", lang) + _word("path", lang).format(path=_signed(path)) if path else "")


def _word(name: str, lang: str) -> str:
    return texts.label("compare", name, lang)
