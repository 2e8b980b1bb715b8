"""Counters of the timeline: core clock, memory and link rates, each on the layer of its name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from npu import soc
from profiler.export import chrome, columns, words
from profiler.export.flows import Flows
from profiler.export.timeline_overlap import devices_of
from profiler.trace import Trace

CLOCK = "AI Core Freq"


def events_of(trace: Trace, _flows: Flows) -> Iterator[list[str]]:
    """Counter events of all samples the real timeline has a place for (counters.csv); others are not part of it.

    The clock of the cores is always there: a simulated device without samples runs at its nominal clock from the start on.
    """
    named: set[int] = set()
    zero = chrome.unix_zero(trace)
    counter = trace.counter
    if counter:
        for number, device in sorted(set(zip(counter["name"].tolist(), counter["device"].tolist(), strict=True))):
            name = trace.strings[number]
            row = next((r for r in words.rows_of("counters.csv") if re.fullmatch(r["pattern"], name)), None)
            if row is None:
                continue
            layer = chrome.Layer(row["process"], int(row["sort"]))
            pid = chrome.process_id(trace, layer, device)
            if pid not in named:
                named.add(pid)
                yield chrome.metadata(pid, layer, device)
            mine = np.flatnonzero((counter["name"] == number) & (counter["device"] == device))
            head = f'{{"name":{chrome.text(name)},"pid":{pid},"tid":0,"ts":"'
            tail = f'","args":{{"{row["series"]}":'
            yield [f'{head}{time}{tail}{value:.10g}}},"ph":"C"}}' for time, value in
                   zip(columns.microseconds(counter["time"][mine] + zero), counter["value"][mine].tolist(), strict=True)]
    if trace.meta.get("simulated"):
        for device in devices_of(trace):
            pid = chrome.process_id(trace, chrome.FREQUENCY, device)
            if pid not in named:
                yield [*chrome.metadata(pid, chrome.FREQUENCY, device), *_nominal_clock(trace, pid, zero + trace.span()[0])]


def _nominal_clock(trace: Trace, pid: int, time: int) -> list[str]:
    try:
        chip = soc.find(str(trace.meta.get("soc", "")))
    except KeyError:
        return []
    when = columns.microseconds(np.array([time]))[0]
    return [f'{{"name":"{CLOCK}","pid":{pid},"tid":0,"ts":"{when}","args":{{"MHz":{chip.cube_mhz}}},"ph":"C"}}']
