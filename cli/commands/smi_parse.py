"""`npu-smi parse FILE`: what a saved text of the device tool says, for people and as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import typer

from cli.common import CliError, run
from cli.options import Json, Lang
from cli.terminal import language

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(arguments: list[str]) -> NoReturn:
    run("npu-smi parse", app, arguments)


@app.command("parse")
def parse(
    file: str = typer.Argument(metavar="FILE", help="A saved output of npu-smi, - for standard input."),
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Read a text of npu-smi: any layout, -t form, watch, -l, -m, topology, or failure.

    Gives 1 when the text tells of a failure or ends too early, 2 when it is no text of npu-smi.
    """
    from diag.smi_text import parse as read

    text = read(sys.stdin.read() if file == "-" else Path(file).read_bytes().decode("utf-8", "replace"))
    if not text.kind:
        raise CliError(f"{file} holds nothing that npu-smi prints", "save the tool's output whole: npu-smi info > smi.txt")
    if json:
        from cli.smi_records import as_json

        print(as_json(text))
    else:
        from cli.smi_records import lines

        print("\n".join(lines(text, language(lang))))
    return 1 if text.error is not None or text.cut else 0
