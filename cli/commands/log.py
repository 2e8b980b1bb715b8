"""`npu-diag log PATH...`: which fault came first, what followed from it, and what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.common import CliError
from cli.options import Json, Lang
from cli.terminal import Language, folded, language, paint

if TYPE_CHECKING:
    from diag.check import Checked
    from diag.log_report import Finding, LogReport
    from diag.plog import Line

SHOWN = 8  # what followed, lines
LINE = 300  # characters of a log line that are shown

LABELS = {
    Language.en: {
        "cause": "Cause", "at": "where", "line": "line", "facts": "facts", "then": "What followed (not the cause)",
        "codes": "Codes in the log", "do": "What to do", "commands": "Commands", "collect": "Collect next if that does not help",
        "notes": "Seen, but no fault", "read": "Read", "unread": "Not read", "by": "returned by {call}", "times": "{count} lines",
        "once": "1 line",
        "waited": "waited for: {ranks}", "differing": "calls something else: {ranks}", "rank": "rank {rank}",
        "silent": "no error at all from rank {ranks} of this job: look there",
        "fine": "No fault found in {files} files ({lines} lines, {warnings} warnings).",
        "counts": "{files} files, {lines} lines, {errors} error lines, {warnings} warnings", "more": "{count} more",
    },
    Language.zh: {
        "cause": "原因", "at": "位置", "line": "日志行", "facts": "事实", "then": "随后出现（不是原因）",
        "codes": "日志中的错误码", "do": "怎么做", "commands": "命令", "collect": "若未解决，下一步收集",
        "notes": "也出现了，但不是故障", "read": "已读", "unread": "未读", "by": "由 {call} 返回", "times": "{count} 行",
        "once": "1 行",
        "waited": "被等待的：{ranks}", "differing": "调用不同的：{ranks}", "rank": "rank {rank}",
        "silent": "本作业的 rank {ranks} 没有任何报错：先看那里",
        "fine": "在 {files} 个文件（{lines} 行，{warnings} 条警告）中没有发现故障。",
        "counts": "{files} 个文件，{lines} 行，{errors} 条错误，{warnings} 条警告", "more": "另有 {count} 项",
    },
}  # fmt: skip

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("log")
def log(
    path: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Log files (also gz) or folders, of one or more ranks.")],
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Find the first fault in plogs, device logs and console texts of one or more processes, and say what to do.

    Gives 0 when nothing is wrong, 1 when a cause was found, 2 when nothing could be read.
    """
    from diag.log_report import read

    report = read(path)
    if not report.files:
        why = "; ".join(f"{what}: {reason}" for what, reason in report.missing[:3])
        raise CliError(
            f"nothing to read in {report.source}" + (f" ({why})" if why else ""),
            "name a log file or folder, for example ~/ascend/log",
        )
    tongue = language(lang)
    host = _host(path) if report.cause is None or report.cause.cause == "follows" else None
    if json:
        import json as writer

        from diag.log_json import to_json
        from diag.report import to_json as host_to_json

        beside = {} if host is None else {"host": host_to_json(host, tongue.value)}
        print(writer.dumps(to_json(report, tongue.value) | beside, ensure_ascii=False, indent=1))
    else:
        lines = _lines(report, tongue)
        if host is not None:
            from diag.report import lines as of_host

            lines = [*of_host(host, tongue.value), "", *lines]
        print("\n".join(folded(lines) if sys.stdout.isatty() else lines))
    return int(report.cause is not None or host is not None)


def _host(paths: list[Path]) -> Checked | None:
    """A pasted session that is no log but says what is wrong with its host."""
    from diag.log_in_evidence import host

    return host(paths)


def _lines(report: LogReport, tongue: Language) -> list[str]:
    label = LABELS[tongue]
    lines = verdict(report, tongue) if report.cause is not None else [_fine(report, tongue)]
    if report.notes:
        lines += [f"{label['notes']}:", *(f"  - {_where(f, tongue)}" for f in report.notes)]
    counted = report.counted
    told = label["counts"].format(files=report.files, lines=counted.lines, errors=counted.errors, warnings=counted.warnings)
    lines.append(f"{label['read']}: " + "; ".join([told, *(f"{name} {value}" for name, value in report.facts.items())]))
    if report.missing:
        lines += [f"{label['unread']}:", *(f"  - {what}: {why}" for what, why in report.missing)]
    return lines


