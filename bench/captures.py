"""Captures written straight from numpy, in the recorder's layout: as large as a measurement wants them, in a second."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu import events
from profiler.record.layout import FOLDER, META, STRINGS, describe, rows_of, segment

CODES = {"q": "<i8", "i": "<i4", "b": "i1", "d": "<f8"}  # struct codes of npu.events -> numpy types
Rows = NDArray[Any]


def empty(table: str, count: int) -> Rows:
    """Committed rows without values."""
    rows = np.zeros(count, [(c.name, CODES[c.code]) for c in events.TABLES[table]])
    for column in events.TABLES[table]:
        rows[column.name] = -1
    rows["ok"] = 1
    return rows


def write_prof(prof: Path, tables: Mapping[str, Rows], texts: Sequence[str], **facts: object) -> None:
    """A PROF folder as the recorder would have left it. texts: by their ids; facts: further keys of meta.json."""
    folder = prof / FOLDER
    folder.mkdir(parents=True)
    for table, rows in tables.items():
        number = at = 0
        while at < len(rows):
            rows[at : at + rows_of(number)].tofile(folder / segment(table, number))
            at, number = at + rows_of(number), number + 1
    (folder / STRINGS).write_bytes(b"".join(len(t).to_bytes(4, "little") + t for t in (text.encode() for text in texts)))
    usual = {"soc": "Ascend910B3", "generator": "npuscope", "simulated": True, "tables": describe(), "ended_unix": 0}
    (folder / META).write_text(json.dumps(usual | facts))
