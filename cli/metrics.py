"""One look at the devices as metrics. Names, labels and units are npu-exporter's: MB, W, degrees, percent; health 1, 0, -1.

A figure that is not known is left out, which in Prometheus is "absent"; it is never 0. Samples carry the time of the look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cli.smi_look import closer
from diag.smi.records import Device, SmiText
from npu import soc
from npu.driver.door import DeviceInfo
from npu.smi import place

LABELS = ("id", "model_name", "vdie_id", "pcie_bus_info", "namespace", "pod_name", "container_name")
PROCESS_LABELS = (*LABELS, "process_id", "container_id")
HEX = set("0123456789abcdef")
HEALTHY = {"OK": 1.0, "Warning": 0.0, "Alarm": 0.0, "Critical": 0.0}  # others: -1, the query failed or the device is gone


class Chip(NamedTuple):
    """A metric with one sample a chip."""

    name: str
    text: str
    value: Callable[[Device], float | None]


CHIPS = (
    Chip("npu_chip_info_utilization", "share of use of the AI Cores, percent", lambda d: _of_kind(d, "AICore")),
    Chip("npu_chip_info_overall_utilization", "share of use of the whole NPU, percent", lambda d: _of_kind(d, "NPU")),
    Chip("npu_chip_info_temperature", "temperature, Celsius", lambda d: d.temp_c),
    Chip("npu_chip_info_power", "power, W", lambda d: d.power_w),
    Chip("npu_chip_info_health_status", "1 healthy, 0 faulty, -1 unknown", lambda d: HEALTHY.get(d.health or "", -1.0)),
    Chip("npu_chip_info_used_memory", "taken DDR, MB", lambda d: d.ddr and d.ddr.used),
    Chip("npu_chip_info_total_memory", "DDR, MB", lambda d: d.ddr and d.ddr.total),
    Chip("npu_chip_info_hbm_used_memory", "taken HBM, MB", lambda d: d.hbm and d.hbm.used),
    Chip("npu_chip_info_hbm_total_memory", "HBM, MB", lambda d: d.hbm and d.hbm.total),
    Chip("npu_chip_info_hbm_utilization", "taken share of the HBM, percent", lambda d: _hbm_share(d)),
    Chip("npu_chip_info_name", "1 for every chip; its name is a label", lambda _: 1.0),
)


def _fault(number: int, device: DeviceInfo) -> float | None:
    """A fault's code, which its text begins with, as the number it is in hexadecimal."""
    if number >= len(device.faults):
        return None
    written = device.faults[number].split(maxsplit=1)[0].removeprefix("0x")
    return int(written, 16) if set(written.lower()) <= HEX else None


class Driver(NamedTuple):
    """A metric of what the driver knows and the table of the device tool does not show; of simulated devices only."""

    name: str
    text: str
    value: Callable[[DeviceInfo], float | None]


DRIVER = (
    Driver("npu_chip_info_cube_utilization", "share of use of the cube cores, percent", lambda d: _apart(d, d.aicore)),
    Driver("npu_chip_info_vector_utilization", "share of use of the vector cores, percent", lambda d: _apart(d, d.aivector)),
    Driver("npu_chip_info_aicore_current_freq", "clock of the AI Cores, MHz",
           lambda d: d.mhz if d.current_mhz is None else d.current_mhz),
    Driver("npu_chip_info_hbm_bandwidth_utilization", "used share of the HBM's rate, percent", lambda d: _hbm(d, d.memory_busy)),
    Driver("npu_chip_info_hbm_ecc_enable_flag", "1: errors of the HBM are counted", lambda d: _hbm(d, 1)),
    Driver("npu_chip_info_hbm_ecc_double_bit_error_cnt", "double-bit errors", lambda d: _hbm(d, d.double_bits)),
    Driver("npu_chip_info_hbm_ecc_total_double_bit_error_cnt", "double-bit errors in all", lambda d: _hbm(d, d.double_bits)),
    Driver("npu_chip_info_hbm_ecc_double_bit_isolated_pages_cnt", "pages out of use", lambda d: _hbm(d, d.isolated)),
    Driver("npu_chip_info_error_code", "the first fault code", lambda d: _fault(0, d)),
    *(Driver(f"npu_chip_info_error_code_{n}", "a further fault code", partial(_fault, n)) for n in range(1, 10)),
)  # fmt: skip


