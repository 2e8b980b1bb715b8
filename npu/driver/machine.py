"""Which devices this simulated machine has, by which driver and tool: one frozen record read from an environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import nan

from npu import soc
from npu.driver.host_file import Facts, facts_of
from npu.driver.host_file import host_folder as host_folder
from npu.driver.host_file import install_ended as install_ended
from npu.driver.state import DEVICES
from npu.soc import Soc
from npu.units import MIB

DRIVER = "25.5.0"
FIRMWARE = "7.8.0.5.216"  # the firmware released with driver 25.5.0 (public hosts show the pair)
CANN = "8.3.RC1"  # generation of the default toolkit: its files say "Block Dim" and "HCCL"
NO_DRIVER = "none"
# Bus numbers of the eight devices of an Atlas 800 A2 server, by device id, as public npu-smi outputs of 910B3 show them.
# The second eight continue them; no public host was seen with sixteen cards.
BUSES = ("C1", "C2", "81", "82", "01", "02", "41", "42", "C3", "C4", "83", "84", "03", "04", "43", "44")
# What a device holds itself, in MiB, by chip name without "Ascend" (longest beginning wins). Idle values of public outputs:
# 910B3 3337-3340, 910B4 2668, 910_93 2880-3450, 910A 3 (its system uses the DDR pool), 310P3 1398-1521, 310B4 2164; 310 a guess.
OWN_MIB = {"910B": 3337, "910B4": 2667, "910_93": 3100, "910": 3, "310P": 1398, "310B": 2164, "310": 1200}
COLDEST, HOTTEST = -40, 90  # degrees of a room that can be asked for
OWN_STEPS = 4  # devices of one server differ by up to three MiB


@dataclass(frozen=True, slots=True)
class Machine:
    """The simulated machine. driver_version None: no driver is installed, and so there are no devices.

    NPU_HOST: a simulated host (npu.driver.host_file) that gives chip, devices and versions; the variables below go before it.
    cann_version: of the runtime that is loaded; toolkit_version: of the converter, None where there is the runtime only;
    driver_fits: False when the version files say that this driver and this CANN do not go together.
    NPU_SOC: chip, default Ascend910B3. NPU_DEVICES: how many, 0..16; default 8, for A3 16 (a die is a device), for the
    310 families 1. NPU_DRIVER: driver version, "none" for none; firmware and tool belong to it. NPU_AMBIENT: degrees (C) of the
    room; devices then heat up as they work and give up clock where they get too hot (ambient; None: they never do).
    """

    chip: Soc
    device_count: int
    driver_version: str | None
    firmware_version: str
    tool_version: str
    cann_version: str = CANN
    toolkit_version: str | None = CANN
    driver_fits: bool = True
    ambient: float | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Machine:
        """From an environment, default this process's. ValueError names a knob and its value when it cannot be used."""
        env = os.environ if environ is None else environ
        host = facts_of(env) or Facts(soc.DEFAULT, None, DRIVER, FIRMWARE, CANN, CANN, True)
        name = env.get("NPU_SOC", "") or host.soc
        try:
            chip = soc.find(name)
        except KeyError:
            raise ValueError(f"NPU_SOC={name}: no such chip; known: {', '.join(soc.table())}") from None
        written = env.get("NPU_DEVICES", "")
        if written and not (written.isascii() and written.isdigit() and int(written) <= DEVICES):
            raise ValueError(f"NPU_DEVICES={written}: give a number from 0 to {DEVICES}")
        driver = env.get("NPU_DRIVER", "") or host.driver or NO_DRIVER
        if driver == NO_DRIVER:
            return cls(chip, 0, None, "", DRIVER, host.cann, host.toolkit)
        own = driver == host.driver
        ambient = _ambient(env.get("NPU_AMBIENT", ""))
        count = int(written) if written else host.devices if host.devices is not None else _usual_count(chip)
        return cls(
            chip, count, driver, host.firmware if own else FIRMWARE, driver, host.cann, host.toolkit, host.driver_fits or not own,
            ambient,
        )  # fmt: skip

    @property
    def soc(self) -> str:
        return self.chip.name

    @property
    def reserved(self) -> int:
        """Bytes of each device that no process can have: what it holds itself, the highest figure among the devices."""
        return (_own_mib(self.chip.like or self.chip.name) + OWN_STEPS - 1) * MIB

    def bus_id(self, device: int) -> str:
        """PCIe address as the device tool prints it; 'NA' on boards whose chip has no PCIe host (310B)."""
        return "NA" if self.chip.family == "310B" else f"0000:{BUSES[device]}:00.0"


def _ambient(written: str) -> float | None:
    try:
        degrees = float(written) if written else None
    except ValueError:
        degrees = nan
    if degrees is not None and not COLDEST <= degrees <= HOTTEST:
        raise ValueError(f"NPU_AMBIENT={written}: give degrees from {COLDEST} to {HOTTEST}")
    return degrees


def own_memory(chip: Soc, device: int) -> int:
    """Bytes a device of that chip holds before any process has memory on it. A few MiB differ from device to device."""
    return (_own_mib(chip.like or chip.name) + device * 7 % OWN_STEPS) * MIB


@cache
def _own_mib(chip_name: str) -> int:
    name = chip_name.removeprefix("Ascend")
    return OWN_MIB[max((beginning for beginning in OWN_MIB if name.startswith(beginning)), key=len)]


def _usual_count(chip: Soc) -> int:
    return {"910_93": 16, "310P": 1, "310B": 1, "310": 1}.get(chip.family, 8)
