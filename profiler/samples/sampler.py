"""Samples of a capture, as the real collector takes them at a frequency. Captures hold every allocation, task and transfer, so
samples follow from them and nothing is recorded for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from profiler.samples import hardware_memory, interconnection, load
from profiler.trace import Array, Columns, Trace

HZ = 50  # samples a second, the real default of each switch


class Series(NamedTuple):
    """One counter of a device: name, times (ns) and values."""

    device: int
    name: str
    times: Array
    values: Array


class Sampler(NamedTuple):
    """switch: of the collection, its frequency is {switch}_freq, "" for what the real collector does not have; known: a counter
    that says that samples are there already."""

    switch: str
    known: str
    of: Callable[[Trace, int, Array], Sequence[tuple[str, Array, Array]]]


SAMPLERS = (
    Sampler("sys_hardware_mem", hardware_memory.HELD, hardware_memory.series),
    Sampler("sys_interconnection", interconnection.PCIE_SENT, interconnection.series),
    Sampler("", load.POWER, load.series),
)


def series(trace: Trace, times: Array) -> Iterator[Series]:
    """Every series of a capture of ours at these times or, for rates, since the time before; nothing for other traces."""
    for sampler in SAMPLERS if trace.meta.get("generator") == "npuscope" else ():
        for device in trace.devices():
            for name, at, values in sampler.of(trace, device, times):
                yield Series(device, name, at, values)


def sampled(trace: Trace) -> Trace:
    """The trace with the samples it was asked for among its counters; the same one when it is no capture of ours, when nobody
    asked, and for what it has already."""
    collection = trace.meta.get("collection")
    asked = collection if isinstance(collection, dict) else {}
    begin, end = trace.span()
    if trace.meta.get("generator") != "npuscope" or end <= begin:
        return trace
    known = set(trace.counter["name"].tolist()) if trace.counter else set()
    made: list[Series] = []
    for sampler in SAMPLERS:
        if asked.get(sampler.switch) is not True or trace.strings.find(sampler.known) in known:
            continue
        step = round(1e9 / int(asked.get(f"{sampler.switch}_freq", HZ)))
        times = np.arange(begin, end + step, step)
        made += [Series(device, *one) for device in trace.devices() for one in sampler.of(trace, device, times)]
    if not made:
        return trace
    fresh = {
        "time": np.concatenate([s.times for s in made]),
        "value": np.concatenate([s.values for s in made]).astype(np.float64),
        "device": np.concatenate([np.full(len(s.times), s.device, np.int32) for s in made]),
        "name": np.concatenate([np.full(len(s.times), trace.strings.id(s.name), np.int32) for s in made]),
    }
    if trace.counter:
        fresh = {n: np.concatenate([trace.counter[n], fresh[n]]) for n in fresh}
    return replace(trace, counter=Columns(fresh))