def _fine(report: LogReport, tongue: Language) -> str:
    counted = report.counted
    return LABELS[tongue]["fine"].format(files=report.files, lines=counted.lines, warnings=counted.warnings)


def verdict(report: LogReport, tongue: Language) -> list[str]:
    """Cause, what followed, codes and steps; nothing for logs without a fault."""
    from diag.log_text import said

    if report.cause is None:
        return []
    label, cause = LABELS[tongue], report.cause
    texts, first = said(cause, tongue.value), cause.lines[0]
    lines = [paint(f"{label['cause']}: {texts.title}", "bold") + f" [{cause.cause}]"]
    lines += [f"  {texts.meaning}"] if texts.meaning else []
    lines += [f"  {label['at']}: {_place(first)}", f"  {label['line']}: {_cut(first.text)}"]
    if texts.facts:
        lines.append(f"  {label['facts']}: " + ", ".join(f"{name} {value}" for name, value in texts.facts.items()))
    for name, counted in (("waited", report.waiting), ("differing", report.differing)):
        if counted:
            ranks = ", ".join(f"{label['rank'].format(rank=r)} ({_times(n, tongue)})" for r, n in counted.items())
            lines.append(f"  {label[name].format(ranks=ranks)}")
    if report.silent:
        lines.append(f"  {label['silent'].format(ranks=', '.join(map(str, report.silent)))}")
    lines += _followed(report, tongue)
    lines += [f"{label['do']}:", *(f"  {number}. {step}" for number, step in enumerate(texts.do, 1))]
    if texts.commands:
        lines += [f"{label['commands']}:", *(f"  {command}" for command in texts.commands)]
    if texts.collect:
        lines += [
            f"{label['collect']}:",
            *(f"  - {what}" + (f"  {command}" if command else "") for what, command in texts.collect),
        ]
    return lines


def _followed(report: LogReport, tongue: Language) -> list[str]:
    label, lines = LABELS[tongue], []
    if report.consequences:
        lines.append(f"{label['then']}:")
        lines += [f"  - {_where(f, tongue)}" for f in report.consequences[:SHOWN]]
        if len(report.consequences) > SHOWN:
            lines.append(f"  - {label['more'].format(count=len(report.consequences) - SHOWN)}")
    if report.codes:
        lines.append(f"{label['codes']}:")
        for seen in report.codes:
            by = f" ({label['by'].format(call=seen.returned_by)})" if seen.returned_by else ""
            lines.append(f"  {seen.code.written} {seen.code.name}: {seen.code.meaning[tongue]}{by}")
    return lines


def _where(finding: Finding, tongue: Language) -> str:
    """A finding in one line: what, how often, on which ranks, first at."""
    from diag.log_text import said

    ranks = f", rank {', '.join(map(str, finding.ranks))}" if finding.ranks else ""
    times = _times(finding.count, tongue)
    return f"{said(finding, tongue.value).title} ({times}{ranks}): {_place(finding.lines[0])}: {_cut(finding.lines[0].text, 120)}"


def _times(count: int, tongue: Language) -> str:
    return LABELS[tongue]["once"] if count == 1 else LABELS[tongue]["times"].format(count=count)


def _place(line: Line) -> str:
    """file:line, time, module, process, rank, device, as far as the line tells."""
    from diag.log_json import clock

    told = [f"{line.file}:{line.number}", clock(line.time), line.module or line.family, line.worker]
    told += [
        f"{name} {value}"
        for name, value in (("pid", line.pid), ("rank", line.rank), ("device", line.device))
        if value is not None
    ]
    if line.part == "raised" and line.where:
        told.append(line.where)
    return ", ".join(part for part in told if part)


def _cut(text: str, most: int = LINE) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
