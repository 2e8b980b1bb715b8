"""`msprof convert`: a trace in another form, by the suffix of the output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cli.common import CliError
from cli.options import Force
from cli.terminal import free_path, written


def convert(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A trace file or profile folder.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help=".json, .json.gz (for viewers), .db (msprof's), .csv, .parquet, .arrow (one table).",
        ),
    ],
    table: Annotated[str, typer.Option("--table", help="Of CSV and Arrow: api, task, comm, memory, counter, marker.")] = "task",
    force: Force = False,
) -> int:
    """Write a trace in another form. JSON: exact times as small numbers, ids below 2^31, broken records left out."""
    suffix = ".json.gz" if output.name.endswith(".json.gz") else output.suffix
    write = FORMS.get(suffix)
    if write is None:
        raise CliError(f"no form is known for {output.name}", f"give a name that ends in one of {', '.join(FORMS)}")
    path = free_path(output, output.name, force)
    write(source, path, table, force)
    written(path)
    return 0


def _json(source: Path, path: Path, table: str, force: bool) -> None:
    from profiler.convert.timeline import load
    from profiler.convert.write import Placed, number_pids, usable, write

    timelines = load(source)
    if len(timelines) > 1:
        raise CliError(f"{source} holds {len(timelines)} traces", f"msprof merge {source} -o {path} joins them on one clock")
    placed = Placed(timelines[0], usable(timelines[0].raw))
    number_pids([placed])
    count = write(path, [placed], replace=force)
    print(f"{count:,} events" + (f", {placed.left_out:,} without a usable time left out" if placed.left_out else ""))


def _db(source: Path, path: Path, table: str, force: bool) -> None:
    from profiler import open as open_trace
    from profiler.export.msprof_db import fill

    trace = open_trace(source)
    if trace.parts:
        raise CliError(f"{source} holds {len(trace.parts) + 1} profiles", "convert them one by one")
    if force:
        path.unlink(missing_ok=True)
    fill(trace, path)


def _csv(source: Path, path: Path, table: str, force: bool) -> None:
    import csv

    from profiler import open as open_trace
    from profiler.convert import tables
    from profiler.export.files import whole

    first = open_trace(source)
    traces = [first, *first.parts]
    names = _names(tables.held(traces), table, source)
    with whole(path, replace=force) as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(names)
        lines.writerows(tables.rows(traces, table, names))


def _arrow(source: Path, path: Path, table: str, force: bool) -> None:
    from profiler import open as open_trace
    from profiler.convert import arrow, tables

    first = open_trace(source)
    traces = [first, *first.parts]
    _names(tables.held(traces), table, source)
    arrow.write(traces, table, path)


def _names(held: dict[str, list[str]], table: str, source: Path) -> list[str]:
    if table not in held:
        raise CliError(f"{source} has no rows for table {table!r}", f"it has {', '.join(held) or 'none at all'}: --table NAME")
    return held[table]


FORMS: dict[str, Callable[[Path, Path, str, bool], None]] = {
    ".json": _json, ".json.gz": _json, ".db": _db, ".csv": _csv, ".parquet": _arrow, ".arrow": _arrow,
}  # fmt: skip
