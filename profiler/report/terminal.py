"""A report on the terminal: header, the five lines, where the time goes, findings by recoverable time, joint gain, trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from npu.units import duration
from profiler import texts
from profiler.findings import Breakdown, Finding, Idle, Report
from profiler.report import latency as latencies
from profiler.report.model_errors import sentence
from profiler.report.view_table import view_lines
from profiler.report.whatif import quality

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {"critical": "bold red", "warning": "yellow", "note": "cyan"}
STATES = {"fine": "green", "findings": "yellow", "not_measured": "dim"}
PARTS = ("preparing", "computing", "communication_not_overlapped", "copies", "idle", "tail")
INDENT = " " * 3
STACKS = 2  # different ways to a finding's calls that are shown
IDLE_SHARE, BOUND_SHARE = 0.03, 0.10  # of the window: from where idle time is explained, and called host-bound
HOST_BOUND = 0.5  # of the idle time
UNLINKED = 0.5  # of the idle time; with more of it nobody can be blamed
REASONS_MOST = 4
WIDEST = 120  # columns; longer lines of prose are hard to read


def print_report(report: Report, console: Console, lang: str = "en", latency: bool = False) -> None:
    """Print a report. The console decides on colours and width (it honours NO_COLOR and pipes); terminals wider than WIDEST
    columns are not filled. latency: show how long iterations take even when they are alike."""
    from rich.text import Text

    width = min(console.width, WIDEST) if console.is_terminal else console.width
    for prefix, text in _lines(report, lang, latency):
        margin = _width(prefix)
        for number, line in enumerate(text.wrap(console, max(20, width - margin))):
            line.rstrip()
            line = Text(prefix if number == 0 else " " * margin) + line
            line.rstrip()
            console.print(line, soft_wrap=True, highlight=False)
    for view in report.views:
        for row in view_lines(view, lang):
            cut = Text(row)
            cut.truncate(console.width, overflow="ellipsis")  # a wrapped table has no columns
            console.print(cut, soft_wrap=True, highlight=False)


def _lines(report: Report, lang: str, latency: bool) -> Iterator[tuple[str, Text]]:
    """(what stands before the first line, text) of every paragraph."""
    from rich.text import Text

    yield "", Text(_header(report, lang), style="bold")
    if report.rows:
        comma = texts.label("word", "comma", lang)
        counted = comma.join(f"{texts.label('table', name, lang)} {count:,}" for name, count in report.rows.items())
        total = f"{sum(report.rows.values()):,}"
        yield "", Text(texts.label("word", "rows", lang).format(total=total, rows=counted), style="dim")
    yield "", Text("")
    width = max(_width(texts.label("layer", line.layer, lang)) for line in report.checklist) if report.checklist else 0
    for number, line in enumerate(report.checklist, 1):
        name = texts.label("layer", line.layer, lang)
        gap = " " * (width - _width(name) + 2)
        yield f"{number} {name}{gap}", Text(texts.checked(line, lang), style=STATES[line.state])
    for device, records in groupby(report.breakdown, key=lambda b: b.device):
        yield "", Text("")
        for prefix, text in _breakdown(device, list(records), report.steps, lang):
            yield prefix, Text(text)
        yield from (("  ", Text(t)) for i in report.idle if i.device == device for t in _idle(i, report, lang))
    yield "", Text("")
    yield "", Text(texts.label("word", "findings" if report.findings else "no_findings", lang), style="bold")
    number = 0
    for finding in report.findings:
        if finding.cause:
            said = f"{_head('because', lang)}[{finding.id}] {texts.claim(finding, lang)}"
            yield INDENT, Text(said, style="dim")
            continue
        number += 1
        yield from _finding(number, finding, report, lang)
    if latency or latencies.speaks(report.latency):
        yield "", Text("")
        yield from (("", Text(t)) for t in latencies.lines(report.latency, lang))
    yield from ((t[: len(t) - len(t.lstrip())], Text(t.lstrip())) for t in _closing(report, lang))


def _head(word: str, lang: str) -> str:
    """A word that opens a line, with its colon."""
    return texts.label("word", word, lang) + texts.label("word", "colon", lang)


def _width(text: str) -> int:
    """Columns a text takes; wide characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def _header(report: Report, lang: str) -> str:
    meta = report.meta
    chip = str(meta.get("soc", ""))
    if meta.get("simulated"):
        chip += f" ({texts.label('word', 'simulated', lang)})"
    kind = texts.label("step", str(meta.get("step_kind", "none")), lang)
    steps = texts.label("word", "steps" if report.steps else "no_steps", lang).format(count=report.steps, kind=kind)
    comma = texts.label("word", "comma", lang)
    window = f"{texts.label('word', 'window', lang)} {duration(report.length)}{comma}{steps}"
    if not report.rows and report.window[1] <= report.window[0]:
        window = texts.label("word", "no_rows", lang)
    warm_up = meta.get("warm_up", 0)
    if report.steps and warm_up:
        window += comma + texts.label("word", "warm_up", lang).format(count=warm_up)
    if report.ignored.ranges:
        window += comma + texts.ignored(report.ignored, lang)
    return "  ".join(part for part in (report.source, chip, window) if part)


