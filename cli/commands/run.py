"""`msprof run`: start a script with the recorder on, pass everything through, export and summarise at its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.common import CliError

CLOCKS = ("hybrid", "model", "realtime")
SINK = "profiler.record.sink:open_sink"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGS]...", help="A Python script (or a program) and its arguments.")
    ],
    output: Annotated[Path, typer.Option(help="Folder that the PROF_* folders are written into.")] = Path("."),
    clock: Annotated[
        str,
        typer.Option(
            help="hybrid: your code's real time counts (default); model: it counts zero, two runs give "
            "the same tables; realtime: really waits."
        ),
    ] = "",
    soc: Annotated[str, typer.Option(help="Simulated chip, for example Ascend910B3 or Ascend310P3.")] = "",
    summary: Annotated[bool, typer.Option(help="Print the findings on stderr at the end.")] = True,
) -> int:
    """Run a pyACL script unmodified on the simulated NPU, record every call, task, copy and kernel, export and summarise.

    The script's output and exit code are passed through; options of msprof stand before the script.
    """
    words = _words(command)
    environment = _environment(output, clock, soc)
    before = set(output.glob("PROF_*"))
    status = _child(words, environment)
    made = sorted(p for p in output.glob("PROF_*") if p not in before)
    _finish(made, command[0], summary)
    return status


def _words(command: list[str]) -> list[str]:
    """The command line of the child: Python scripts run under this interpreter."""
    name = command[0]
    if name.endswith(".py"):
        if not Path(name).is_file():
            raise CliError(f"there is no script {name}", "check the path; options of msprof stand before the script")
        return [sys.executable, *command]
    found = shutil.which(name)
    if found is None:
        raise CliError(f"there is no program {name}", "give a Python script (.py) or a program on PATH")
    return [found, *command[1:]]


def _environment(output: Path, clock: str, soc: str) -> dict[str, str]:
    from npu.shim.launch import environment
    from npu.soc import find, table

    if clock and clock not in CLOCKS:
        raise CliError(f"--clock={clock} does not exist", f"choose one of {', '.join(CLOCKS)}")
    if soc:
        try:
            soc = find(soc).name
        except KeyError:
            raise CliError(f"--soc={soc} is no known chip", f"known are {', '.join(table())}") from None
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CliError(f"--output={output} cannot be made: {error.strerror}", "give a folder that can be written") from error
    env = environment(os.environ, clock or None, soc or None)
    env["NPU_SINK"] = SINK
    env["NPUSCOPE_OUTPUT"] = str(output.absolute())
    return env


def _child(words: list[str], environment: dict[str, str]) -> int:
    """Run it; its exit code, 128+n for a signal. Ctrl-C is the script's; a termination is handed on to it."""
    child = subprocess.Popen(words, env=environment)

    def hand_on(number: int, _frame: object) -> None:
        if number != signal.SIGINT:  # the terminal has sent Ctrl-C to the script as well
            child.send_signal(number)

    former = {n: signal.signal(n, hand_on) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        status = child.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


def _finish(made: list[Path], script: str, summary: bool) -> None:
    """Export every capture of the run and say on stderr what was found."""
    if not made:
        print(f"msprof: {script} never called acl, so nothing was recorded", file=sys.stderr)
        return
    from profiler import open as open_trace
    from profiler.export.msprof import export_msprof

    for prof in made:
        trace = open_trace(prof)
        if trace.api or trace.task:
            export_msprof(trace, prof)
        if summary:
            from cli.commands.summary import summarize

            summarize(trace, prof)
        print(f"msprof: data is saved in {prof}", file=sys.stderr)
