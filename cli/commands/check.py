"""`npu-diag check`: is this host, or the host this evidence comes from, in order."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.common import CliError
from cli.options import Json, Lang
from cli.terminal import folded, language, paint

if TYPE_CHECKING:
    from diag.check import Checked
    from diag.log_report import LogReport
    from diag.seen import Seen

STYLE = {"ERROR": "red", "错误": "red", "WARNING": "yellow", "警告": "yellow"}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("check")
def check(
    evidence: list[Path] = typer.Argument(
        None,
        metavar="[EVIDENCE]...",
        help="Host tree, environment dump, npu-smi text, pip freeze, "
        "pasted shell session, collector file, model; none: this host.",
        show_default=False,
    ),
    root: Path | None = typer.Option(
        None, "--root", help="A host tree: its files, and env.txt, npu-smi-info.txt, pip-freeze.txt there.", show_default=False
    ),
    env: Path | None = typer.Option(
        None, "--env", help="The environment of the tree's shell, KEY=VALUE lines.", show_default=False
    ),
    app_file: Path | None = typer.Option(
        None, "--app", help="A program: missing libraries and acl functions.", show_default=False
    ),
    model: list[Path] = typer.Option(None, "--om", help="A model: its chip and the CANN that made it.", show_default=False),
    probe: bool = typer.Option(False, "--probe", help="Run the minimal program: init, set device, get device, reset."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Name the checks that were fine and those without evidence."),
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Check a host: versions, environment, libraries, device nodes, devices, limits; every finding with its remedy.

    Gives 1 when something is wrong, 0 when there are remarks at most.
    """
    from cli.this_host import look, run_probe
    from diag.check import check as run_checks
    from diag.evidence.gather import NotEvidence
    from diag.report import lines, to_json

    if env is not None and root is None:
        raise CliError("--env belongs to a tree", "give the tree with --root, or the environment file as evidence")
    try:
        seen = _from_evidence(evidence or [], root, env) if evidence or root is not None else look(os.environ)
    except NotEvidence as error:
        return _as_log(error.path) if len(evidence or []) == 1 else _nothing(error.path)
    seen = _with_files(seen, app_file, model or [])
    if probe:
        if evidence or root is not None:
            raise CliError(
                "--probe runs on this host, not on evidence from elsewhere", "leave the evidence out: npu-diag check --probe"
            )
        seen = run_probe(seen)
    checked = run_checks(seen)
    tongue = language(lang)
    fault = _fault(evidence or [], checked)
    if json:
        from json import dumps

        from diag.log_json import to_json as log_to_json

        beside = {} if fault is None else {"log": log_to_json(fault, tongue.value)}
        print(dumps(to_json(checked, tongue.value) | beside, ensure_ascii=False, indent=2))
    else:
        text = lines(checked, tongue.value, verbose)
        if fault is not None:
            from cli.commands.log import verdict

            text = [*verdict(fault, tongue), "", *text]
        shown = folded(text) if sys.stdout.isatty() else text
        print("\n".join(_coloured(line) for line in shown))
    return max(checked.status, int(fault is not None))


def _fault(evidence: list[Path], checked: Checked) -> LogReport | None:
    """A log that was pasted together with the evidence tells a fault of its own."""
    from diag.log_in_evidence import fault

    return fault(evidence, checked) if evidence else None


def _from_evidence(paths: list[Path], root: Path | None, env: Path | None) -> Seen:
    from diag.evidence.gather import of_paths, of_tree, resolved
    from diag.seen import together
    from npu.host.read import env_of, is_tree

    parts = [of_paths(paths)] if paths else []
    if root is not None:
        if not root.is_dir() or not is_tree(root):
            raise CliError(
                f"{root} is no host tree: it has neither usr/local/Ascend nor etc/ascend_install.info",
                "give the folder that stands for / on that host",
            )
        environ = None if env is None else env_of(env.read_text(encoding="utf-8", errors="replace"))
        parts = [together(of_tree(root, environ), str(root)), *parts]
    return resolved(together(parts, parts[0].host.source if len(parts) == 1 else f"{root}, {parts[-1].host.source}"))


def _with_files(seen: Seen, program: Path | None, models: list[Path]) -> Seen:
    from dataclasses import replace

    from diag.evidence.gather import of_model

    if models:
        host = replace(seen.host, models=(*seen.host.models, *(of_model(path) for path in models)))
        seen = replace(seen, host=host)
    if program is not None:
        from cli.this_host import runtime_exports
        from diag.evidence.program import NotAProgram, of_program

        try:
            seen = of_program(program, seen, runtime_exports(seen))
        except NotAProgram as error:
            raise CliError(
                f"{error.path} is no ELF program: {error.reason}", "give the executable itself, not a script"
            ) from error
    return seen


def _as_log(path: str) -> int:
    """Evidence that says nothing of a host may be a log: `npu-diag log` takes it where that verb is there."""
    from cli.npu_diag import VERBS

    if "log" not in VERBS:
        return _nothing(path)
    from cli.npu_diag import app

    with app.make_context("npu-diag", ["log", path]) as context:
        status = app.invoke(context)
    return status if isinstance(status, int) else 0


def _nothing(path: str) -> int:
    raise CliError(
        f"nothing of a host was recognised in {path}",
        "known are: host trees, `env`, `npu-smi info`, `pip freeze`, version.info files, shell sessions, collector files, .om",
    )


def _coloured(line: str) -> str:
    first = line.partition(" ")[0]
    return paint(first, STYLE[first]) + line[len(first) :] if first in STYLE else line
