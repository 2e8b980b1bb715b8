"""`info watch`: a head line once, then a row a chip. No box; rows keep their trailing blanks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import percent

FIELD = 12
WHOLE_NPU = 26  # drivers from here on know the use of the whole NPU and of the cube units


class Metric(NamedTuple):
    """letter: of `-s`; newer: only drivers of WHOLE_NPU have it, and it is led by one more blank."""

    letter: str
    head: str
    value: Callable[[DeviceInfo], object]
    newer: bool = False


def _power(device: DeviceInfo) -> object:
    if place.family(device) == "910_93" and place.chip(device):
        return "-"
    return None if place.family(device) == "310P" or device.power_w is None else f"{device.power_w:.1f}"


METRICS = (
    Metric("p", "Pwr(W)", _power),
    Metric("t", "Temp(C)", lambda device: device.temp_c),
    Metric("a", "AI Core(%)", lambda device: device.aicore),
    Metric("i", "AI Cpu(%)", lambda device: device.aicpu),
    Metric("c", "Ctrl Cpu(%)", lambda device: device.ctrl_cpu),
    Metric("m", "Memory(%)", lambda device: percent(device.memory_used, device.memory_total)),
    Metric("b", "Memory BW(%)", lambda device: device.memory_busy),
    Metric("n", "NPU Util(%)", lambda device: max(device.aicore, device.aivector, device.aicpu), True),
    Metric("u", "AI Cube(%)", lambda device: device.aicore, True),
)


def metrics(letters: str, generation: int) -> tuple[Metric, ...] | None:
    """The metrics of `-s`, in the tool's order whatever the letters' order; all for "". None for an unknown letter."""
    offered = [metric for metric in METRICS if not metric.newer or generation >= WHOLE_NPU]
    if set(letters) - {metric.letter for metric in offered}:
        return None
    return tuple(metric for metric in offered if not letters or metric.letter in letters)


def head(chosen: Sequence[Metric], chips: bool = True) -> str:
    """chips: False on the 950, whose cards have no chip column."""
    ids = f"{'NpuID(Idx)':<{FIELD}}" + (f"{'ChipId(Idx)':<{FIELD}}" if chips else "")
    return ids + "".join(_field(metric, metric.head) for metric in chosen) + "\n"


def row(device: DeviceInfo, chosen: Sequence[Metric], chips: bool = True) -> str:
    """A line of the table: one chip at one moment."""
    ids = f"{place.card(device):<{FIELD}}" + (f"{place.chip(device):<{FIELD}}" if chips else "")
    return ids + "".join(_field(metric, metric.value(device)) for metric in chosen) + "\n"


def _field(metric: Metric, value: object) -> str:
    shown = "NA" if value is None else str(value)
    return f"{' ' if metric.newer else ''}{shown:<{FIELD}}"
