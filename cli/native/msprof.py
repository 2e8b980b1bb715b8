"""Native forms of msprof on the simulated machine: `msprof [--options] app`, and --export, --query, --parse of what is there.

Console lines and exit codes are the real tool's: 0, or 255 for a refusal.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli import record
from cli.common import CliError
from cli.native.collect import collection
from cli.native.options import Refused, is_on, parse, usage
from cli.native.reports import hidden_layers

if TYPE_CHECKING:
    from profiler.trace import Trace

FAILED = 255  # the real tool leaves with -1
OFFLINE = ("parse", "query", "export", "analyze", "clear")  # what is done to a finished capture
TUNER = "op"
OURS = ("--help", "-h", "--debug", "--version", "--install-completion", "--show-completion")  # options of our group of verbs


def is_ours(word: str) -> bool:
    """True for an option of our group of verbs; everything else that is no verb is the real tool's where there is one."""
    return word in OURS


def is_native(word: str) -> bool:
    """True when a first word that is no verb begins a native form: an option, a program, or `op`, the operator tuner."""
    if word.startswith("-"):
        return word.startswith("--") and not is_ours(word)
    return word == TUNER or Path(word).is_file() or shutil.which(word) is not None


def main(arguments: list[str]) -> int:
    """Do what the options ask."""
    if arguments[0] == TUNER:
        raise CliError(
            "msprof op, the operator tuner, is another program and not simulated",
            "msprof run records the kernels of a script; msprof analyze says which of them are slow",
        )
    try:
        given, application = parse(arguments)
        asked = [name for name in OFFLINE if is_on(given, name)]
        if asked:
            return _offline(given, asked)
        if "application" in given:
            if application:
                print("[WARNING] Argument --application is ignored: the application at the end of the command line is run.")
            application = application or shlex.split(given["application"])
        if not application:
            print("\n".join(usage()))
            return FAILED
        return _run(given, application)
    except Refused as refusal:
        print(f"[ERROR] {refusal}")
        return FAILED


def _run(given: dict[str, str], application: list[str]) -> int:
    """Run with the recorder. 0 when data was collected, whatever the application left with, as of the real tool."""
    from cli.commands.run import simulated
    from profiler import open as open_trace

    output, wanted = Path(given.get("output", ".")), collection(given)
    words = record.command_line(application)
    record.make_folder(output)
    environment = record.with_recorder(simulated(), output, wanted)
    for pair in filter(None, given.get("environment", "").split(";")):
        name, _, value = pair.partition("=")
        environment[name.strip()] = value
    print("[INFO] Start profiling....", flush=True)
    status, made = record.record(words, environment, output)
    print("[INFO] Profiling finished.")
    if status:
        print(f"[WARNING] The application left with {status}.", file=sys.stderr)
    if not made:
        print(f"[ERROR] {application[0]} never called acl: there is no profile data.")
        return FAILED
    for prof in made:
        _export(open_trace(prof), given)
    print(f"[INFO] Process profiling data complete. Data is saved in {made[-1]}")
    return 0


def _export(trace: Trace, given: dict[str, str]) -> None:
    from profiler.export.iteration import NoIteration, within
    from profiler.export.msprof import export_msprof

    print(f"[INFO] Start export data in {trace.source}.")
    chosen = trace
    if "iteration-id" in given or "model-id" in given:
        number, model = int(given.get("iteration-id", 1)), given.get("model-id")
        try:
            chosen = within(trace, number, None if model is None else int(model))
        except NoIteration as none:
            raise Refused(f"Argument --iteration-id: invalid value: {number}. In {trace.source} {none.what}.") from none
    hidden = hidden_layers(given["reports"]) if "reports" in given else frozenset()
    export_msprof(chosen, trace.source, only=("msprof_db",) if given.get("type") == "db" else (), hidden=hidden)
    print(f"[INFO] Export all data in {trace.source} done.")


def _analyze(trace: Trace, given: dict[str, str]) -> None:
    """The communication files of a capture, both or those of --rule."""
    from profiler.export.communication_json import write

    print(f"[INFO] Start analyze data in {trace.source}.")
    made = write(trace, Path(trace.source) / "analyze", only=given.get("rule", "").split(",") if "rule" in given else ())
    if not made:
        print(f"[WARNING] There is no communication in {trace.source}.")
    print(f"[INFO] Analyze all data in {trace.source} done.")


def _offline(given: dict[str, str], asked: Sequence[str]) -> int:
    from cli.commands.export import find
    from cli.native.query import table

    if "output" not in given:
        raise Refused("Argument --output: expected one argument")
    place = Path(given["output"])
    if not place.exists():
        raise Refused(f"Argument --output: invalid value: {place}. There is no such folder.")
    captures, others = find(place)
    if "query" in asked and captures:
        print("\n".join(table(captures)))
    for trace in captures:
        if "parse" in asked:  # a capture needs no parsing: it is read as it lies
            print(f"[INFO] Start parse data in {trace.source}.")
        if "export" in asked:
            _export(trace, given)
        if "analyze" in asked:
            _analyze(trace, given)
    for folder in others:
        print(f"[{'ERROR' if folder.lacking else 'INFO'}] {folder.what}\n  next: {folder.next}")
    return FAILED if any(f.lacking for f in others) else 0
