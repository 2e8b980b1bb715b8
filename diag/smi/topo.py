"""`info -t topo`: how the devices are linked, and which CPUs are near them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diag.smi.records import SmiText, Topology

NAME = re.compile(r"(?:NPU|Phy-ID|NIC)\d+")
HEAD = re.compile(r"^\s*(?:NPU|Phy-ID)\d+(?:\s+(?:NPU|Phy-ID|NIC)\d+)*(?:\s+CPU Affinity)?\s*$")


def read(lines: Sequence[str]) -> SmiText | None:
    """The matrix below the head line up to its first blank line. Rows that end too early are left out and named as a cut."""
    start = next((at for at, line in enumerate(lines) if HEAD.match(line)), None)
    if start is None:
        return None
    names = tuple(NAME.findall(lines[start]))
    links: dict[str, tuple[str, ...]] = {}
    affinity: dict[str, str] = {}
    for line in lines[start + 1 :]:
        words = line.split()
        if not words or words[0] not in names:
            break
        if len(words) > len(names):
            links[words[0]] = tuple(words[1 : len(names) + 1])
            affinity[words[0]] = " ".join(words[len(names) + 1 :])
    whole = len(links) == len(names)
    return SmiText("topo", "TOPO", topology=Topology(names, links, affinity), cut="" if whole else "lines")
