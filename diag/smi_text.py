"""The device tool's text as records: `parse(text) -> SmiText`, for every form of its output and of its refusals.

The tool has no machine-readable form and no stable one. What is read is told from header lines and borders, never from a
version number; a text that ends too early gives what it holds and says where it was cut.
"""

from __future__ import annotations

import re
from dataclasses import replace

from diag.smi import failed, keyed, lists, session, table, topo, watch
from diag.smi.lines import tool_lines
from diag.smi.records import SmiText

INCOMPLETE = "The driver package may not be completely installed"
VERSION = re.compile(r"npu-smi version:\s*(\S+)")
# Each reads its form out of the lines and gives None when it is not there; a pasted session may hold several.
READERS = (table.read, topo.read, watch.read, lists.mapped, keyed.read)


def parse(text: str) -> SmiText:
    """What the text says. Of several forms in one text the first of READERS names the kind, the others add their facts.

    Never raises: a text that holds nothing of the tool's has the kind "".
    """
    lines = tool_lines(text)
    found = [made for read in READERS if (made := read(lines)) is not None]
    error, typed = failed.read(lines), session.commands(lines)
    if not found:
        version = VERSION.search(text)
        kind = "failure" if error is not None else "version" if version is not None else ""
        return SmiText(kind, tool=version[1] if version is not None else "", error=error, session=typed)
    first = found[0]
    processes = next((made.processes for made in found if made.processes), ())
    return replace(
        first, processes=processes, error=error, session=typed, driver_incomplete=INCOMPLETE in text,
        blocks=tuple(block for made in found for block in made.blocks),
        mapping=tuple(row for made in found for row in made.mapping),
        samples=tuple(row for made in found for row in made.samples),
        topology=next((made.topology for made in found if made.topology is not None), None),
    )  # fmt: skip
