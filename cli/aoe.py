"""aoe: searches schedules for the operators of a model and leaves the best in a bank that atc uses, in the real tool's words.

Options are those of atc and --job_type. The chip is the simulated machine's unless --soc_version names one.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from cli import real_tool
from cli.atc import parse_flags, toolkit
from cli.common import CliError, run
from npu.graph.errors import AtcError

if TYPE_CHECKING:
    from npu.graph.compile import Summary
    from npu.graph.tune import Change, Tuned

NAME = "aoe"
USAGE = "usage: aoe --model=<file.onnx> --job_type=2 [--output=<path without .om>] [--soc_version=<chip>] [options of atc]"
# job type -> why it is refused, what to do instead; 2 is done
REFUSED_JOBS = {
    "1": ("subgraph tuning (SGAT) is not simulated, atc applies its fusions anyway", "use --job_type=2; atc --report lists them"),
    "4": ("gradient split tuning (GDAT) is for training jobs", "see how buckets of gradients do with hccl_test scaling"),
}
# options of atc that tuning refuses -> what to do instead
REFUSED = {
    "mode": "convert with atc, tune with aoe",
    "om": "give the ONNX model with --model",
    "json": "convert with atc",
    "check_report": "atc --mode=3 writes it",
    "precision_mode_v2": "aoe takes --precision_mode",
    "op_bank_path": "set TUNE_BANK_PATH to choose where aoe keeps what it finds",
    "report": "aoe writes its own report",
    "display_model_info": "atc --mode=6 shows what an om holds",
}
LONGEST = 20  # operators listed; the report has all
SHOWN_NAME = 40  # characters


@dataclass(frozen=True)
class Done:
    """One tuning: the model without and with what was found (ns of all kernels), and the files."""

    tuned: Tuned
    before: int
    after: int
    summary: Summary
    report: Path
    bank: Path


def main() -> NoReturn:
    """The command: leaves with 0, or 2 when nothing could be tuned."""
    run(NAME, aoe)


def aoe(arguments: list[str]) -> int:
    """Tune the operators of a model (--job_type=2)."""
    real_tool.hand_on(NAME, arguments)
    real_tool.say_simulated(NAME)
    arguments = [a for a in arguments if a != "--sim"]
    if not arguments or {"--help", "-h", "--h", "-help"} & set(arguments):
        print("\n".join(help_lines()))
        return 0 if arguments else 2
    try:
        flags = asked(parse_flags(arguments))
        done = tune(flags, shlex.join([NAME, *arguments]))
    except AtcError as error:
        raise CliError(" ".join([f"{error.code}: {error.message}", *error.more]), error.solution) from error
    print("\n".join(lines(done)))
    return 0


def asked(flags: Mapping[str, str]) -> dict[str, str]:
    """The options for atc. CliError for a job or an option that tuning refuses."""
    made = dict(flags)
    job = made.pop("job_type", "")
    if not job:
        raise CliError("--job_type is missing", "give --job_type=2 to tune operators")
    if job in REFUSED_JOBS:
        what, then = REFUSED_JOBS[job]
        raise CliError(f"--job_type={job}: {what}", then)
    if job != "2":
        raise CliError(f"--job_type={job}: no such job", "give --job_type=2 to tune operators")
    for name, instead in REFUSED.items():
        if name in made:
            raise CliError(f"--{name} is no option of aoe", instead)
    if not made.get("model"):
        raise CliError("--model is missing", "give an ONNX model with --model=<file.onnx>")
    return made


def tune(flags: Mapping[str, str], command: str) -> Done:
    """Convert as atc would today, search, write the bank, convert again. AtcError, CliError."""
    from cli.progress import counted
    from npu.driver.machine import Machine
    from npu.graph import bank, tune_report
    from npu.graph.compile import compile
    from npu.graph.options import conversion
    from npu.graph.report import totals
    from npu.graph.tune import anew, kernels_of
    from npu.graph.tune import tune as search
    from npu.soc import find

    start, stamp = time.perf_counter(), f"{datetime.now():%Y%m%d%H%M%S}"
    cann = toolkit()
    given = {"framework": "5", "soc_version": Machine.of().chip.name} | dict(flags)
    name = f"{Path(given['model']).stem}_{stamp}"
    options = conversion({"output": str(_place(name)), **given}, command)
    if options.open and not options.gears:
        raise CliError("the model keeps open shapes", "fix them with --input_shape, or give gears with --dynamic_dims")
    _made(options.output.parent)
    trial = replace(options, statistics=False)
    first = compile(trial, cann)
    kernels = kernels_of(first.model)
    others = {}
    if any(k.work.form == "scheduled" for k in kernels):
        others = anew(kernels, kernels_of(compile(replace(trial, own_schedules=False), cann).model))
        first = compile(trial, cann)
    with counted("tuning") as told:
        tuned = search(kernels, find(options.soc), bank.found_for(None, options.soc), others, told)
    place = bank.folder(options.soc) / bank.FILE
    summary = first
    if tuned.changes:
        entries = {**bank.found_for(None, options.soc).entries, **tuned.entries}  # another aoe may have written meanwhile
        _written(place, lambda: bank.write(place, options.soc, entries))
        summary = compile(options, cann)
    before, after = (totals(s.model.kernels, options.soc).duration for s in (first, summary))
    report = Path(os.environ.get("ASCEND_WORK_PATH") or ".") / f"aoe_result_opat_{stamp}_{os.getpid()}.json"
    told_facts = tune_report.facts(tuned, name, time.perf_counter() - start, before, after)
    _written(report, lambda: report.write_text(json.dumps(told_facts, indent=2) + "\n", encoding="utf-8"))
    return Done(tuned, before, after, summary, report, place)


def _place(name: str) -> Path:
    """Where the real tool leaves a tuned model."""
    return Path("aoe_workspace") / name / "tunespace" / "result" / f"{name}_tune"


def _made(folder: Path) -> None:
    _written(folder, lambda: folder.mkdir(parents=True, exist_ok=True))


def _written(path: Path, act: Callable[[], object]) -> None:
    """CliError for what cannot be written."""
    try:
        act()
    except OSError as error:
        next = "free space, or choose another place (docs/aoe.md)"
        raise CliError(f"{path} cannot be written: {error.strerror}", next) from error


def lines(done: Done) -> list[str]:
    """What was found: the operators with the largest gain first, then the line of the real tool, then the files."""
    from npu.graph.tune_report import improvement

    tuned = done.tuned
    ordered = sorted(tuned.changes, key=lambda c: (c.after - c.before) * c.count)
    head = f"{'operator':<{SHOWN_NAME}} {'type':<20} {'kernels':>7} {'before us':>10} {'after us':>9} {'gain':>8}"
    made = [head] if ordered else []
    made += [_row(c, improvement(c.before, c.after)) for c in ordered[:LONGEST]]
    if len(ordered) > LONGEST:
        made.append(f"and {len(ordered) - LONGEST} more, in the report")
    if tuned.hits:
        made.append(f"{tuned.hits} of {tuned.total} different kernels had their schedule from the bank")
    if tuned.kept:
        kept = f"{tuned.kept} of {tuned.total} different kernels"
        made.append(f"{kept} keep the library's schedule: the cost model knows none faster")
    made.append(f"{done.before / 1000:.2f} us before, {done.after / 1000:.2f} us after, one kernel after another")
    made.append(f"OPAT process finished. Performance improved by {improvement(done.before, done.after)}")
    made += [f"model: {done.summary.path}", f"report: {done.report}"]
    return [*made, f"bank: {done.bank}"] if tuned.changes or tuned.hits else made


def _row(change: Change, gain: str) -> str:
    name = change.kernel.name
    short = name if len(name) <= SHOWN_NAME else name[: SHOWN_NAME - 3] + "..."
    times = f"{change.before / 1000:>10.2f} {change.after / 1000:>9.2f}"
    return f"{short:<{SHOWN_NAME}} {change.kernel.op_type:<20} {change.count:>7} {times} {gain:>8}"


def help_lines() -> list[str]:
    """The help: what is aoe's own, and where the rest stands."""
    jobs = "; ".join(f"{job}: {what}" for job, (what, _) in REFUSED_JOBS.items())
    return [
        USAGE,
        "",
        "Options:",
        "  --job_type     2: operators (OPAT)",
        "  --model        an ONNX model",
        "  --output       where the tuned model goes; default aoe_workspace/<model>_<time>/tunespace/result/",
        "  --soc_version  chip; default the simulated machine's",
        "  other options are those of atc (atc --help)",
        "",
        f"Refused jobs: {jobs}",
        f"Refused options: {', '.join(f'--{n}' for n in REFUSED)}",
        "What was found lies below TUNE_BANK_PATH, else ASCEND_CACHE_PATH, else ~/Ascend/latest/data/aoe/custom; atc uses it.",
    ]
