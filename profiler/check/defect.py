"""What a check says: defects with their facts, and how much of the file or folder is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)
NAMED = 3  # examples named with a defect


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong. `id` chooses the texts, facts fill them.

    severity: error (data are lost or false), warning (some viewer or figure goes wrong), note (worth knowing, nothing is wrong).
    where: file or folder. count: how many events, files or ids. examples: a few of them by name.
    """

    id: str
    severity: str
    where: str
    count: int
    facts: Mapping[str, object] = field(default_factory=dict)
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sound:
    """What a timeline holds: counts of usable events and the time they span, ns."""

    where: str
    events: int
    slices: int
    arrows: int
    counters: int
    processes: int
    threads: int
    span: int


@dataclass(frozen=True)
class Checkup:
    """All of one check. rows: of each table of the Trace that could be made. missing: what its readers did not find, and why."""

    source: str
    files: tuple[Sound, ...]
    rows: Mapping[str, int]
    defects: tuple[Defect, ...]
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def wrong(self) -> bool:
        """True when anything worse than a note was found."""
        return any(d.severity != NOTE for d in self.defects)


def some(names: Sequence[str]) -> tuple[str, ...]:
    """The first distinct names, as examples."""
    return tuple(dict.fromkeys(n for n in names if n))[:NAMED]
