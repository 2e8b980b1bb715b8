"""npu-smi: the device tool on the simulated devices, in the real tool's words, and our own verbs beside it.

Native forms parse argv by hand and import neither typer nor numpy: the tool is called in loops.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable

from cli import real_tool
from npu.driver.door import DriverError, Snapshot
from npu.smi import failures, helps

NAME = "npu-smi"
WRONG_USE = 2

# Our own verbs, as "module:function" taking the arguments after the verb and giving the exit status.
VERBS: dict[str, str] = {
    "parse": "cli.commands.smi_parse:main",
    "top": "cli.commands.smi_top:main",
    "exporter": "cli.commands.smi_exporter:main",
}
# Options of ours on `info`; with one of them the answer is ours, from the real tool's text where there is one.
OURS = ("--format", "--query-npu", "--strict")

Answer = tuple[str, int]  # text for stdout, return code of the real tool


def main() -> int:
    """Answer argv; the exit status: of native forms the real tool's, 2 for wrong use of what is ours."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in VERBS:
        module, _, function = VERBS[arguments[0]].partition(":")
        return int(getattr(importlib.import_module(module), function)(arguments[1:]))
    if arguments[:1] == ["info"] and any(word.partition("=")[0] in OURS for word in arguments):
        from cli.commands import smi_info

        return smi_info.main(arguments[1:])
    try:
        real_tool.hand_on(NAME, arguments)
        real_tool.say_simulated(NAME)
        text, code = answer([argument for argument in arguments if argument != "--sim"])
        _write(text)
    except BrokenPipeError:  # the reader (head, grep -q) has seen enough: end quietly, as a C program does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return WRONG_USE
    return failures.status(code)


def answer(arguments: list[str]) -> Answer:
    """What the real tool says to these arguments. ValueError for a machine of ours that cannot be described or drawn.

    Help without arguments and the unknown command need no driver; everything else, -h and -v included, starts it first.
    """
    if not arguments:
        return helps.tool(), failures.PARAMETER
    run = COMMANDS.get(arguments[0])
    if run is None:
        return failures.unknown_command() + helps.tool(), failures.INNER
    try:
        return run(arguments)
    except DriverError as error:
        code = failures.START.get(error.situation, failures.INNER)
        if error.situation == "driver_failure":
            print(f"{NAME}: the device table {error.facts.get('path')} cannot be used: {error.facts.get('reason')}; "
                  "set NPU_STATE_DIR to a folder of yours", file=sys.stderr)
        return failures.start(code), code


def _write(text: str) -> None:
    """Bytes, because a process name may hold letters the terminal's encoding has not."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
    sys.stdout.buffer.flush()


def _snapshot() -> Snapshot:
    from npu.driver.query import snapshot

    return snapshot()


def _help(_arguments: list[str]) -> Answer:
    _snapshot()
    return helps.tool(), 0


def _version(_arguments: list[str]) -> Answer:
    from npu.driver.machine import Machine

    _snapshot()
    return f"npu-smi version: {Machine.of().tool_version}\n", 0


def _not_here(arguments: list[str]) -> Answer:
    """upgrade: simulated devices have no firmware to replace."""
    _snapshot()
    return failures.command(arguments[0], failures.NOT_SUPPORTED), failures.NOT_SUPPORTED


def _change(arguments: list[str]) -> Answer:
    from cli import smi_set

    return smi_set.change(arguments, _snapshot())


def _info(arguments: list[str]) -> Answer:
    words = arguments[1:]
    snapshot = _snapshot()
    if not words:
        return _table(snapshot), 0
    from npu.smi import info

    if "watch" in words:
        from cli import smi_watch

        return smi_watch.run(words, snapshot, _snapshot)
    answered = info.answer(words, snapshot)
    return (_table(snapshot), 0) if answered is None else answered


def _table(snapshot: Snapshot) -> str:
    from npu.driver.machine import Machine, install_ended
    from npu.smi import layouts

    if not snapshot.devices:  # a driver without a card: the real tool prints its help
        return helps.info()
    text = layouts.table(snapshot, Machine.of().tool_version, install_ended(os.environ))
    if text is None:
        raise ValueError(f"the table for {snapshot.devices[0].soc} with driver {snapshot.driver_version} is not known; "
                         f"known are {layouts.known()}")
    return text


COMMANDS: dict[str, Callable[[list[str]], Answer]] = {
    "-h": _help,
    "--help": _help,
    "-v": _version,
    "info": _info,
    "set": _change,
    "clear": _change,
    "upgrade": _not_here,
}
