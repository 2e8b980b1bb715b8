"""`msprof check`: what is wrong with a trace file or profile folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.options import Json, Lang


def check(
    source: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A trace file, a profile folder, or its parent.")],
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Say what is wrong with a trace: each defect with its place, how often, what it spoils and what to do.

    Gives 1 when something is wrong, 0 when there are remarks at most.
    """
    from cli.terminal import folded, language
    from profiler.check.run import check as run
    from profiler.check.say import lines, to_json

    found = run(source)
    tongue = language(lang).value
    if json:
        import json as codec

        print(codec.dumps(to_json(found, tongue), ensure_ascii=False, indent=1))
    else:
        text = lines(found, tongue)
        print("\n".join(folded(text) if sys.stdout.isatty() else text))
    return int(found.wrong)
