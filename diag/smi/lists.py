"""`info -m`: which chip has which logic and physical id."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diag.smi.records import Mapped, SmiText

HEAD = re.compile(r"^\s*NPU ID\s+(?:Slot ID\s+)?Chip ID\s+")
COLUMN = re.compile(r"NPU ID|Slot ID|Chip ID|Chip Logic ID|Chip Phy-ID|Chip Name")
LAYOUT = {4: "MAP-4", 5: "MAP-5"}


def mapped(lines: Sequence[str]) -> SmiText | None:
    """The mapping rows below the head; the rows of the controller (Mcu, logic id '-') are no devices and left out."""
    start = next((at for at, line in enumerate(lines) if HEAD.match(line)), None)
    if start is None:
        return None
    columns = COLUMN.findall(lines[start])
    if not {"NPU ID", "Chip ID", "Chip Name"} <= set(columns):  # a damaged head: its rows cannot be told apart
        return SmiText("-m", cut="head")
    rows = []
    for line in lines[start + 1 :]:
        words = line.split(maxsplit=len(columns) - 1)
        if len(words) != len(columns) or not words[0].isdigit():
            continue
        row = dict(zip(columns, (word.strip() for word in words), strict=True))
        if row["Chip Name"].lower() != "mcu" and row["Chip ID"].isdigit() and row["NPU ID"].isdigit():
            ids = [int(row[name]) if row.get(name, "").isdigit() else None for name in ("Chip Logic ID", "Chip Phy-ID")]
            rows.append(Mapped(int(row["NPU ID"]), int(row["Chip ID"]), ids[0], ids[1], row["Chip Name"]))
    layout = "MAP-950" if "Slot ID" in columns else LAYOUT.get(len(columns), "")
    return SmiText("-m", layout, mapping=tuple(rows), cut="" if rows else "lines")
