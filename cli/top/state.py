"""What top knows: the last look, the use of the last minutes by device, and how processes are sorted and filtered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cli.top.who import Who, who
from diag.smi.records import Device, Process, SmiText

KEPT = 240  # looks a sparkline can reach back
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A process with its user and command line."""

    process: Process
    who: Who

    @property
    def command(self) -> str:
        return self.who.command or self.process.name or "-"


# In the order the key s goes through them; memory from the largest.
SORTS: dict[str, Callable[[Row], Any]] = {
    "memory": lambda row: -(row.process.memory_mb or 0),
    "device": lambda row: (row.process.card, row.process.chip, row.process.pid),
    "pid": lambda row: row.process.pid,
    "user": lambda row: (row.who.user, row.process.pid),
    "command": lambda row: row.command,
}


@dataclass
class State:
    """interval: seconds between looks. selected: index into rows; asking: the process that would be ended."""

    interval: float
    sort: str = "memory"
    filter: str = ""
    typing: bool = False
    selected: int = 0
    asking: Row | None = None
    message: str = ""
    text: SmiText = field(default_factory=lambda: SmiText(""))
    at: float = 0.0
    rows: list[Row] = field(default_factory=list)
    uses: dict[Place, deque[int | None]] = field(default_factory=dict)

    def take(self, text: SmiText, at: float) -> None:
        """A new look. at: unix seconds. A failed one keeps the devices known before; their use is a gap."""
        self.at = at
        if text.error is not None:
            self.text = text
            for history in self.uses.values():
                history.append(None)
            return
        self.text = text
        for device in text.devices:
            self.uses.setdefault(place(device), deque(maxlen=KEPT)).append(device.utilisation)
        self.rows = [Row(process, who(process.pid)) for process in text.processes]

    def shown(self) -> list[Row]:
        """Processes after filter and sort; the filter looks into pid, user, name and command line, whatever the case."""
        wanted = self.filter.lower()
        hits = [r for r in self.rows if wanted in f"{r.process.pid} {r.who.user} {r.process.name} {r.command}".lower()]
        return sorted(hits, key=SORTS[self.sort])

    def next_sort(self) -> None:
        names = list(SORTS)
        self.sort = names[(names.index(self.sort) + 1) % len(names)]

    def move(self, by: int) -> None:
        self.selected = min(max(self.selected + by, 0), max(len(self.shown()) - 1, 0))

    def current(self) -> Row | None:
        rows = self.shown()
        return rows[min(self.selected, len(rows) - 1)] if rows else None


def place(device: Device) -> Place:
    return device.card, device.chip
