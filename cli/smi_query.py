"""Fields of `--query-npu`: one row each, with unit and meaning. The names are ours, in the manner of other vendors' tools."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from diag.smi.records import NOT_SHOWN, Device, SmiText

Value = str | int | float | None
MISSING = "N/A"


class Field(NamedTuple):
    """state: name in the device's states that says why the value is missing."""

    name: str
    unit: str
    text: str
    value: Callable[[Device, SmiText], Value]
    state: str = ""


def _used(device: Device, _: SmiText) -> Value:
    return device.memory.used if device.memory is not None else None


def _total(device: Device, _: SmiText) -> Value:
    return device.memory.total if device.memory is not None else None


def _free(device: Device, _: SmiText) -> Value:
    pool = device.memory
    return None if pool is None or pool.used is None else pool.total - pool.used


def _processes(device: Device, text: SmiText) -> Value:
    if text.process_table != "shown":
        return None
    return sum(1 for one in text.processes if (one.card, one.chip) == (device.card, device.chip))


FIELDS = (
    Field("index", "", "Position in the table, from 0; the runtime's device number.", lambda d, t: t.devices.index(d)),
    Field("npu.id", "", "NPU id of the card (-i).", lambda d, _: d.card),
    Field("chip.id", "", "Chip on the card (-c).", lambda d, _: d.chip),
    Field("phy.id", "", "Physical id (A3).", lambda d, _: d.phy_id, "phy_id"),
    Field("name", "", "Chip name as the table shows it.", lambda d, _: d.name),
    Field("health", "", "OK, Warning, Alarm, Critical or UNKNOWN.", lambda d, _: d.health, "health"),
    Field("bus.id", "", "PCIe address.", lambda d, _: d.bus_id, "bus_id"),
    Field("driver.version", "", "Version of the driver.", lambda _, t: t.driver),
    Field("power.draw", "W", "Power now; of the whole card, on its first die.", lambda d, _: d.power_w, "power_w"),
    Field("temperature", "C", "Temperature of the chip.", lambda d, _: d.temp_c, "temp_c"),
    Field("utilisation", "%", "Share of use.", lambda d, _: d.utilisation, "utilisation"),
    Field("utilisation.kind", "", "AICore or NPU: which share that is.", lambda d, _: d.utilisation_kind),
    Field("memory.used", "MB", "Taken memory: HBM, or DDR where there is no HBM.", _used, "hbm"),
    Field("memory.free", "MB", "Its rest.", _free, "hbm"),
    Field("memory.total", "MB", "Its size.", _total, "hbm"),
    Field("ddr.used", "MB", "Taken DDR.", lambda d, _: d.ddr and d.ddr.used, "ddr"),
    Field("ddr.total", "MB", "Size of the DDR pool.", lambda d, _: d.ddr and d.ddr.total, "ddr"),
    Field("hugepages.used", "", "Huge pages taken.", lambda d, _: d.hugepages and d.hugepages.used, "hugepages"),
    Field("hugepages.total", "", "Huge pages.", lambda d, _: d.hugepages and d.hugepages.total, "hugepages"),
    Field("processes", "", "Number of processes listed on the chip.", _processes, "processes"),
)  # fmt: skip
BY_NAME = {field.name: field for field in FIELDS}
DEFAULT = (
    "index",
    "npu.id",
    "chip.id",
    "name",
    "health",
    "power.draw",
    "temperature",
    "utilisation",
    "memory.used",
    "memory.total",
)


def as_csv(text: SmiText, names: list[str], header: bool, units: bool) -> str:
    """Rows of devices; N/A for what is not known. Units stand in the header as [W] and behind each value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = [BY_NAME[name] for name in names]
    if header:
        writer.writerow(f"{field.name} [{field.unit}]" if field.unit and units else field.name for field in fields)
    for device in text.devices:
        writer.writerow(_cell(field, field.value(device, text), units) for field in fields)
    return out.getvalue()


def as_json(text: SmiText, names: list[str] | None) -> str:
    """The chosen fields of every device, or all records; null for what is not known, and `states` says why."""
    from cli.smi_records import device, process

    head: dict[str, Any] = {"schema": 1, "tool": "npu-smi info", "driver": text.driver, "layout": text.layout or None}
    if names is None:
        head["devices"] = [device(one) for one in text.devices]
        head["processes"] = [process(one) for one in text.processes]
    else:
        head["devices"] = [_chosen(one, text, names) for one in text.devices]
    return json.dumps(head, ensure_ascii=False, indent=2)


def _chosen(device: Device, text: SmiText, names: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {name: BY_NAME[name].value(device, text) for name in names}
    row["states"] = {name: device.states.get(BY_NAME[name].state, NOT_SHOWN) for name in names if row[name] is None}
    return row


def _cell(field: Field, value: Value, units: bool) -> str:
    if value is None:
        return MISSING
    return f"{value} {field.unit}" if field.unit and units else str(value)
