"""`npuscope graph MODEL.om`: what the converter made of a model, and what each kernel is predicted to take."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.common import CliError
from cli.graph_text import lines, page
from cli.options import Force, Json, Lang
from cli.terminal import folded, free_path, language, written

Model = Annotated[Path, typer.Argument(metavar="MODEL.om", help="A model file made by our atc.", show_default=False)]
Html = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML page.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Every kernel, not only the longest.")]


def graph(model: Model, html: Html = None, all: All = False, json: Json = False, lang: Lang = None, force: Force = False) -> None:
    """Say what was fused into what, what was not and why, the conversions, the memory plan and the predicted times."""
    from npu import om
    from npu.graph.report import read

    try:
        report = read(model)
    except OSError as error:
        raise CliError(f"{model}: {error.strerror}", "give the path of an .om file") from error
    except om.BadModel as error:
        raise CliError(
            str(error), "convert the ONNX model with atc of this toolkit; models of the real ATC cannot be read"
        ) from error
    tongue = language(lang)
    if json:
        print(json_text.dumps(report.facts(), indent=2, ensure_ascii=False))
        return
    told = list(lines(report, tongue, all))
    print("\n".join(folded(told) if sys.stdout.isatty() else told))
    if html is not None:
        path = free_path(html, html.name, force)
        path.write_text(page(report, tongue), encoding="utf-8")
        written(path)
