"""Counters of the timeline: core clock, memory and link rates, each on the layer of its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from npu import soc
from profiler.export import chrome, columns, words
from profiler.export.flows import Flows
from profiler.trace import Array, Trace

CLOCK = "AI Core Freq"


class _Curve(NamedTuple):
    """Events of one name on one layer of a device: series of one event hold a value each at the same times (ns)."""

    layer: chrome.Layer
    device: int
    event: str
    times: Array
    series: dict[str, Array]


def events_of(trace: Trace, _flows: Flows, hidden: Collection[str] = ()) -> Iterator[list[str]]:
    """Counter events of all samples the real timeline has a place for (counters.csv, whose column report is what --reports calls
    them: those hidden are left out); others are not part of it.

    The clock of the cores is always there: a simulated device without samples runs at its nominal clock from the start on.
    """
    named: set[int] = set()
    zero = chrome.unix_zero(trace)
    for curve in _curves(trace, hidden):
        pid = chrome.process_id(trace, curve.layer, curve.device)
        if pid not in named:
            named.add(pid)
            yield chrome.metadata(pid, curve.layer, curve.device)
        head = f'{{"name":{chrome.text(curve.event)},"pid":{pid},"tid":0,"ts":"'
        values = [[f'"{name}":{value:.10g}' for value in column.tolist()] for name, column in curve.series.items()]
        yield [f'{head}{time}","args":{{{",".join(parts)}}},"ph":"C"}}' for time, *parts in
               zip(columns.microseconds(curve.times + zero), *values, strict=True)]  # fmt: skip
    if trace.meta.get("simulated") and "freq" not in hidden:
        for device in trace.devices():
            pid = chrome.process_id(trace, chrome.FREQUENCY, device)
            if pid not in named:
                yield [*chrome.metadata(pid, chrome.FREQUENCY, device), *_nominal_clock(trace, pid, zero + trace.span()[0])]


def _curves(trace: Trace, hidden: Collection[str]) -> list[_Curve]:
    """By name and device. A pattern may name the event and the series that a counter is ("PCIe_post/Tx": Tx of PCIe_post)."""
    made: dict[tuple[str, int, bytes], _Curve] = {}
    counter = trace.counter
    if not counter:
        return []
    for number, device in sorted(set(zip(counter["name"].tolist(), counter["device"].tolist(), strict=True))):
        name = trace.strings[number]
        found = ((row, re.fullmatch(row["pattern"], name)) for row in words.rows_of("counters.csv"))
        row, match = next(((row, match) for row, match in found if match), ({}, None))
        if match is None or row["report"] in hidden:
            continue
        parts = match.groupdict()
        mine = np.flatnonzero((counter["name"] == number) & (counter["device"] == device))
        event, times = parts.get("event", name), counter["time"][mine]
        layer = chrome.Layer(row["process"], int(row["sort"]))
        curve = made.setdefault((event, device, times.tobytes()), _Curve(layer, device, event, times, {}))
        curve.series[parts.get("series", row["series"])] = counter["value"][mine]
    return list(made.values())


def _nominal_clock(trace: Trace, pid: int, time: int) -> list[str]:
    try:
        chip = soc.find(str(trace.meta.get("soc", "")))
    except KeyError:
        return []
    when = columns.microseconds(np.array([time]))[0]
    return [f'{{"name":"{CLOCK}","pid":{pid},"tid":0,"ts":"{when}","args":{{"MHz":{chip.cube_mhz}}},"ph":"C"}}']
