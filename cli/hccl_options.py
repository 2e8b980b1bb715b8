"""Options of `hccl_test`, read by hand: the real ones are one letter with a value that may follow directly or after a blank."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cli.common import CliError
from npu.units import parse_size

NAME = "hccl_test"
OPERATIONS = {  # word -> (operation, whether the printed size is one rank's part)
    "all_reduce": ("all_reduce", False),
    "all_gather": ("all_gather", True),
    "all_gatherv": ("all_gather", True),
    "reduce_scatter": ("reduce_scatter", True),
    "reduce_scatterv": ("reduce_scatter", True),
    "reduce": ("reduce", False),
    "broadcast": ("broadcast", False),
    "scatter": ("scatter", True),
    "alltoall": ("all_to_all", False),
    "alltoallv": ("all_to_all", False),
    "alltoallvc": ("all_to_all", False),
}
# letter -> (name, default, what it is)
LETTERS = {
    "b": ("minbytes", "64M", "smallest size"),
    "e": ("maxbytes", "64M", "largest size"),
    "i": ("stepbytes", "", "bytes from one size to the next, default a tenth of the span"),
    "f": ("stepfactor", "", "factor from one size to the next, in place of -i"),
    "n": ("iters", "20", "iterations"),
    "w": ("warmup_iters", "10", "iterations before"),
    "o": ("op", "sum", "sum, prod, max, min"),
    "d": ("datatype", "fp32", "int8, int16, int32, fp16, fp32, int64, uint64, uint8, uint16, uint32, fp64, bfp16"),
    "r": ("root", "0", "root rank"),
    "c": ("check", "1", "0: no check of the result, 1 and 2: check"),
    "p": ("npus", "8", "NPUs of a server"),
}
SWITCHES = {"m": "symmetric memory", "z": "zero copy", "t": "device time only"}
WORDS = {
    "servers": "how many servers (default 1)",
    "servers-per-pod": "A3: servers of a super-pod, 0 for none (default 48)",
    "soc": "chip (default: the simulated machine's)",
    "algo": "as HCCL_ALGO, goes before it",
}
SCALING = {
    "compute": "computation of one rank's step, as 200ms (default)",
    "gradients": "bytes of gradients (default 1G)",
    "bucket": "bytes of a bucket (default 25M)",
    "from": "smallest number of ranks (default 8)",
    "to": "largest number of ranks (default 65536)",
    "output": "also a plot, an HTML page at that path",
}
MOST_SIZES = 10_000
TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3}


@dataclass(frozen=True, slots=True)
class Net:
    """Servers of `width` NPUs each."""

    family: str
    servers: int
    width: int
    per_pod: int
    algo: str

    @property
    def ranks(self) -> int:
        return self.servers * self.width


def parse(arguments: Sequence[str], more: Mapping[str, str]) -> dict[str, str]:
    """Option name -> value. CliError for a word that is no option, or an option without its value."""
    values = {name: default for name, default, _ in LETTERS.values()}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--sim":
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("--") and name in (*WORDS, *more):
            key = name
        elif word.startswith("-") and not word.startswith("--") and word[1:2] in LETTERS:
            key, equals, value = LETTERS[word[1]][0], word[2:], word[2:].lstrip("=")
        elif word.startswith("-") and word[1:2] in SWITCHES and not word.startswith("--"):
            if words and words[0].isdigit():
                words.pop(0)
            continue
        else:
            raise CliError(f"{word} is no option of {NAME}", f"{NAME} --help lists the options")
        if not equals:
            if not words:
                raise CliError(f"{word} needs a value", f"{NAME} --help says which")
            value = words.pop(0)
        values[key] = value
    return values


def net_of(values: Mapping[str, str]) -> Net:
    """The net the options ask for. CliError names what is wrong."""
    from npu import soc
    from npu.driver.machine import Machine
    from npu.hccl.select import VARIABLE as ALGO
    from npu.hccl.select import BadAlgorithm, parse

    try:
        chip = soc.find(values["soc"]) if "soc" in values else Machine.of().chip
    except KeyError:
        raise CliError(
            f"--soc={values['soc']} is no known chip", "for example --soc=Ascend910B3 or --soc=Ascend910_9382"
        ) from None
    algo = values.get("algo", os.environ.get(ALGO, ""))
    try:
        parse(algo)
    except BadAlgorithm as error:
        raise CliError(str(error), "unset it, or choose another algorithm") from error
    per_pod = whole(values.get("servers-per-pod", "48"), "--servers-per-pod", 0)
    return Net(chip.family, whole(values.get("servers", "1"), "--servers"), whole(values["npus"], "-p"), per_pod, algo)


def whole(text: str, option: str, least: int = 1) -> int:
    """A whole number of at least `least`. CliError."""
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise CliError(f"{option} {text}: not a number from {least}", f"{NAME} --help says what it means")
    return int(text)


def size_of(text: str, option: str) -> int:
    """'8K' -> bytes. CliError."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise CliError(f"{option} {text}: {error}", "write it as 8K, 64M or 1G") from error


def sizes(values: Mapping[str, str], itemsize: int) -> list[int]:
    """The sizes to measure, bytes. CliError for a range that makes no sense."""
    least, most = size_of(values["minbytes"], "-b"), size_of(values["maxbytes"], "-e")
    if most < least or least == 0:
        raise CliError(f"sizes from {least} to {most} bytes", "give -b at least 1 and -e not below it")
    made = [least]
    if values["stepfactor"]:
        factor = whole(values["stepfactor"], "-f", 2)
        while made[-1] * factor <= most:
            made.append(made[-1] * factor)
    else:
        step = size_of(values["stepbytes"], "-i") if values["stepbytes"] else max((most - least) // 10, 1)
        if (most - least) // max(step, 1) > MOST_SIZES or step == 0:
            raise CliError(f"-i {step} makes more than {MOST_SIZES} sizes", "take a larger step, or -f")
        made = list(range(least, most + 1, step))
    return [max(itemsize, size // itemsize * itemsize) for size in made]


def span(text: str) -> float:
    """'200ms' -> ns. CliError."""
    for unit in ("ms", "us", "s"):
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return float(number) * TIMES[unit]
    raise CliError(f"--compute {text}: not a time", "write it as 200ms, 1.5s or 800us")


def help_lines() -> list[str]:
    """What --help prints."""
    lines = [
        f"usage: {NAME} OPERATION [options], OPERATION one of {', '.join(OPERATIONS)}",
        f"       {NAME} scaling [options]",
        "",
    ]
    for letter, (_, default, what) in LETTERS.items():
        lines.append(f"  -{letter:<18} {what}" + (f" (default {default})" if default else ""))
    lines += [f"  -{letter:<18} {what}: accepted, changes nothing here" for letter, what in SWITCHES.items()]
    lines += ["", *(f"  --{name:<17} {what}" for name, what in WORDS.items())]
    return [*lines, "", "scaling:", *(f"  --{name:<17} {what}" for name, what in SCALING.items())]
