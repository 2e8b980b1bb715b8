"""What all layers of the msprof timeline share: process ids and names, metadata events, texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from profiler.export import words
from profiler.trace import Trace

HOST = 31  # device id of host layers in a process id


class Layer(NamedTuple):
    """A process row of the timeline; `sort` orders the rows and is part of the process id."""

    name: str
    sort: int
    label: str = "NPU"


CANN = Layer("CANN", 7, "CPU")
HARDWARE = Layer("Ascend Hardware", 14)
FREQUENCY = Layer("AI Core Freq", 15)
COMMUNICATION = Layer(words.COMMUNICATION, 16)
OVERLAP = Layer("Overlap Analysis", 31)


def process_id(trace: Trace, layer: Layer, device: int = HOST) -> int:
    """(collecting process << 10 | layer << 5 | device), 32 bits as the real exporter keeps it."""
    return (int(trace.meta.get("pid", 0)) << 10 | layer.sort << 5 | device) & 0xFFFFFFFF


def unix_zero(trace: Trace) -> int:
    """Unix time of the trace's time zero, ns."""
    return int(trace.meta.get("unix_zero_ns", 0))


def text(value: str) -> str:
    """A JSON string with its quotes."""
    return json.dumps(value, ensure_ascii=False)


def metadata(pid: int, layer: Layer, device: int = HOST, threads: Iterable[tuple[int, str]] = ()) -> list[str]:
    """Events that name and place a layer and its threads (number, name); labels of device layers carry the device."""
    label = layer.label if device == HOST else f"{layer.label} {device}"
    made = [
        _fact("process_name", pid, 0, f'"name":{text(layer.name)}'),
        _fact("process_labels", pid, 0, f'"labels":{text(label)}'),
        _fact("process_sort_index", pid, 0, f'"sort_index":{layer.sort}'),
    ]
    for tid, name in threads:
        made.append(_fact("thread_name", pid, tid, f'"name":{text(name)}'))
        made.append(_fact("thread_sort_index", pid, tid, f'"sort_index":{tid}'))
    return made


def _fact(kind: str, pid: int, tid: int, args: str) -> str:
    return f'{{"name":"{kind}","pid":{pid},"tid":{tid},"args":{{{args}}},"ph":"M"}}'