def _breakdown(device: int, records: Sequence[Breakdown], steps: int, lang: str) -> Iterator[tuple[str, str]]:
    """A heading and the parts of the mean step, each with its share; the parts sum to the wall time."""
    heading = texts.label("word", "breakdown" if steps else "breakdown_span", lang).format(device=device, count=len(records))
    parts = []
    for name in PARTS:
        values = [getattr(r, name) for r in records]
        if None not in values:
            parts.append((name, sum(values) / len(values)))
    whole = sum(value for _, value in parts)
    yield "", f"{heading}{texts.label('word', 'colon', lang)}{duration(whole)}"
    shown = [(texts.label("word", name, lang), value) for name, value in parts if value]
    width = max((_width(name) for name, _ in shown), default=0)
    for name, value in shown:
        yield "  ", f"{name}{' ' * (width - _width(name))}  {duration(value):>8}  {texts.percent(value / whole):>6}"


def _idle(idle: Idle, report: Report, lang: str) -> Iterator[str]:
    """Why the device was idle; said to be host-bound where that is much of the window and mostly the host's doing."""
    window = max(1, report.length)
    if idle.time < IDLE_SHARE * window:
        return
    comma = texts.label("word", "comma", lang)
    reasons = comma.join(
        f"{texts.label('reason', name, lang)} {duration(ns)}" for name, ns in list(idle.reasons.items())[:REASONS_MOST]
    )
    if idle.reasons.get("unlinked", 0) > UNLINKED * idle.time:
        yield texts.label("word", "idle_unknown", lang).format(idle=duration(idle.time), share=texts.percent(idle.time / window))
        return
    bound = "host_bound" if idle.host >= HOST_BOUND * idle.time and idle.time >= BOUND_SHARE * window else "idle_because"
    yield texts.label("word", bound, lang).format(
        idle=duration(idle.time),
        share=texts.percent(idle.time / window),
        host=texts.percent(idle.host / idle.time),
        reasons=reasons,
    )


def _finding(number: int, finding: Finding, report: Report, lang: str) -> Iterator[tuple[str, Text]]:
    from rich.text import Text

    window = report.length
    severity = (texts.label("severity", finding.severity, lang), STYLES[finding.severity])
    yield f"{number}. ", Text.assemble(severity, "  ", (texts.title(finding, lang), "bold"), (f"  [{finding.id}]", "dim"))
    yield INDENT, Text(texts.claim(finding, lang))
    if finding.sites:
        yield INDENT, Text(f"{_head('at', lang)}{', '.join(finding.sites)}")
    callers = dict.fromkeys(e.stack.partition("\n")[2] for e in finding.evidence)
    for frames in [c for c in callers if c][:STACKS]:
        yield INDENT, Text(f"{_head('called', lang)}{' < '.join(frames.splitlines())}")
    if finding.gain is not None:
        yield INDENT, Text(f"{_head('gain', lang)}{texts.gain(finding.gain, window, lang)}")
    yield INDENT, Text(f"{_head('do', lang)}{texts.advice(finding, lang)}")
    for setting in finding.settings:
        yield INDENT, Text(f"{_head('setting', lang)}{texts.setting(setting, lang)}")


def _closing(report: Report, lang: str) -> Iterator[str]:
    window = report.length
    if report.joint is not None:
        yield ""
        yield texts.label("word", "joint", lang).format(gain=texts.gain(report.joint, window, lang))
    if report.quality is not None:
        yield quality(report.quality, lang)
    if report.model_errors:
        yield sentence(report.model_errors, lang)
    if report.missing:
        yield ""
        yield _head("missing", lang).rstrip()
        yield from (f"  {what}: {why}" for what, why in report.missing)
    if report.unjudged:
        yield ""
        yield _head("unjudged", lang).rstrip()
        for lack in report.unjudged:
            rules = texts.label("word", "comma", lang).join(lack.rules)
            yield "  " + texts.label("word", "needs", lang).format(
                need=texts.label("need", lack.need, lang), switch=lack.switch, rules=rules
            )
