"""Several ranks on the terminal: one table of them, what they say together, then one rank for all that look alike and those that
differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npu.units import duration
from profiler import texts
from profiler.findings import JointReport, RankRow, Report, View
from profiler.report.terminal import INDENT, STYLES, print_report
from profiler.report.view_table import view_lines

if TYPE_CHECKING:
    from rich.console import Console

ROWS_MOST = 32  # ranks in the table; of more, those that differ most from the median
DIFFERING_MOST = 4  # reports of ranks that differ; the others are named
FAR = 0.1  # of the median step: a rank whose step is that much longer or shorter differs


def print_joint(joint: JointReport, console: Console, lang: str) -> None:
    """The table of ranks and the joint findings."""
    from rich.text import Text

    head = texts.label("ranks", "head", lang).format(count=len(joint.ranks), step=duration(joint.step))
    console.print(Text(head, style="bold"), soft_wrap=True, highlight=False)
    rows = [_columns(r) for r in _far_first(joint)]
    known = [n for n in rows[0] if any(row[n] is not None for row in rows)]
    view = View("rank_table", tuple({n: row[n] for n in known} for row in rows), len(joint.ranks))
    for row in view_lines(view, lang, ROWS_MOST):
        console.print(row, soft_wrap=True, highlight=False, markup=False)
    console.print()
    console.print(Text(texts.label("ranks", "joint" if joint.findings else "none", lang), style="bold"), highlight=False)
    for number, finding in enumerate(joint.findings, 1):
        severity = (texts.label("severity", finding.severity, lang), STYLES[finding.severity])
        title = (texts.title(finding, lang), "bold")
        lines = [Text.assemble(f"{number}. ", severity, "  ", title, (f"  [{finding.id}]", "dim"))]
        colon = texts.label("word", "colon", lang)
        lines.append(Text(INDENT + texts.claim(finding, lang)))
        if finding.gain is not None:
            gain = texts.gain(finding.gain, joint.step, lang)
            lines.append(Text(f"{INDENT}{texts.label('word', 'gain', lang)}{colon}{gain}"))
        lines.append(Text(f"{INDENT}{texts.label('word', 'do', lang)}{colon}{texts.advice(finding, lang)}"))
        for line in lines:
            console.print(line, soft_wrap=not console.is_terminal, highlight=False)
    if joint.meetings:
        said = texts.label("ranks", "meetings", lang).format(count=joint.meetings)
        console.print(Text(said), soft_wrap=not console.is_terminal, highlight=False)
    if joint.failed:
        console.print(Text(texts.label("ranks", "failed", lang)), highlight=False)
        for path, why in joint.failed:
            console.print(Text(f"  {path}: {why}"), soft_wrap=True, highlight=False)


def print_ranks(reports: Sequence[tuple[int, Report]], joint: JointReport, console: Console, lang: str, latency: bool) -> None:
    """One report for the ranks that look alike, then those of ranks that differ."""
    from rich.text import Text

    alike, differing = split(reports, joint)
    if alike:
        rank, report = alike[0]
        named = ranges([r for r, _ in alike])
        console.print(
            Text("\n" + texts.label("ranks", "alike", lang).format(ranks=named, rank=rank), style="bold"), highlight=False
        )
        print_report(report, console, lang, latency)
    differing = [
        (rank, report) for rank, report in differing if report.findings or report.breakdown
    ]  # sums say all they know above
    for rank, report in differing[:DIFFERING_MOST]:
        console.print(Text("\n" + texts.label("ranks", "differs", lang).format(rank=rank), style="bold"), highlight=False)
        print_report(report, console, lang, latency)
    if rest := differing[DIFFERING_MOST:]:
        said = texts.label("ranks", "more", lang).format(count=len(rest), ranks=ranges([r for r, _ in rest]))
        console.print(Text("\n" + said), soft_wrap=True, highlight=False)


def split(reports: Sequence[tuple[int, Report]], joint: JointReport) -> tuple[list[tuple[int, Report]], list[tuple[int, Report]]]:
    """(ranks that look alike, ranks that differ).

    A rank differs when a joint finding names it, when its findings above notes are not those of most ranks, or when its step is
    FAR from the median.
    """
    steps = sorted(r.step_ns for r in joint.ranks)
    usual = steps[len(steps) // 2]
    far = {r.rank for r in joint.ranks if abs(r.step_ns - usual) > FAR * usual}
    kinds = {rank: frozenset(f.id for f in report.findings if f.severity != "note" and not f.cause) for rank, report in reports}
    if not kinds:
        return [], []
    most, _ = Counter(kinds.values()).most_common(1)[0]
    odd = {rank for rank, kind in kinds.items() if kind != most or rank in far or rank in joint.named}
    return [p for p in reports if p[0] not in odd], [p for p in reports if p[0] in odd]


def ranges(ranks: Sequence[int]) -> str:
    """0, 1, 2, 5 -> '0-2, 5'."""
    made: list[list[int]] = []
    for rank in sorted(ranks):
        if made and rank == made[-1][1] + 1:
            made[-1][1] = rank
        else:
            made.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in made)


def _far_first(joint: JointReport) -> list[RankRow]:
    """All ranks, or, of more than fit, the named ones and those whose computing is farthest from the median; by rank."""
    rows = list(joint.ranks)
    if len(rows) <= ROWS_MOST:
        return rows
    usual = sorted(r.computing_ns for r in rows)[len(rows) // 2]
    rows.sort(key=lambda r: (r.rank not in joint.named, -abs(r.computing_ns - usual)))
    return sorted(rows[:ROWS_MOST], key=lambda r: r.rank)


def _columns(row: RankRow) -> dict[str, object]:
    return {
        "rank": row.rank,
        "step_ns": row.step_ns,
        "computing_ns": row.computing_ns,
        "communication_ns": row.communication_ns,
        "exposed_transfer_ns": row.transfer_ns,
        "waiting_ns": row.waiting_ns,
        "host_late_ns": row.host_ns,
        "mean_lag_ns": row.lag_ns,
        "last_share": row.last_share,
    }
