"""`msprof query`: SQL over a profile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.common import CliError
from cli.options import Json

if TYPE_CHECKING:
    from profiler.convert.sql import Answer

WIDEST = 60  # characters of a column on a terminal
MOST = 200  # rows shown there; pipes, CSV and JSON get all


def query(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A trace file or profile folder.")],
    statement: Annotated[str, typer.Argument(metavar="[SQL]", help="One SQLite statement; none: the tables.")] = "",
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="The rows as CSV.")] = False,
) -> int:
    """Ask a trace in SQL: tables api, task, comm, memory, counter, marker with names as texts and times in ns (start_ns,
    end_ns, duration_ns), and profile, one row for each profile found."""
    if json and csv:
        raise CliError("--json and --csv exclude each other", "leave one of them out")
    from profiler import open as open_trace
    from profiler.convert import sql, tables

    first = open_trace(source)
    traces = [first, *first.parts]
    if not statement:
        for table, names in (tables.held(traces) | {"profile": list(sql.PROFILES)}).items():
            print(f"{table}: {', '.join(names)}")
        return 0
    answer = sql.ask(traces, statement)
    if json:
        import json as codec

        print(codec.dumps([dict(zip(answer.columns, row, strict=True)) for row in answer.rows], ensure_ascii=False, indent=1))
    elif csv:
        import csv as codec_csv

        lines = codec_csv.writer(sys.stdout, lineterminator="\n")
        lines.writerow(answer.columns)
        lines.writerows(answer.rows)
    else:
        _print(answer, sys.stdout.isatty())
    return 0


def _print(answer: Answer, terminal: bool) -> None:
    """Columns as wide as their widest text; on a terminal long texts and long tables are cut, and say so."""
    most = MOST if terminal else len(answer.rows)
    cells = [list(answer.columns), *([_text(v) for v in row] for row in answer.rows[:most])]
    if terminal:
        cells = [[c if len(c) <= WIDEST else c[: WIDEST - 1] + "…" for c in row] for row in cells]
    widths = [max(len(row[n]) for row in cells) for n in range(len(answer.columns))]
    right = [all(isinstance(r[n], int | float | None) for r in answer.rows) for n in range(len(answer.columns))]
    for row in cells:
        print("  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip())
    if len(answer.rows) > most:
        print(f"... {len(answer.rows) - most:,} more rows (--csv and --json give all)")


def _text(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
