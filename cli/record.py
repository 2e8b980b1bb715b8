"""Running a program with the recorder on: what `msprof run` and the native form `msprof --output=DIR app` share.

On the simulated machine the program meets the simulated stack. On a machine with a real driver the real `acl` is recorded for
host times, and the real msprof, where there is one, collects from the device around it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cli import real_tool
from cli.common import CliError
from profiler.record.collection import Collection

SINK = "profiler.record.sink:open_sink"
TOOL = "msprof"
LAG = 1_000_000  # ns by which real time may run ahead of the timeline (--clock realtime) without a word


def command_line(command: Sequence[str]) -> list[str]:
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


def make_folder(output: Path) -> None:
    """The folder for the results, made if it is not there."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CliError(f"--output={output} cannot be made: {error.strerror}", "give a folder that can be written") from error


def with_recorder(environment: Mapping[str, str], output: Path, collection: Collection) -> dict[str, str]:
    """The environment in which a process that calls acl records what is asked for into a PROF folder below `output`."""
    stacks = {"NPU_STACKS": "1"} if collection.stacks else {}
    return {**environment, "NPU_SINK": SINK, "NPUSCOPE_OUTPUT": str(output.absolute()), **collection.variable(), **stacks}


def record(words: Sequence[str], environment: Mapping[str, str], output: Path) -> tuple[int, list[Path]]:
    """Run a command line; its exit status, and the PROF folders that came into being below `output`, by name."""
    before = set(output.glob("PROF_*"))
    status = child(words, environment)
    return status, sorted(p for p in output.glob("PROF_*") if p not in before)


def child(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run it; its exit code, 128+n for a signal. Ctrl-C is the script's; a termination is handed on to it."""
    process = subprocess.Popen(list(words), env=dict(environment))

    def hand_on(number: int, _frame: object) -> None:
        if number != signal.SIGINT:  # the terminal has sent Ctrl-C to the script as well
            process.send_signal(number)

    former = {n: signal.signal(n, hand_on) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        status = process.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


def around_real_tool(words: Sequence[str], output: Path) -> list[str]:
    """The command line on a machine with a real driver: the real msprof around the program. Without one on PATH the program
    alone, and stderr says that the device's side is missing."""
    tool = real_tool.next_on_path(TOOL)
    if tool is None:
        print(
            f"{TOOL}: no msprof of the toolkit is on PATH, so only host calls are recorded; "
            "source the toolkit's set_env.sh for device data",
            file=sys.stderr,
        )
        return list(words)
    return [tool, f"--output={output.absolute()}", *words]


def say_hazards(made: Sequence[Path]) -> None:
    """One line on stderr for every hazard a run has found, and the next step."""
    from cli.common import language
    from profiler import open as open_trace
    from profiler import texts
    from profiler.analysis.rules.unordered_access import of

    tongue = language()
    found = [finding for prof in made for finding in of(open_trace(prof).meta.get("hazards"))]
    for finding in found:
        print(f"{TOOL}: {texts.claim(finding, tongue)}", file=sys.stderr)
        print(f"  next: {texts.advice(finding, tongue)}", file=sys.stderr)
    print(f"{TOOL}: " + texts.label("word", "hazards", tongue).format(count=len(found)), file=sys.stderr)


def finish(made: Sequence[Path], script: str, summary: bool) -> None:
    """Export the captures of a run, say on stderr what was found in each PROF folder and where it lies."""
    if not made:
        print(f"{TOOL}: {script} never called acl, so nothing was recorded", file=sys.stderr)
        return
    from profiler import open as open_trace
    from profiler.export.msprof import export_msprof
    from profiler.trace import Unreadable

    for prof in made:
        try:
            trace = open_trace(prof)
        except Unreadable as error:  # a folder of the real tool that was not exported
            print(f"{TOOL}: {error.what}\n  next: {error.next}", file=sys.stderr)
            continue
        if trace.meta.get("generator") == "npuscope" and (trace.api or trace.task):
            export_msprof(trace, prof)
        if summary:
            from cli.commands.summary import summarize

            summarize(trace, prof)
        if trace.meta.get("lag_ns", 0) >= LAG:
            from cli.common import language
            from npu.units import duration
            from profiler import texts

            lag = duration(trace.meta["lag_ns"])
            print(f"{TOOL}: " + texts.label("word", "realtime_lag", language()).format(lag=lag), file=sys.stderr)
        print(f"{TOOL}: data is saved in {prof}", file=sys.stderr)
