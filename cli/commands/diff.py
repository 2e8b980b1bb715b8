"""`npu-diag diff A B [C ...]`: what differs between hosts."""

from __future__ import annotations

import json as json_text
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.common import CliError
from cli.options import Json

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
) -> int:
    """Name what differs between hosts; of three or more the odd ones out are marked. Gives 1 when anything differs."""
    from diag.differences import compare

    if len(hosts) < 2:
        raise CliError("one host cannot be compared", "name at least two: npu-diag diff good.txt bad.txt (a dot is this host)")
    found = compare([_look(name) for name in hosts])
    if json:
        told = [{"item": d.item, "values": list(d.values), "odd": [hosts[n] for n in d.odd]} for d in found]
        print(
            json_text.dumps(
                {"schema": 1, "tool": "npu-diag diff", "hosts": hosts, "missing": [], "findings": told},
                ensure_ascii=False,
                indent=2,
            )
        )
        return int(bool(found))
    for one in found:
        print(one.item)
        for n, (name, value) in enumerate(zip(hosts, one.values, strict=True)):
            mark = "  <- differs from the others" if n in one.odd and len(hosts) > 2 else ""
            print(f"    {name}: {'not known' if value is None else value}{mark}")
    print(f"{len(found)} difference(s)" if found else "no differences in what all of them tell")
    return int(bool(found))


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
