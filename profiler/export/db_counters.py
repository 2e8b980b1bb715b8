"""Sampled counters (AICORE_FREQ, NPU_MEM, HBM, DDR, LLC, HCCS, PCIE, QOS) and OVERLAP_ANALYSIS.

db_counters.csv says which column of which table a counter's name means; named groups of the pattern are columns too. Where the
table has the least, the most and the mean of a sample (joined by |), a counter of one value is all three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from profiler.export import chrome, info_json, words
from profiler.export.database import Database, schema
from profiler.export.overlap import overlap
from profiler.trace import Array, Trace


@dataclass
class _Series:
    """Counters that fill one table for one device and one set of named groups: column -> (times, values)."""

    table: str
    device: int
    groups: dict[str, str]
    columns: dict[str, tuple[Array, Array]] = field(default_factory=dict)


def write(database: Database, trace: Trace) -> None:
    """Samples whose names msprof has a table for, and the overlap of each device."""
    for series in _series(trace):
        _insert(database, series)
    if trace.meta.get("simulated"):
        _nominal_clock(database, trace)
    _overlap(database, trace)


def _series(trace: Trace) -> list[_Series]:
    made: dict[tuple[object, ...], _Series] = {}
    counter = trace.counter
    if not counter:
        return []
    zero = chrome.unix_zero(trace)
    for number, device in sorted(set(zip(counter["name"].tolist(), counter["device"].tolist(), strict=True))):
        for row in words.rows_of("db_counters.csv"):
            match = re.fullmatch(row["pattern"], trace.strings[number])
            if match is None:
                continue
            groups = match.groupdict()
            mine = (counter["name"] == number) & (counter["device"] == device)
            series = made.setdefault((row["table"], device, *groups.values()), _Series(row["table"], device, groups))
            for column in row["column"].split("|"):
                series.columns[column] = (counter["time"][mine] + zero, counter["value"][mine] * float(row["factor"]))
            break
    return list(made.values())


def _insert(database: Database, series: _Series) -> None:
    """Rows at every time any of the columns was sampled; 0 in a column that was not."""
    times = np.unique(np.concatenate([t for t, _ in series.columns.values()]))
    filled: dict[str, Array | int] = {"deviceId": series.device, "timestampNs": times}
    for name, kind in schema()[series.table]:
        if name in filled:
            continue
        if name in series.groups:
            text = series.groups[name]
            filled[name] = int(text) if text.isdigit() else database.text(text if name == "eventName" else text.lower())
            continue
        values = np.zeros(len(times))
        if name in series.columns:
            at, sampled = series.columns[name]
            values[np.searchsorted(times, at)] = sampled
        filled[name] = values if kind == "REAL" else np.rint(values).astype(np.int64)
    database.insert(series.table, *(filled[name] for name, _ in schema()[series.table]))


def _nominal_clock(database: Database, trace: Trace) -> None:
    """A simulated device runs at its nominal clock from the first event on; a device with samples has told its own."""
    chip = info_json.chip(trace)
    sampled = {s.device for s in _series(trace) if s.table == "AICORE_FREQ"}
    devices = [d for d in trace.devices() if d not in sampled]
    if chip is not None:
        begin = chrome.unix_zero(trace) + trace.span()[0]
        database.facts("AICORE_FREQ", [(device, begin, chip.cube_mhz) for device in devices])


def _overlap(database: Database, trace: Trace) -> None:
    """Types are the places of the four sets in ENUM_OVERLAP_ANALYSIS_TYPE, which is their order in the timeline too."""
    first = 1
    for device in trace.devices():
        for kind, spans in enumerate(overlap(trace, device).values()):
            ids = first + np.arange(len(spans.starts))
            zero = chrome.unix_zero(trace)
            database.insert("OVERLAP_ANALYSIS", ids, device, spans.starts + zero, spans.ends + zero, kind)
            first += len(ids)
