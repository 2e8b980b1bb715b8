"""Options that several commands share, with the same words in every help."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.terminal import Language

Json = Annotated[bool, typer.Option("--json", help="The same facts as JSON on stdout.")]
Lang = Annotated[Language | None, typer.Option("--lang", help="Language of the texts; default from LANG.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]
