"""Defects of the file itself: cut, damaged, repaired, not the form a viewer takes."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.check.defect import ERROR, NOTE, WARNING, Defect
from profiler.read.raw_events import Raw

LARGE = 1 << 30  # bytes; browsers hold a trace several times over and give up at 4 GiB
# words of a reader's reason -> defect; the reasons stand in profiler.read.events_json
REASONS = (
    ("compressed file is truncated", "cut_archive", ERROR),
    ("truncated", "truncated", ERROR),
    ("badly escaped", "escaped", WARNING),
    ("NaN", "not_numbers", WARNING),
    ("comma", "comma", WARNING),
    ("behind the end", "behind_end", WARNING),
    ("one a line", "lines", WARNING),
    ("UTF-16", "utf16", WARNING),
    ("no events", "odd_entries", WARNING),
    ("damaged", "damaged", ERROR),
)


def as_read(raw: Raw) -> Iterator[Defect]:
    """What reading it met."""
    for what, why in raw.problems:
        for words, id, severity in REASONS:
            if words in why:
                facts = {"slices": len(raw.slices), "events": len(raw), "why": why}
                yield Defect(id, severity, raw.where, len(raw), facts)
                break
        else:
            raise ValueError(f"no defect is known for {what}: {why}")


def unit_shown(raw: Raw) -> Iterator[Defect]:
    """displayTimeUnit may only be ms or ns; Perfetto and Chrome take neither us nor s."""
    unit = raw.beside.get("displayTimeUnit")
    if unit is not None and unit not in ("ms", "ns"):
        yield Defect("display_unit", NOTE, raw.where, 1, {"unit": unit})


def too_large(raw: Raw) -> Iterator[Defect]:
    """Files of over LARGE bytes, of which browsers hold several copies."""
    size = raw.path.stat().st_size
    if size > LARGE:
        yield Defect("too_large", WARNING, raw.where, len(raw), {"size_bytes": size})
