"""msprof compare: what got slower between two profiles, and why; for people and for CI."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from cli.common import CliError
from cli.options import Json, Lang

Before = Annotated[str, typer.Argument(metavar="A", help="The profile before: a PROF folder, its parent, or a file.")]
After = Annotated[str, typer.Argument(metavar="B", help="The profile after.")]


def compare(
    a: Before,
    b: After,
    fail_above: Annotated[
        str | None,
        typer.Option("--fail-above", metavar="PERCENT", help="Exit with 1 if B is slower by more.", show_default=False),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables for a review page.")] = False,
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Compare two profiles per step, by layer, operator, call and collective. Differences within the noise are none."""
    limit = None if fail_above is None else _share(fail_above)
    if markdown and json:
        raise CliError("--markdown and --json exclude each other", "leave one of them out")
    from profiler import open as open_trace
    from profiler.analysis.compare import compare as judge
    from profiler.analysis.compare import pairs
    from profiler.report import compare as report

    before, after = open_trace(a), open_trace(b)
    made = [judge(one, other) for one, other in pairs((before, *before.parts), (after, *after.parts))]
    if json:
        import json as codec

        first, *rest = (report.to_json(m) for m in made)
        print(codec.dumps(first | {"parts": rest}, ensure_ascii=False, indent=1))
    else:
        from cli.terminal import language

        form = report.markdown if markdown else report.lines
        print("\n\n".join("\n".join(form(m, language(lang))) for m in made))
    return int(limit is not None and any(m.kind == "slower" and m.change > limit for m in made))


def _share(text: str) -> float:
    """'5%' and '5' -> 0.05."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if found is None:
        raise CliError(f"--fail-above {text} is no percentage", "give a number, with or without a percent sign: --fail-above 5%")
    return float(found[1]) / 100
