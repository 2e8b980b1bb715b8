"""atc: converts ONNX models for the simulated NPU, in the real tool's words.

Arguments are read by hand: the real spelling takes --a=b and --a b, one or two dashes, soc-version as well as soc_version.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from cli import real_tool
from cli.common import CliError, run
from npu.graph.errors import AtcError

if TYPE_CHECKING:
    from npu.graph.compile import Summary

NAME = "atc"
FAILED = 255  # the real tool leaves with -1
START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"
USAGE = "usage: atc --framework=5 --model=<file.onnx> --output=<path without .om> --soc_version=<chip> [options]"
CHATTY = ("debug", "info")
LONG = 0.5  # s after which a terminal is shown how far a conversion has come


def main() -> NoReturn:
    """The command: leaves with 0, or 255 when the conversion was refused."""
    run(NAME, atc)


def atc(arguments: list[str]) -> int:
    """Convert a model (--mode=0), or what another mode asks."""
    real_tool.hand_on(NAME, arguments)
    real_tool.say_simulated(NAME)
    arguments = [a for a in arguments if a != "--sim"]
    if not arguments:
        print(USAGE, FAILURE, sep="\n")
        return FAILED
    print(START, flush=True)
    if {"--help", "-h", "--h", "-help"} & set(arguments):
        print("\n".join(help_lines()))
        return 0
    try:
        flags = parse_flags(arguments)
        lines = work(flags, shlex.join([NAME, *arguments]))
    except AtcError as error:
        print("...", FAILURE, error.block(os.getpid(), datetime.now()), "", sep="\n")
        return FAILED
    print("...", SUCCESS, *lines, sep="\n")
    return 0


def toolkit() -> str:
    """The CANN version of the host that converts. A host with the runtime only has no converter: 127, as a shell says it."""
    from npu.driver.machine import Machine

    try:
        version = Machine.of().toolkit_version
    except ValueError as error:
        raise CliError(str(error), "correct the variable, or unset it for the default machine") from error
    if version is None:
        raise CliError(
            "the host in use has the runtime only, no toolkit: there is no ATC on it",
            "convert on a development host with the CANN of this one (npu-diag host list; NPU_HOST=<name> atc ...)",
            127,
        )
    return version


def parse_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Option name -> value; the last one counts. AtcError for a word that is no option, E10004 for one without value."""
    flags: dict[str, str] = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--report":  # our own option needs no value
            flags["report"] = "1"
            continue
        if not word.startswith("-"):
            raise AtcError(
                "E10001",
                value=word,
                parameter="on the command line",
                reason="an option begins with --; values with blanks or semicolons need quotation marks.",
            )
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if not equals:
            if not words or words[0].startswith("--"):
                raise AtcError("E10004", parameter=name)
            value = words.pop(0)
        flags[name] = value
    return flags


def work(flags: dict[str, str], command: str) -> list[str]:
    """Do what the flags ask; gives the lines that follow the success line."""
    from npu.graph.options import check, conversion

    values = check(flags)
    if values["mode"] != "0":
        MODES[values["mode"]](flags, values)
        return []
    if values["singleop"]:
        single_operators(values, command)
        return []
    options = conversion(flags, command)
    if values["json"]:
        raise AtcError("E10057", parameter0="json", parameter1="mode=1 or --mode=5")
    if values["check_report"]:
        from npu.graph.precheck import result, save, where

        save(where(values["check_report"]), result(options.model, options.newest_opset))
    from cli.progress import counted
    from npu.graph.compile import compile

    with counted("converting", LONG) as progress:
        summary = compile(options, toolkit(), progress)
    if values["display_model_info"] == "1":
        from npu.graph.show import display

        print(*display(summary.path), sep="\n")
    told: list[str] = []
    if values["report"] == "1":
        from cli.graph_text import lines
        from cli.terminal import language
        from npu.graph.report import of

        told = list(lines(of(summary.model, str(summary.path)), language()))
    return [*told, *(f"[WARNING] {w}" for w in summary.warnings), *(log_lines(summary) if values["log"] in CHATTY else ())]


def single_operators(values: dict[str, str], command: str) -> None:
    """--singleop: a model file for each operator of a list, into the folder --output names."""
    from npu.graph.options import chip

    for required in ("output", "soc_version"):
        if not values[required]:
            raise AtcError("E10054", parameter=f"--{required}")
    if values["model"]:
        raise AtcError("E10056", parameter1="--model", parameter2="--singleop")
    soc = chip(values["soc_version"])
    from npu.graph.singleop import convert

    convert(Path(values["singleop"]), Path(values["output"]), soc, command, toolkit())


def convert_to_json(flags: dict[str, str], values: dict[str, str]) -> None:
    """--mode=1: an .om, or with --framework=5 an ONNX model, as JSON."""
    needs(values, "om", "json")
    from npu.graph.precheck import save
    from npu.graph.to_json import of_om, of_onnx

    save(Path(values["json"]), (of_onnx if "framework" in flags else of_om)(Path(values["om"])))


def precheck(flags: dict[str, str], values: dict[str, str]) -> None:
    """--mode=3: only whether the operators are known; the report is written either way."""
    from npu.graph.options import prechecked
    from npu.graph.precheck import check, where

    model, newest = prechecked(flags)
    check(model, where(values["check_report"]), newest)


def text_to_json(flags: dict[str, str], values: dict[str, str]) -> None:
    """--mode=5: a dumped graph in text form as JSON."""
    needs(values, "om", "json")
    from npu.graph.precheck import save
    from npu.graph.to_json import of_text

    save(Path(values["json"]), of_text(Path(values["om"])))


def show(flags: dict[str, str], values: dict[str, str]) -> None:
    """--mode=6: what an .om holds."""
    needs(values, "om")
    from npu.graph.show import display

    print(*display(Path(values["om"])), sep="\n")


MODES = {"1": convert_to_json, "3": precheck, "5": text_to_json, "6": show}


def needs(values: dict[str, str], *options: str) -> None:
    """AtcError E10057 for an option without which the mode cannot be."""
    for option in options:
        if not values[option]:
            raise AtcError("E10057", parameter0="mode", parameter1=option)


def log_lines(summary: Summary) -> list[str]:
    """What --log=info tells: counts of the fusion passes, and where one almost applied and why it did not."""
    prefix = f"[INFO] FE({os.getpid()},atc.bin):"
    lines = [
        f"{prefix} {name}: match_times {o.matched}, effect_times {o.effected}"
        for passes in summary.counts.values()
        for name, o in passes.items()
    ]
    lines += [f"{prefix} {m.fusion}: not applied at {m.node}: {m.reason}" for m in summary.near_misses]
    memory = summary.model.memory
    lines.append(
        f"[INFO] GE({os.getpid()},atc.bin): {len(summary.model.kernels)} kernels, feature map {memory['feature_map']} B "
        f"(reuse saved {memory['reuse_saved']} B), weights {memory['weights']} B, {summary.seconds:.2f} s"
    )
    return lines


def help_lines() -> list[str]:
    """The help, from the table of options."""
    from npu.graph.options import known

    lines = [USAGE, "", "Options:"]
    for option in known().values():
        if option.kind == "refused":
            continue
        what = f"one of {', '.join(option.values)}" if option.values else "a value"
        default = f"; default {option.default}" if option.default else ""
        note = f" ({option.note})" if option.note else ""
        lines.append(f"  --{option.name:<26} {what}{default}{note}")
    refused = ", ".join(f"--{o.name}" for o in known().values() if o.kind == "refused")
    return [*lines, "", f"Options of the real tool that the simulated one refuses: {refused}"]
