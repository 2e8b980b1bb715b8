"""`msprof cut`: a time range of a trace as a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import CliError
from cli.options import Force
from cli.terminal import free_path, written


def cut(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A trace file or profile folder.")],
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Begin of the range after the first event: 1.5s, 200ms.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="End of the range after the first event.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .json or .json.gz.")],
    force: Force = False,
) -> int:
    """Cut a time range out. What reaches into the range is kept whole, arrows with both ends; names of processes stay."""
    from npu.units import parse_duration

    try:
        start, stop = parse_duration(begin), parse_duration(end)
    except ValueError as error:
        raise CliError(str(error), "give a number with its unit: --from 200ms --to 1.5s") from error
    if stop <= start:
        raise CliError(f"--to {end} is not after --from {begin}", "give an end later than the begin")
    from profiler.convert.cut import within
    from profiler.convert.timeline import load
    from profiler.convert.write import Placed, number_pids, write

    path = free_path(output, "cut.json", force)
    timelines = load(source)
    if len(timelines) > 1:
        raise CliError(f"{source} holds {len(timelines)} traces", "cut one of them, or join them first with msprof merge")
    placed = Placed(timelines[0], within(timelines[0].raw, start, stop))
    kept = placed.keep & (placed.timeline.raw.phase != "M")
    if not kept.any():
        raise CliError(f"nothing lies between {begin} and {end}", f"msprof check {source} says how long the trace is")
    number_pids([placed])
    write(path, [placed], replace=force)
    print(f"{int(kept.sum()):,} of {int((placed.timeline.raw.phase != 'M').sum()):,} events")
    written(path)
    return 0
