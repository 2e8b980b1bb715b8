"""A view as lines of text: a heading, then columns that are as wide as they need to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from profiler import texts
from profiler.findings import View

ROWS_MOST = 15
CELL_MOST = 40  # columns; longer texts are cut
UNKNOWN = "-"
IDS = ("device", "stream", "thread", "rank", "last_rank", "src", "dst", "size_class")  # numbers that count nothing
VALUES = "value"  # table of the texts that translates words inside cells


def view_lines(view: View, lang: str, most: int = ROWS_MOST) -> Iterator[str]:
    """The first `most` rows of a view; what lies behind is counted."""
    yield ""
    yield texts.label("view", view.id, lang)
    names = list(view.rows[0])
    head = [texts.label("column", name, lang) for name in names]
    body = [[_cell(name, row, lang) for name in names] for row in view.rows[:most]]
    number = [all(isinstance(row[name], (int, float)) or row[name] is None for row in view.rows) for name in names]
    widths = [max(_width(line[i]) for line in (head, *body)) for i in range(len(names))]
    for line in (head, *body):
        cells = (_padded(cell, widths[i], number[i]) for i, cell in enumerate(line))
        yield ("  " + "  ".join(cells)).rstrip()
    if view.total > most:
        yield "  " + texts.label("word", "more_rows", lang).format(count=f"{view.total - most:,}")


def _cell(name: str, row: Mapping[str, object], lang: str) -> str:
    value = row[name]
    if value is None:
        return UNKNOWN
    if name in IDS or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        value = texts.table(lang).get(VALUES, {}).get(value, value) if name in ("reason", "side", "what", "bound") else value
        return value if len(value) <= CELL_MOST else value[: CELL_MOST - 3] + "..."
    return texts.readable({name: value})[name]


def _padded(cell: str, width: int, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(text: str) -> int:
    """Columns a text takes; wide characters take two."""
    from rich.cells import cell_len

    return cell_len(text)
