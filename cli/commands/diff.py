"""`npu-diag diff A B [C ...]`: what differs between hosts."""

from __future__ import annotations

import json as json_text
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.common import CliError
from cli.options import Json, Lang
from cli.terminal import folded, language

if TYPE_CHECKING:
    from diag.seen import Seen

HERE = "."

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("diff")
def diff(
    hosts: list[str] = typer.Argument(
        metavar="HOST HOST...", help="Host trees, collector files, texts, names of simulated hosts; a dot for this host."
    ),
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Name what differs between hosts, and which difference breaks something; of three or more the odd ones out are marked.

    Gives 1 when anything differs.
    """
    from diag.breaking import breaks
    from diag.difference_report import lines, to_json
    from diag.differences import compare

    if len(hosts) < 2:
        raise CliError("one host cannot be compared", "name at least two: npu-diag diff good.txt bad.txt (a dot is this host)")
    seen = [_look(name) for name in hosts]
    found = compare(seen)
    broken = breaks(seen, found)
    tongue = language(lang)
    if json:
        print(json_text.dumps(to_json(hosts, found, broken, tongue.value), ensure_ascii=False, indent=2))
    else:
        text = list(lines(hosts, found, broken, tongue.value))
        print("\n".join(folded(text) if sys.stdout.isatty() else text))
    return int(bool(found or broken))


def _look(name: str) -> Seen:
    from cli.this_host import look
    from diag.evidence.gather import NotEvidence, of_paths
    from npu.driver.host_file import hosts_folder

    if name == HERE:
        return look(os.environ)
    folder = hosts_folder(os.environ)
    if not Path(name).exists() and folder is not None and (folder / name / "machine.json").is_file():
        return look({**os.environ, "NPU_HOST": name})
    try:
        return of_paths([Path(name)])
    except NotEvidence as error:
        raise CliError(
            f"nothing of a host was recognised in {error.path}",
            "give a host tree, a collector file, or the texts of env, npu-smi info, pip freeze",
        ) from error
