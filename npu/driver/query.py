"""One consistent look at all devices: the machine's facts, the device table's, and what follows from them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing

from npu import soc
from npu.driver.door import DeviceInfo, DriverError, ProcessInfo, Snapshot
from npu.driver.machine import Machine, own_memory
from npu.driver.state import Client, Facts, Table, Use
from npu.power import ROOM_C, activity, celsius, watts
from npu.soc import Soc
from npu.units import MIB

HUGE_PAGE = 2 * MIB
DDR = 15137 * MIB  # the pool 910A has beside its HBM and runs its own system in, as public outputs show it
OWN_DDR = 1702 * MIB


def snapshot(environ: Mapping[str, str] | None = None) -> Snapshot:
    """All devices and the living processes on them. DriverError no_driver, busy, driver_failure; ValueError for a bad knob.

    Devices, versions and the folder of the table come from the environment (npu.driver.machine). Without NPU_SOC in it a
    device in use shows the chip its process simulates, so that a look from another terminal is right without settings.
    """
    env = os.environ if environ is None else environ
    machine = Machine.of(env)
    if machine.driver_version is None:
        raise DriverError("no_driver")
    if env.get("NPU_FAULT"):
        from npu.driver.fault_plan import ANY, of

        if any(p.kind.when == "open" and p.device == ANY for p in of(env)):
            raise DriverError("busy")
    with closing(Table.open(environ=env)) as table:
        clients = table.clients()
        facts = [table.facts(device) for device in range(machine.device_count)]
    devices = []
    for device, fact in enumerate(facts):
        users = [(client, client.uses[device]) for client in clients if device in client.uses]
        chip = machine.chip
        if users and not env.get("NPU_SOC") and fact.soc in soc.table():
            chip = soc.table()[fact.soc]
        devices.append(_device(machine, chip, device, fact, users))
    return Snapshot(machine.driver_version, machine.firmware_version, tuple(devices))


def _device(machine: Machine, chip: Soc, device: int, facts: Facts, users: list[tuple[Client, Use]]) -> DeviceInfo:
    uses = [use for _, use in users]
    aic, aiv = min(1000, sum(use.aic for use in uses)), min(1000, sum(use.aiv for use in uses))
    aicpu, hbm = min(1000, sum(use.aicpu for use in uses)), min(1000, sum(use.hbm for use in uses))
    active = activity(aic, aiv, hbm)
    huge = sum(use.huge_pages for use in uses)
    room = ROOM_C if machine.ambient is None else machine.ambient
    return DeviceInfo(
        id=device, soc=chip.name, health=facts.health, bus_id=machine.bus_id(device),
        power_w=watts(chip, device, active / facts.pace), temp_c=celsius(chip, device, active, room),
        aicore=_percent(aic), aivector=_percent(aiv), aicpu=_percent(aicpu),
        memory_used=own_memory(chip, device) + sum(use.held for use in uses), memory_total=chip.memory,
        # A chip with DDR (910A too) sets pages aside as they are asked for: public outputs show used = total (8728 / 8728).
        huge_used=huge, huge_total=chip.memory // HUGE_PAGE if chip.hbm and chip.family != "910" else huge,
        mhz=chip.cube_mhz, faults=facts.faults, double_bits=facts.double_bits, isolated=facts.isolated,
        current_mhz=round(chip.cube_mhz / facts.pace) if users and facts.pace != 1 else None,
        processes=tuple(ProcessInfo(client.pid, client.name, use.held) for client, use in users),
        memory_busy=_percent(hbm),
        ddr_used=OWN_DDR if chip.family == "910" else None, ddr_total=DDR if chip.family == "910" else None,
    )


def _percent(share: int) -> int:
    return (share + 5) // 10
