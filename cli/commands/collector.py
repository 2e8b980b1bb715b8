"""`npu-diag collector`: print the script that collects the facts of a server without Python, root or a network."""

from __future__ import annotations

import sys
from importlib import resources

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("collector")
def collector() -> int:
    """Print a POSIX shell script. On the server: sh collector.sh; its one output file is read by check, diff and log.

    Values that may be secrets are left out, home folder, user and host name are replaced.
    """
    sys.stdout.write(resources.files("diag").joinpath("data/collector.sh").read_text(encoding="utf-8"))
    return 0
