"""`-t board` and `-t product`: what the board is. Serial numbers and board ids are not known of simulated ones."""

from __future__ import annotations

from npu import soc
from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import NA, Asked, key

VENDOR = "0x19E5"  # Huawei in the PCI id list
DEVICE = {"310": "0xD100", "310P": "0xD500", "910": "0xD801", "910B": "0xD802", "910_93": "0xD803", "950": "0xD806"}  # same list
DIE = "53494D55"  # first word of the die ids here, so that nobody takes them for real ones


def board(asked: Asked) -> str:
    """With a chip given: the chip; else the board."""
    return _of_card(asked) if asked.chip is None else _of_chip(asked, asked.chips[0])


def product(asked: Asked) -> str:
    """What it is sold as; of a simulated board its series is known, its model is not."""
    newest = asked.family == place.NEWEST
    return key("Product Type", NA if newest else soc.find(asked.chips[0].soc).series.partition(" (")[0])


def _of_card(asked: Asked) -> str:
    first = asked.chips[0]
    rows: list[tuple[str, object]] = [
        ("NPU ID", asked.card),
        ("Product Name", NA),
        ("Model", NA),
        ("Manufacturer", "Huawei"),
        ("Serial Number", NA),
        ("Software Version", asked.snapshot.driver_version),
        ("Firmware Version", asked.snapshot.firmware_version),
        ("Compatibility", "OK"),
        ("Board ID", NA),
        *((("Main Board ID", NA),) if asked.family == "910_93" else ()),
        ("PCB ID", NA),
        ("BOM ID", NA),
        ("PCIe Bus Info", first.bus_id),
        ("Slot ID", asked.card),
        ("Class ID", NA),
        ("PCI Vendor ID", VENDOR),
        ("PCI Device ID", DEVICE.get(asked.family, NA)),
        ("Subsystem Vendor ID", NA),
        ("Subsystem Device ID", NA),
        ("Chip Count", len(asked.chips)),
    ]
    return "".join(key(name, value) for name, value in rows)


def _of_chip(asked: Asked, device: DeviceInfo) -> str:
    newer = asked.family in ("910_93", "950")
    die = f"{DIE} 00000000 00000000 00000000 {device.id:08X}"
    old_die = asked.family in ("310", "310P", "310B")
    rows: list[tuple[str, object]] = [
        ("NPU ID", place.card(device)),
        *((("NPU Name", NA),) if newer else ()),
        ("Chip ID", place.chip(device)),
        *(() if newer else (("Chip Type", "Ascend"),)),
        ("Chip Name", place.name(device)),
        ("Chip Version", "V1"),
        ("Board ID", NA),
        ("PCB ID", NA),
        ("BOM ID", NA),
        *((("Die ID", die),) if old_die else (("VDie ID", die), ("NDie ID", NA))),
        ("Chip Position ID", place.chip(device)),
        ("PCIe Bus Info", device.bus_id),
        ("Firmware Version", asked.snapshot.firmware_version),
    ]
    return "".join(key(name, value) for name, value in rows)
