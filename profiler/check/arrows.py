"""Defects of flow events: one end only, one id for several, ids a viewer cannot tell apart, an end before its beginning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from profiler.check.defect import NOTE, WARNING, Defect, some
from profiler.read.raw_events import NONE, Raw

EXACT = 1 << 53  # whole numbers beyond are not all doubles, which is what JSON numbers are in a browser
SIGNED = 1 << 63
SKEW = 50_000  # ns; clocks of host and device agree to a few us, an arrow that runs further back means another offset
APART = 10**9  # ns; a launch does not wait so long


def _by_key(raw: Raw, phase: str) -> Counter[tuple[str, str]]:
    is_phase = (raw.phase[np.array(raw.flow_rows, np.int64)] == phase).tolist()
    return Counter(key for key, yes in zip(raw.flow_keys, is_phase, strict=True) if yes)


def one_ended(raw: Raw) -> Iterator[Defect]:
    """Arrows with a beginning and no end, or an end and no beginning."""
    tails, heads = _by_key(raw, "s"), _by_key(raw, "f")
    for id, have, want in (("no_head", tails, heads), ("no_tail", heads, tails)):
        alone = [key for key in have if key not in want]
        if alone:
            yield Defect(id, WARNING, raw.where, len(alone), {"of": len(have)}, some([i for _, i in alone]))


def shared_ids(raw: Raw) -> Iterator[Defect]:
    """One id at several beginnings. Frameworks let one call launch several things, so one beginning may have several ends."""
    shared = [key for key, count in _by_key(raw, "s").items() if count > 1]
    if shared:
        yield Defect("shared_id", WARNING, raw.where, len(shared), {}, some([i for _, i in shared]))


def large_ids(raw: Raw) -> Iterator[Defect]:
    """Ids that a viewer reads as doubles merges, or that do not fit into 63 bits."""
    numbers = {int(i) for _, i in raw.flow_keys if i.isascii() and i.isdigit() and len(i) < 40}
    large = [n for n in numbers if n > EXACT]
    if not large:
        return
    merged = len(numbers) - len({float(n) for n in numbers})
    facts = {"merged": merged, "beyond": sum(n >= SIGNED for n in large), "largest": max(large)}
    severity = WARNING if merged or facts["beyond"] else NOTE
    yield Defect("large_id", severity, raw.where, len(large), facts, some([str(n) for n in sorted(large)[-3:]]))


def reversed_arrows(raw: Raw) -> Iterator[Defect]:
    """Ends before their beginning, and all ends far behind it: host and device clocks are not aligned."""
    rows = np.array(raw.flow_rows, np.int64)
    if not len(rows):
        return
    begun: dict[tuple[str, str], int] = {}
    delays: list[int] = []
    listed = sorted(
        zip(raw.phase[rows].tolist(), raw.start[rows].tolist(), raw.flow_keys, strict=True), key=lambda e: e[0] != "s"
    )
    for phase, at, key in listed:
        if at == NONE:
            continue
        if phase == "s":
            begun[key] = min(at, begun.get(key, at))
        elif phase == "f" and key in begun:
            delays.append(at - begun[key])
    back = [-d for d in delays if d < 0]
    if back:
        severity = WARNING if max(back) > SKEW else NOTE
        yield Defect("reversed", severity, raw.where, len(back), {"worst_ns": max(back), "of": len(delays)})
    elif delays and min(delays) > APART:
        yield Defect("clock_offset", WARNING, raw.where, len(delays), {"offset_ns": int(np.median(delays))})
