"""Where a device sits and what it is called: cards of one or two dies. The tool speaks of (NPU, Chip), the runtime of numbers."""

from __future__ import annotations

from npu import soc
from npu.driver.door import DeviceInfo

NEWEST = "950"  # no chip of the table: the tool's forms are known for it, its speed is not


def family(device: DeviceInfo) -> str:
    """The chip family as npu.soc names it; "950" for the generation after A3."""
    return NEWEST if device.soc.startswith(f"Ascend{NEWEST}") else soc.find(device.soc).family


def name(device: DeviceInfo) -> str:
    """The chip as the tool calls it."""
    return device.soc if family(device) == NEWEST else soc.find(device.soc).npu_smi_name


def hbm(device: DeviceInfo) -> bool:
    """True where the tool shows an HBM pool."""
    return family(device) == NEWEST or soc.find(device.soc).hbm


def dies(device: DeviceInfo) -> int:
    """Devices on one card: two on A3."""
    return 2 if family(device) == "910_93" else 1


def card(device: DeviceInfo) -> int:
    """The NPU id of its card."""
    return device.id // dies(device) if device.card is None else device.card


def chip(device: DeviceInfo) -> int:
    """Its number on the card."""
    return device.id % dies(device) if device.chip is None else device.chip


def cards(devices: tuple[DeviceInfo, ...]) -> list[tuple[int, list[DeviceInfo]]]:
    """(card id, its devices in order of their chip id), by card."""
    made: dict[int, list[DeviceInfo]] = {}
    for device in sorted(devices, key=chip):
        made.setdefault(card(device), []).append(device)
    return sorted(made.items())
