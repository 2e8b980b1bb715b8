"""msprof whatif: the profile replayed with changes, and what they would gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.common import CliError, near
from cli.options import Json, Lang

if TYPE_CHECKING:
    from profiler.findings import WhatIf
    from profiler.trace import Trace

FACTOR_MOST = 100.0  # times as long; beyond that it is a typing mistake
Path = Annotated[str, typer.Argument(metavar="DIR", help="A PROF folder, its parent, or a single profile file.")]


def whatif(
    path: Path,
    no_sync: Annotated[bool, typer.Option("--no-sync", help="Drop waits whose results the host does not read next.")] = False,
    fuse: Annotated[bool, typer.Option("--fuse", help="Fuse the kernels a fusion pass would join.")] = False,
    pinned: Annotated[bool, typer.Option("--pinned", help="Copy from and to pinned memory.")] = False,
    streams: Annotated[
        int | None, typer.Option("--streams", metavar="N", min=2, help="Let steps take turns on N streams.", show_default=False)
    ] = None,
    op: Annotated[
        list[str] | None,
        typer.Option("--op", metavar="TYPE=FACTOR", help="Kernels of a type take FACTOR of their time.", show_default=False),
    ] = None,
    json: Json = False,
    lang: Lang = None,
) -> None:
    """Replay a profile with changes: what each would gain, and all of them together."""
    operators = dict(_operator(text) for text in op or [])
    if not (no_sync or fuse or pinned or streams or operators):
        raise CliError("no change is asked for", "add one or more of --no-sync, --fuse, --pinned, --streams 4, --op MatMul=0.5")
    from profiler import open as open_trace
    from profiler.analysis.whatif import Wanted, what_if_ranks

    trace = open_trace(path)
    _refuse_unknown(trace, list(operators))
    wanted = Wanted(no_sync, fuse, pinned, streams or 0, operators)
    _print(what_if_ranks((trace, *trace.parts), wanted), json, lang)


def _operator(text: str) -> tuple[str, float]:
    """'MatMul=0.5' -> ("MatMul", 0.5)."""
    name, _, factor = text.rpartition("=")
    try:
        value = float(factor)
    except ValueError:
        value = -1.0
    if not name or not 0 <= value <= FACTOR_MOST:
        raise CliError(f"--op {text} is no TYPE=FACTOR", "name an operator type and a factor on its time: --op MatMul=0.5")
    return name, value


def _refuse_unknown(trace: Trace, patterns: list[str]) -> None:
    """A mistyped operator is an error when no part of the profile has it."""
    from profiler.analysis.whatif import operator_types, type_matches

    types = sorted({t for part in (trace, *trace.parts) for t in operator_types(part)})
    for pattern in patterns:
        if types and not any(type_matches(pattern, t) for t in types):
            close = near(pattern, types)
            known = f"did you mean {close}? " if close else f"there are {', '.join(types[:5])}{' ...' if types[5:] else ''}; "
            raise CliError(f"no operator of type {pattern} in {trace.source}", f"{known}* and ? match any letters")


def _print(made: list[WhatIf], json: bool, lang: Lang) -> None:
    from profiler.report.whatif import lines, to_json

    if json:
        import json as codec

        first, *rest = (to_json(m) for m in made)
        print(codec.dumps(first | {"parts": rest}, ensure_ascii=False, indent=1))
        return
    from cli.terminal import language

    print("\n\n".join("\n".join(lines(m, language(lang))) for m in made))