class Devices(Collector):
    """Looks at the devices anew for every scrape."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._arguments = arguments

    def collect(self) -> Iterator[Metric]:
        return families(*closer(self._arguments), at=time.time())


def families(text: SmiText, known: Sequence[DeviceInfo] = (), *, at: float) -> Iterator[Metric]:
    """The metrics of one look at unix second `at`; known: see cli.smi_look.closer. After a failure the version alone is left."""
    yield _single("npu_exporter_version_info", "version of this exporter", 1.0, at, {"exporterVersion": version("npuscope")})
    if text.error is not None:
        return
    health = [HEALTHY.get(device.health or "", -1.0) for device in text.devices]
    yield _single("machine_npu_nums", "number of chips", len(health), at)
    yield _single("machine_card_nums", "number of cards", len({device.card for device in text.devices}), at)
    yield _single("machine_healthy_npu_nums", "number of healthy chips", health.count(1.0), at)
    yield _single("machine_unhealthy_npu_nums", "number of faulty chips", health.count(0.0), at)
    yield _single("machine_unknown_npu_nums", "number of chips of unknown health", health.count(-1.0), at)
    for chip in CHIPS:
        yield from _each(chip.name, chip.text, [chip.value(device) for device in text.devices], text, at)
    for fact in DRIVER if known else ():
        yield from _each(fact.name, fact.text, [fact.value(device) for device in known], text, at)
    yield from _processes(text, at)


def _each(name: str, told: str, values: list[float | None], text: SmiText, at: float) -> Iterator[Metric]:
    """One sample for each chip whose value is known; no metric without one."""
    family = GaugeMetricFamily(name, told, labels=LABELS)
    for number, (device, value) in enumerate(zip(text.devices, values, strict=True)):
        if value is not None:
            family.add_metric(_labels(number, device), float(value), timestamp=at)
    if family.samples:
        yield family


def _processes(text: SmiText, at: float) -> Iterator[Metric]:
    if text.process_table != "shown":
        return
    each = GaugeMetricFamily("npu_chip_info_process_info", "memory a process holds, MB", labels=PROCESS_LABELS)
    count = GaugeMetricFamily("npu_chip_info_process_info_num", "number of processes on the chip", labels=LABELS)
    for number, device in enumerate(text.devices):
        held = [one for one in text.processes if (one.card, one.chip) == (device.card, device.chip)]
        count.add_metric(_labels(number, device), len(held), timestamp=at)
        for one in held:
            if one.memory_mb is not None:
                each.add_metric([*_labels(number, device), str(one.pid), ""], one.memory_mb, timestamp=at)
    yield count
    if each.samples:
        yield each


def _labels(number: int, device: Device) -> list[str]:
    """The table tells neither die ids nor pods: those labels are empty."""
    return [str(number), device.name, "", device.bus_id or "", "", "", ""]


def _single(name: str, text: str, value: float, at: float, labels: dict[str, str] | None = None) -> Metric:
    family = GaugeMetricFamily(name, text, labels=tuple(labels or {}))
    family.add_metric(tuple((labels or {}).values()), value, timestamp=at)
    return family


def _of_kind(device: Device, kind: str) -> float | None:
    return device.utilisation if device.utilisation_kind == kind else None


def _apart(device: DeviceInfo, share: int) -> float | None:
    """Where cube and vector cores are separate."""
    return share if soc.find(device.soc).aiv else None


def _hbm(device: DeviceInfo, value: float | None) -> float | None:
    return value if place.hbm(device) else None


def _hbm_share(device: Device) -> float | None:
    pool = device.hbm
    return None if pool is None or pool.used is None else round(pool.used * 100 / pool.total, 1)
