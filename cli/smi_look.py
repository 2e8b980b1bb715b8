"""One look at the devices as records: from the real tool's text where there is a real driver, else from the simulated ones."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cli import real_tool
from diag.smi.records import ABSENT, NOT_REPORTED, NOT_SHOWN, ON_FIRST_DIE, Device, Pool, Process, SmiText
from diag.smi_text import parse
from npu.driver.door import DeviceInfo, DriverError, Snapshot
from npu.smi import failures, layouts, place
from npu.smi.process import shown_name
from npu.units import MIB

PATIENCE_S = 60  # the real tool takes up to some seconds on sixteen devices; longer means that it hangs


def real(arguments: Sequence[str] = ()) -> str | None:
    """The real tool, where its devices are to be shown and not simulated ones."""
    if real_tool.simulation_wanted(arguments, os.environ) or not real_tool.real_driver():
        return None
    return real_tool.next_on_path("npu-smi")


def look(arguments: Sequence[str] = ()) -> SmiText:
    """All devices at one moment; one call of the tool. A failure is in `error`, of a tool that hangs too."""
    tool = real(arguments)
    if tool is None:
        return simulated()
    try:
        done = subprocess.run([tool, "info"], capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return parse('Failed to query "info" info.')
    return parse(done.stdout + done.stderr)


def simulated() -> SmiText:
    """The simulated machine. ValueError for a machine that cannot be described."""
    return closer()[0]


def closer(arguments: Sequence[str] = ()) -> tuple[SmiText, tuple[DeviceInfo, ...]]:
    """look(), and of simulated devices what the table does not show, in its order; nothing more of real ones."""
    from npu.driver.machine import Machine, install_ended
    from npu.driver.query import snapshot

    if real(arguments) is not None:
        return look(arguments), ()
    try:
        seen = snapshot()
    except DriverError as error:
        return parse(failures.start(failures.START.get(error.situation, failures.INNER))), ()
    text = records(seen, Machine.of().tool_version)
    told = text.layout.startswith("HBM") and not install_ended(os.environ)
    return replace(text, driver_incomplete=told), tuple(d for _, chips in place.cards(seen.devices) for d in chips)


def records(snapshot: Snapshot, tool: str) -> SmiText:
    """A snapshot as the records its table would be read into, with every process and not the first eight."""
    layout = layouts.choose(snapshot) if snapshot.devices else None
    devices = tuple(_device(device, snapshot) for _, chips in place.cards(snapshot.devices) for device in chips)
    processes = tuple(
        Process(place.card(d), place.chip(d), p.pid, shown_name(p.name), p.memory // MIB, p.container_pid)
        for _, chips in place.cards(snapshot.devices) for d in chips for p in d.processes
    )  # fmt: skip
    held = Counter(process.card for process in processes)
    return SmiText(
        kind="info", layout=layout.name if layout is not None else "", tool=tool, driver=snapshot.driver_version, devices=devices,
        processes=processes, idle_cards=tuple(card for card, _ in place.cards(snapshot.devices) if not held[card]),
        process_table="shown", error=None if devices else parse("There is no NPU card on this server.").error,
    )  # fmt: skip


def _device(device: DeviceInfo, snapshot: Snapshot) -> Device:
    hbm, newest = place.hbm(device), place.family(device) == place.NEWEST
    own = Pool(device.memory_used // MIB, device.memory_total // MIB)
    ddr = own if not hbm else None if device.ddr_total is None else Pool((device.ddr_used or 0) // MIB, device.ddr_total // MIB)
    power = _power(device, snapshot)
    states = {
        "power_w": ON_FIRST_DIE if place.dies(device) > 1 and place.chip(device) else NOT_REPORTED if power is None else "",
        "temp_c": NOT_REPORTED if device.temp_c is None else "",
        "bus_id": NOT_REPORTED if device.bus_id == "NA" else "",
        "ddr": ABSENT if ddr is None else "",
        "hbm": NOT_SHOWN if not hbm else "",
    }
    return Device(
        card=place.card(device), chip=place.chip(device),
        phy_id=device.id if place.dies(device) > 1 else None, logic_id=device.id if not hbm else None,
        name=place.name(device), health=device.health, power_w=power, temp_c=device.temp_c,
        utilisation=device.aicore, utilisation_kind="NPU" if newest else "AICore", ddr=ddr, hbm=own if hbm else None,
        hugepages=Pool(device.huge_used, device.huge_total) if ddr is not None else Pool(0, 0),
        bus_id=None if device.bus_id == "NA" else device.bus_id, states={name: why for name, why in states.items() if why},
    )  # fmt: skip


def _power(device: DeviceInfo, snapshot: Snapshot) -> float | None:
    """Of the whole card, on its first die, as the tool shows it."""
    if place.dies(device) == 1:
        silent = place.family(device) == "310P" and not snapshot.driver_version.startswith("22.")
        return None if silent else device.power_w
    if place.chip(device):
        return None
    known = [d.power_w for d in snapshot.devices if place.card(d) == place.card(device) and d.power_w is not None]
    return round(sum(known), 1) if known else None
