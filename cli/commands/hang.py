"""`npu-diag hang PID`: what a process that stands still waits for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.common import CliError
from cli.options import Json, Lang
from cli.terminal import Language, folded, language, paint

if TYPE_CHECKING:
    from diag.hang import Hang, Told
    from diag.proc import Process

THREADS = 12  # shown
LABELS = {
    Language.en: {
        "process": "Process", "devices": "Devices open", "connections": "Connections", "children": "Children",
        "threads": "Threads", "told": "in {call} ({site}) for {seconds} s",
        "log": "Its log", "last": "Last lines of its log", "nolog": "no plog of this process found", "do": "What to do",
        "commands": "Commands", "more": "{count} more", "fine": "no fault in it", "none": "none",
        "others": "{count} threads, none of them running", "running": "{count} of its {all} threads are running",
    },
    Language.zh: {
        "process": "进程", "devices": "已打开的设备", "connections": "连接", "children": "子进程", "threads": "线程",
        "told": "在 {call}（{site}）中已 {seconds} 秒",
        "log": "其日志", "last": "日志最后几行", "nolog": "没有找到该进程的 plog", "do": "怎么做",
        "commands": "命令", "more": "另有 {count} 项", "fine": "其中没有故障", "none": "无",
        "others": "共 {count} 个线程，没有一个在运行", "running": "{all} 个线程中有 {count} 个在运行",
    },
}  # fmt: skip

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("hang")
def hang(
    pid: Annotated[int, typer.Argument(metavar="PID", help="The process that stands still.")],
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Say what a process waits for, from /proc and the end of its log.

    Gives 0 when it computes, 1 when it waits, 2 when there is no such process.
    """
    if sys.platform != "linux":
        raise CliError("npu-diag hang reads /proc, which only Linux has", "run it on the host where the process runs")
    from diag.hang import look

    try:
        found = look(pid, ask=_told)
    except ProcessLookupError as error:
        raise CliError(f"no process {pid}", "ps -ef | grep python lists them; inside a container numbers differ") from error
    tongue = language(lang)
    if json:
        import json as writer

        print(writer.dumps(_facts(found, tongue), ensure_ascii=False, indent=1))
    else:
        lines = _lines(found, tongue)
        print("\n".join(folded(lines) if sys.stdout.isatty() else lines))
    return int(found.hangs)


def _told(process: Process) -> tuple[Told, ...]:
    """What a process on the simulated device has left of its waits."""
    import time

    from diag.hang import Told
    from npu.driver.waits import read

    now = time.time()
    return tuple(Told(w.tid, w.call, w.site, max(0.0, now - w.since / 1e9), w.chain) for w in read(process.pid, process.environ))


def _texts(found: Hang, tongue: Language) -> dict[str, Any]:
    """Title, meaning, steps and commands with the facts filled in."""
    from diag.hang import table

    entry, label, running = table()[found.kind], LABELS[tongue], sum(w.kind == "busy" for w in found.waits)
    others = (
        label["running"].format(count=running, all=len(found.waits))
        if running
        else label["others"].format(count=len(found.waits))
    )
    facts = {
        "pid": found.process.pid,
        "place": found.place,
        "parent": found.process.parent,
        "share": f"{found.share:.0%}",
        "thread": found.thread,
        "others": others,
        "children": ", ".join(f"{pid} {command[:60]}" for pid, command in found.process.children) or label["none"],
    }
    return {
        "title": entry["title"][tongue],
        "meaning": entry["meaning"][tongue].format_map(facts),
        "do": entry["do"][tongue],
        "commands": [command.format_map(facts) for command in entry["commands"]],
    }


def _lines(found: Hang, tongue: Language) -> list[str]:
    label, texts, of = LABELS[tongue], _texts(found, tongue), found.process
    lines = [
        paint(f"{label['process']} {of.pid} {texts['title']}", "bold"),
        f"  {texts['meaning']}",
        f"  {' '.join(of.command.split())[:200]}",
    ]
    if of.devices:
        lines.append(f"{label['devices']}: {', '.join(of.devices)}")
    if of.connections:
        lines += [f"{label['connections']}:", *(f"  {c.local} -> {c.peer} {c.state}" for c in of.connections[:THREADS])]
    if of.children:
        lines += [f"{label['children']}:", *(f"  {pid} {command[:100]}" for pid, command in of.children[:THREADS])]
    lines.append(f"{label['threads']}:")
    told = {t.tid: t for t in found.told}
    for w in found.waits[:THREADS]:
        if w.thread.tid in told:
            of_it = told[w.thread.tid]
            lines.append(f"  {w.thread.tid} {w.thread.name}: " + label["told"].format(
                call=of_it.call or "-", site=of_it.site or "-", seconds=f"{of_it.seconds:.1f}"))  # fmt: skip
            lines.append(f"    {of_it.chain}")
        else:
            lines.append(f"  {w.thread.tid} {w.thread.name} {w.thread.state} {w.kind}: {w.place}")
    if len(found.waits) > THREADS:
        lines.append(f"  {label['more'].format(count=len(found.waits) - THREADS)}")
    lines += _log_lines(found, tongue)
    lines += [f"{label['do']}:", *(f"  {number}. {step}" for number, step in enumerate(texts["do"], 1))]
    return [*lines, f"{label['commands']}:", *(f"  {command}" for command in texts["commands"])]


def _log_lines(found: Hang, tongue: Language) -> list[str]:
    from diag.log_text import said

    label = LABELS[tongue]
    if found.log is None:
        return [f"{label['log']}: {label['nolog']}"]
    told = said(found.log.cause, tongue).title if found.log.cause is not None else label["fine"]
    return [f"{label['log']} ({found.log_folder}): {told}", f"{label['last']}:", *(f"  {line[:300]}" for line in found.last)]


def _facts(found: Hang, tongue: Language) -> dict[str, Any]:
    from diag.log_json import to_json

    of = found.process
    return {
        "schema": 1,
        "tool": "npu-diag hang",
        "pid": of.pid,
        "command": of.command,
        "waits_for": found.kind,
        "place": found.place,
        "cores_in_use": round(found.share, 2),
        **_texts(found, tongue),
        "devices": list(of.devices),
        "connections": [{"local": c.local, "peer": c.peer, "state": c.state} for c in of.connections],
        "children": [{"pid": pid, "command": command} for pid, command in of.children],
        "threads": [
            {
                "tid": w.thread.tid,
                "name": w.thread.name,
                "state": w.thread.state,
                "waits_for": w.kind,
                "place": w.place,
                "kernel": w.thread.wchan,
                "stack": list(w.thread.stack),
            }
            for w in found.waits
        ],
        "told": [
            {"tid": t.tid, "call": t.call, "site": t.site, "seconds": round(t.seconds, 1), "waits_for": t.chain}
            for t in found.told
        ],
        "log": to_json(found.log, tongue) if found.log is not None else None,
        "last_lines": list(found.last),
    }
