"""The graph report for people: lines for the terminal, and the same as one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from cli.say import say
from npu.units import duration as time_text
from npu.units import size as size_text

if TYPE_CHECKING:
    from npu.graph.report import GraphReport, Line

SHOWN = 15  # kernels without --all
NAME_WIDTH = 46


def head(report: GraphReport, lang: str) -> Iterator[str]:
    """What it is, and what it is predicted to take, against the unfused model."""
    kind = say("graph", report.kind, lang, count=report.gears)
    yield say(
        "graph",
        "title",
        lang,
        path=report.path,
        kernels=len(report.lines),
        soc=report.soc,
        cann=report.cann,
        precision=report.precision,
        kind=kind,
    )
    after = report.after
    yield say("graph", "result", lang, duration=time_text(after.duration), kernels=after.kernels, bytes=size_text(after.bytes))
    before = report.before
    if before is None:
        yield say("graph", "not_compared", lang)
    else:
        share = f"{1 - after.duration / before.duration:.0%}" if before.duration else "0 %"
        yield say(
            "graph",
            "compared",
            lang,
            duration=time_text(before.duration),
            kernels=before.kernels,
            bytes=size_text(before.bytes),
            share=share,
        )


def sections(report: GraphReport, lang: str) -> Iterator[tuple[str, list[str]]]:
    """(heading, lines): fused, not fused, conversions, memory."""
    made = []
    for name, count in sorted(report.fusions.items(), key=lambda f: -f[1]):
        made.append(say("graph", "fusion", lang, count=count, name=name))
        example = next((k for k in report.lines if name in k.fused_by), None)
        if example is not None:
            made.append("  " + say("graph", "example", lang, kernel=example.op_type, origin=" + ".join(example.origin)))
    yield say("graph", "fused", lang), made or [say("graph", "fused_none", lang)]
    yield (
        say("graph", "unfused", lang),
        [say("graph", "reason", lang, fusion=u.fusion, reason=u.reason, count=u.count, node=u.nodes[0]) for u in report.unfused]
        or [say("graph", "unfused_none", lang)],
    )
    yield say("graph", "conversions", lang), [say("graph", "conversion", lang, **report.conversions)]
    memory = {n: size_text(v) for n, v in report.memory.items()}
    facts = {"feature_map": "0 B", "weights": "0 B", "workspace": "0 B", "in_place": "0 B", **memory}
    key = "memory_none" if report.reuse is None else "memory_line"
    yield (
        say("graph", "memory", lang),
        [
            say("graph", key, lang, **facts, saved=memory.get("reuse_saved", "0 B"), rate=f"{report.reuse or 0:.0%}"),
            say("graph", "streams", lang, streams=report.streams, events=report.events),
        ],
    )


def kernels(report: GraphReport, all: bool) -> tuple[list[Line], int]:
    """The kernels that take longest, and how many are left out."""
    ordered = sorted(report.lines, key=lambda k: -k.duration)
    shown = ordered if all else ordered[:SHOWN]
    return shown, len(ordered) - len(shown)


def lines(report: GraphReport, lang: str, all: bool = False) -> Iterator[str]:
    """The whole report as lines."""
    yield from head(report, lang)
    for heading, told in sections(report, lang):
        yield ""
        yield heading
        yield from (f"  {line}" for line in told)
    yield ""
    yield say("graph", "kernels", lang)
    shown, left = kernels(report, all)
    for kernel in shown:
        share = kernel.duration / report.after.duration if report.after.duration else 0.0
        name = kernel.name if len(kernel.name) <= NAME_WIDTH else kernel.name[: NAME_WIDTH - 3] + "..."
        yield f"  {time_text(kernel.duration):>10} {share:6.1%}  {kernel.op_type:<22} {kernel.task_type:<14} {name}"
    if left:
        yield "  " + say("graph", "more", lang, count=left)


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;
padding:0 1rem;color:#1b1f24}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:1.6rem}table{border-collapse:collapse;width:100%}
td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #dde1e6;vertical-align:top}
td.n{text-align:right;white-space:nowrap}
.bar{background:#3b78c3;height:.7rem;min-width:1px}li.sub{list-style:none;color:#57606a}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#e3e6ea}td,th{border-color:#333a42}}"""


def page(report: GraphReport, lang: str) -> str:
    """One HTML page without scripts or links."""

    def item(line: str) -> str:
        sub = ' class="sub"' if line.startswith("  ") else ""
        return f"<li{sub}>{escape(line.strip())}</li>"

    parts = [f"<p>{escape(line)}</p>" for line in head(report, lang)]
    for heading, told in sections(report, lang):
        parts += [f"<h2>{escape(heading)}</h2><ul>", *(item(line) for line in told), "</ul>"]
    columns = "".join(f"<th>{escape(say('graph', c, lang))}</th>" for c in ("kernel", "type", "unit", "time", "share", "origin"))
    parts.append(f"<h2>{escape(say('graph', 'kernels', lang))}</h2><table><tr>{columns}</tr>")
    longest = max((k.duration for k in report.lines), default=1)
    for kernel in kernels(report, True)[0]:
        width = round(100 * kernel.duration / longest)
        origin = escape(" + ".join(kernel.origin)) + "".join(f"<br><small>{escape(p)}</small>" for p in kernel.fused_by)
        parts.append(
            f"<tr><td>{escape(kernel.name)}</td><td>{escape(kernel.op_type)}</td><td>{escape(kernel.task_type)}</td>"
            f'<td class="n">{time_text(kernel.duration)}</td><td><div class="bar" style="width:{width}%"></div></td>'
            f"<td>{origin}</td></tr>"
        )
    parts.append("</table>")
    title = escape(say("graph", "page", lang, name=Path(report.path).name))
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head>'
        f"<body><h1>{title}</h1>{''.join(parts)}</body></html>\n"
    )
