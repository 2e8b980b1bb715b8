"""Samples a capture was asked for, as the real collector takes them at a frequency. Captures hold every allocation, task and
transfer, so samples follow from them and nothing is recorded for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from profiler.export import hardware_memory, interconnection
from profiler.export.timeline_overlap import devices_of
from profiler.trace import Array, Columns, Trace

HZ = 50  # samples a second, the real default of each switch
Series = tuple[str, Array, Array]  # name of a counter, times (ns), values


class Sampler(NamedTuple):
    """switch: of the collection, its frequency is {switch}_freq; known: a counter that says that samples are there already."""

    switch: str
    known: str
    of: Callable[[Trace, int, Array], list[Series]]


SAMPLERS = (
    Sampler("sys_hardware_mem", hardware_memory.HELD, hardware_memory.series),
    Sampler("sys_interconnection", interconnection.PCIE_SENT, interconnection.series),
)


def sampled(trace: Trace) -> Trace:
    """The trace with the samples it was asked for among its counters; the same one when it is no capture of ours, when nobody
    asked, and for what it has already."""
    collection = trace.meta.get("collection")
    asked = collection if isinstance(collection, dict) else {}
    begin, end = trace.span()
    if trace.meta.get("generator") != "npuscope" or end <= begin:
        return trace
    known = set(trace.counter["name"].tolist()) if trace.counter else set()
    made: list[tuple[int, Series]] = []
    for sampler in SAMPLERS:
        if asked.get(sampler.switch) is not True or trace.strings.find(sampler.known) in known:
            continue
        step = round(1e9 / int(asked.get(f"{sampler.switch}_freq", HZ)))
        times = np.arange(begin, end + step, step)
        made += [(device, series) for device in devices_of(trace) for series in sampler.of(trace, device, times)]
    if not made:
        return trace
    fresh = {
        "time": np.concatenate([times for _, (_, times, _) in made]),
        "value": np.concatenate([values for _, (_, _, values) in made]).astype(np.float64),
        "device": np.concatenate([np.full(len(times), device, np.int32) for device, (_, times, _) in made]),
        "name": np.concatenate([np.full(len(times), trace.strings.id(name), np.int32) for _, (name, times, _) in made]),
    }
    if trace.counter:
        fresh = {n: np.concatenate([trace.counter[n], fresh[n]]) for n in fresh}
    return replace(trace, counter=Columns(fresh))
