"""Names and forms of a capture's files: what the recorder writes and the reader of own captures expects."""

from __future__ import annotations

import re
import struct

from npu.events import TABLES

FOLDER = "npuscope"  # within the PROF folder
STRINGS = "strings.bin"  # records of uint32 length + UTF-8, in the order of their ids
META = "meta.json"
FIRST_ROWS = 1 << 12  # rows of a table's first segment; each further one doubles, up to MOST_ROWS
MOST_ROWS = 1 << 18
PROF_NAME = re.compile(r"^PROF_\d{6}_\d{17}_\w+$")


def record(table: str) -> struct.Struct:
    """The packed little-endian record of a table; its last byte is the commit mark."""
    return struct.Struct("<" + "".join(c.code for c in TABLES[table]))


def segment(table: str, number: int) -> str:
    """File name of a table's segment."""
    return f"{table}.{number:04}.seg"


def rows_of(number: int) -> int:
    """How many rows segment `number` has room for."""
    return int(min(MOST_ROWS, FIRST_ROWS << min(number, 16)))


def describe() -> dict[str, list[tuple[str, str, bool]]]:
    """The tables' columns as meta.json states them: (name, struct code, is a text id)."""
    return {t: [(c.name, c.code, c.text) for c in columns] for t, columns in TABLES.items()}
