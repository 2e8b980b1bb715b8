"""Writers that pass on only the rows a collection wants: a stretch of time, some devices, some domains of marks."""

from __future__ import annotations

from collections.abc import Callable, Container

from npu.events import MARKERS, TABLES

Writer = Callable[..., None]
MARKED = [MARKERS.index(kind) for kind in ("range", "mark")]


def _place(table: str, column: str) -> int:
    return [c.name for c in TABLES[table]].index(column)


def nothing(*_row: object) -> None:
    """The writer of a table nobody wants."""


def within(write: Writer, begin: int, end: int) -> Writer:
    """Rows that start in [begin, end), ns of the timeline; a row's first value is its time."""

    def row(start: int, *rest: object) -> None:
        if begin <= start < end:
            write(start, *rest)

    return row


def on_devices(table: str, write: Writer, devices: Container[int]) -> Writer:
    """Rows of some devices, and those that belong to none."""
    if "device" not in (c.name for c in TABLES[table]):
        return write
    place = _place(table, "device")

    def row(*values: int) -> None:
        if values[place] < 0 or values[place] in devices:
            write(*values)

    return row


def of_domains(write: Writer, wanted: Callable[[int], bool], marks: bool) -> Writer:
    """Rows of the marker table: marks and ranges of the domains (text ids) that are wanted, none without `marks`; all others
    always."""
    kind, domain = _place("marker", "kind"), _place("marker", "domain")

    def row(*values: int) -> None:
        if values[kind] not in MARKED or (marks and wanted(values[domain])):
            write(*values)

    return row
