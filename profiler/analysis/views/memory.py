"""Device memory over the window (view V12). Bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npu import events
from profiler.analysis.views.basis import Basis
from profiler.trace import Array, Columns

ALLOC, FREE = (events.MEMORY_EVENTS.index(e) for e in ("alloc", "free"))
ALLOCATORS = ("PTA", "PTA+GE", "GE")  # components whose rows tell allocated and reserved bytes of one pool, the framework's first
OWNERS_MOST = 10
SLOPE_MIN = 5  # steps a slope needs


class Owner(NamedTuple):
    name: str
    bytes: int
    blocks: int


class Memory(NamedTuple):
    """One device. peak, at: highest allocated and when; reserved: highest reserved; fragmentation_share: 1 - allocated/reserved
    while that much is reserved, with the most that was allocated then (None where no reservation was recorded). samples: rows
    that is told from. owners: what lived at the peak. slope: growth per step of the allocated bytes at step ends, fit: its R
    squared (None below SLOPE_MIN steps), late_slope: of the later half of the steps. tenths: highest allocated bytes
    in each tenth of the recorded time (none where one of them has no row). allocs, frees: events inside the window.

    Where several components report, the curves are those of the framework's allocator: pools do not add up to one curve."""

    device: int
    peak_bytes: int
    at: int
    reserved_bytes: int
    fragmentation_share: float | None
    owners: tuple[Owner, ...]
    slope: float | None
    fit: float | None
    allocs: int
    frees: int
    samples: int = 0
    late_slope: float | None = None
    tenths: tuple[int, ...] = ()


def memory(basis: Basis) -> tuple[Memory, ...]:
    """One record per device with memory rows."""
    table = basis.trace.memory
    if not table:
        return ()
    devices = table["device"] if "device" in table else np.zeros(len(table), np.int64)
    made = []
    for device in np.unique(devices).tolist():
        rows = np.flatnonzero(devices == device)
        rows = rows[np.argsort(table["time"][rows], kind="stable")]
        made.append(_of_device(basis, table, rows, int(device)))
    return tuple(made)


def curve(table: Columns, rows: Array) -> Array:
    """Allocated bytes after each row: as recorded, else the running sum of allocations and releases."""
    known = table.get("allocated")
    if known is not None and (known[rows] >= 0).any():
        values = known[rows].astype(np.int64)
        last = np.maximum.accumulate(np.where(values >= 0, np.arange(len(rows)), 0))
        filled: Array = np.maximum(values[last], 0)
        return filled
    event = table["event"][rows]
    signed = np.where(event == ALLOC, table["bytes"][rows], np.where(event == FREE, -table["bytes"][rows], 0))
    summed: Array = np.cumsum(signed)
    return summed


def _of_device(basis: Basis, table: Columns, rows: Array, device: int) -> Memory:
    everything, rows = rows, _allocator(basis, table, rows)
    allocated = curve(table, rows)
    top = int(np.argmax(allocated))
    reserved = table.get("reserved")
    held = reserved[rows].astype(np.int64) if reserved is not None else np.full(len(rows), -1)
    most = int(np.argmax(np.where(held == held.max(), allocated, -1)))
    inside = (table["time"][everything] >= basis.window[0]) & (table["time"][everything] < basis.window[1])
    event = table["event"][everything]
    slope, fit = _slope(basis, table["time"][rows], allocated)
    late, _ = _slope(basis, table["time"][rows], allocated, later=True)
    return Memory(
        device,
        int(allocated[top]),
        int(table["time"][rows[top]]),
        max(0, int(held[most])),
        1 - float(allocated[most]) / float(held[most]) if held[most] > 0 else None,
        _owners(basis, table, rows[: top + 1]),
        slope,
        fit,
        int((inside & (event == ALLOC)).sum()),
        int((inside & (event == FREE)).sum()),
        len(rows),
        late,
        _tenths(table["time"][rows], allocated),
    )


def _tenths(time: Array, allocated: Array) -> tuple[int, ...]:
    borders = np.linspace(float(time[0]), float(time[-1]), 11)[:10]
    first = np.searchsorted(time, borders.astype(np.int64))
    if (np.diff(np.append(first, len(time))) <= 0).any():
        return ()
    return tuple(int(v) for v in np.maximum.reduceat(allocated, first))


def _allocator(basis: Basis, table: Columns, rows: Array) -> Array:
    """Rows of the first component of ALLOCATORS that reports here; all rows where none does."""
    component = table.get("component")
    if component is not None:
        for name in ALLOCATORS:
            mine: Array = rows[component[rows] == basis.trace.strings.find(name)]
            if len(mine):
                return mine
    return rows


def _owners(basis: Basis, table: Columns, rows: Array) -> tuple[Owner, ...]:
    """Blocks allocated and not released in the given rows, by name, component or call site."""
    key = next((table[n] for n in ("allocation", "address") if n in table and (table[n][rows] >= 0).any()), None)
    if key is None:
        return ()
    event = table["event"][rows]
    live: dict[int, int] = {}
    for row, number, kind in zip(rows.tolist(), key[rows].tolist(), event.tolist(), strict=True):
        if kind == ALLOC:
            live[number] = row
        elif kind == FREE:
            live.pop(number, None)
    label = next((table[n] for n in ("name", "site", "component") if n in table and (table[n][rows] >= 0).any()), None)
    sums: dict[str, list[int]] = {}
    for row in live.values():
        name = basis.trace.strings[int(label[row])] if label is not None else ""
        entry = sums.setdefault(name, [0, 0])
        entry[0] += int(table["bytes"][row])
        entry[1] += 1
    ordered = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))
    return tuple(Owner(name, size, count) for name, (size, count) in ordered[:OWNERS_MOST])


def _slope(basis: Basis, time: Array, allocated: Array, later: bool = False) -> tuple[float | None, float | None]:
    """Least-squares growth per step of the allocated bytes at step ends (of the later half of the steps), and its R squared."""
    ends = basis.steps.ends[basis.steps.first :]
    if len(ends) < SLOPE_MIN:
        return None, None
    ends = ends[len(ends) // 2 :] if later else ends
    at = np.searchsorted(time, ends, side="right") - 1
    values = np.where(at >= 0, allocated[np.maximum(at, 0)], 0).astype(float)
    steps = np.arange(len(values), dtype=float)
    centred, spread = steps - steps.mean(), values - values.mean()
    slope = float((centred * spread).sum() / (centred * centred).sum())
    total = float((spread * spread).sum())
    return slope, float((slope * centred * spread).sum() / total) if total else 1.0
