"""`npu-smi top`: devices and processes, live; with --record the same as JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer

from cli.common import CliError, run
from cli.options import Force

if TYPE_CHECKING:
    from rich.text import Text

    from cli.top.screen import Line
    from cli.top.state import State
    from diag.smi.records import SmiText

SHORTEST_S = 0.2

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(arguments: list[str]) -> NoReturn:
    run("npu-smi top", app, arguments)


@app.command("top")
def top(
    interval: float = typer.Option(2.0, "--interval", "-d", metavar="SECONDS", help="Time between looks; each is one query."),
    sort: str = typer.Option("memory", "--sort", help="memory, device, pid, user or command."),
    filter: str = typer.Option("", "--filter", help="Only processes whose pid, user or command holds this.", show_default=False),
    record: Path | None = typer.Option(
        None, "--record", metavar="FILE", help="Also write every look as a JSON line.", show_default=False
    ),
    count: int = typer.Option(0, "--count", help="Leave after so many looks; 0 = until q.", show_default=False),
    sim: bool = typer.Option(False, "--sim", help="The simulated devices, also beside real ones."),
    force: Force = False,
) -> int:
    """Show devices and processes live: q quits, s sorts, / filters, k ends the selected process after asking.

    Without a terminal give --count (the frames are printed) or --record.
    """
    from cli.smi_look import look
    from cli.terminal import free_path, written
    from cli.top.state import SORTS, State

    if sort not in SORTS:
        raise CliError(f"--sort {sort}: no such order", f"one of {', '.join(SORTS)}")
    if interval < SHORTEST_S:
        raise CliError(
            f"--interval {interval:g} is too short", f"give {SHORTEST_S} seconds or more: every look is a call of the tool"
        )
    terminal = sys.stdout.isatty()
    if not terminal and not count and record is None:
        raise CliError("top needs a terminal", "in a pipe give --count N, or --record FILE")
    target = None if record is None else free_path(record, "", force)
    state = State(interval, sort, filter)

    def take() -> SmiText:
        return look(["--sim"] if sim else [])

    with nullcontext() if target is None else target.open("w", encoding="utf-8") as out:
        if terminal:
            _live(state, take, out, count)
        else:
            _printed(state, take, out, count)
    if target is not None:
        written(target)
    return 0 if state.text.error is None else state.text.error.status or 2


def _live(state: State, take: Callable[[], SmiText], out: TextIO | None, count: int) -> None:
    from rich.console import Group
    from rich.live import Live

    from cli.top.keys import apply, pressed, single_keys
    from cli.top.screen import frame

    with single_keys() as keys, Live(screen=True, auto_refresh=False) as live:
        due, looks, going = 0.0, 0, True
        while going:
            if time.monotonic() >= due:
                if count and looks == count:
                    return
                _look(state, take, out)
                due, looks = time.monotonic() + state.interval, looks + 1
            size = shutil.get_terminal_size()
            lines = frame(state, size.columns, size.lines)
            live.update(Group(*(_styled(line) for line in lines)), refresh=True)
            going = all([apply(state, key) for key in pressed(keys, max(0.0, due - time.monotonic()))])


def _printed(state: State, take: Callable[[], SmiText], out: TextIO | None, count: int) -> None:
    """Without a terminal: frames one below the other, or nothing but the record."""
    from cli.top.screen import frame

    looks = 0
    while not count or looks < count:
        if looks:
            time.sleep(state.interval)
        _look(state, take, out)
        looks += 1
        if out is None:
            height = len(state.text.devices) + len(state.text.processes) + 6
            lines = frame(state, shutil.get_terminal_size((110, 24)).columns, height)[:-1]
            print("\n".join("".join(piece.text for piece in line).rstrip() for line in lines).rstrip())


def _look(state: State, take: Callable[[], SmiText], out: TextIO | None) -> None:
    state.take(take(), time.time())
    if out is not None:
        out.write(json.dumps(_line(state), ensure_ascii=False) + "\n")
        out.flush()


def _line(state: State) -> dict[str, object]:
    """One look: unix time in ns, devices and processes as `npu-smi info --format json` has them, with user and command."""
    from cli.smi_records import device, process

    error = state.text.error
    return {
        "time_ns": round(state.at * 1e9),
        "driver": state.text.driver or None,
        "devices": [device(one) for one in state.text.devices],
        "processes": [{**process(r.process), "user": r.who.user or None, "command": r.who.command or None} for r in state.rows],
        "error": None if error is None else error.cause,
    }


def _styled(line: Line) -> Text:
    from rich.text import Text

    text = Text(no_wrap=True, overflow="crop")
    for piece in line:
        text.append(piece.text, style=piece.style)
    return text
