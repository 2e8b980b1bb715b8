"""`info -l` and `info -m`: which cards and chips there are."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import SMALL, key

MCU = "Mcu"
NO_CARD = "There is no NPU card on this server.\n"


def listed(devices: tuple[DeviceInfo, ...]) -> str:
    """`info -l`: every card with its number of chips."""
    if not devices:
        return NO_CARD
    on_cards = place.cards(devices)
    head = "Card Count" if place.family(devices[0]) in SMALL else "Total Count"  # small boards count differently
    return key(head, len(on_cards)) + "\n" + "".join(
        key("NPU ID", card) + key("Chip Count", len(chips)) + "\n" for card, chips in on_cards
    )


def mapped(devices: tuple[DeviceInfo, ...]) -> str:
    """`info -m`: (NPU, chip) -> logic id, with one row for the controller (MCU) of each card.

    Cards of two dies have a column more for the physical id. The last field is padded in the head and for the MCU only.
    """
    if not devices:
        return NO_CARD
    two_dies = place.dies(devices[0]) > 1
    heads = ("NPU ID", "Chip ID", "Chip Logic ID", *(("Chip Phy-ID",) if two_dies else ()), "Chip Name")
    ids = len(heads) - 3
    lines = [_padded(heads)]
    for card, chips in place.cards(devices):
        for at, chip in enumerate(chips):
            lines.append(" ".join((_padded((card, at, *(chip.id,) * ids)), _name(chip, two_dies))))
        lines.append(_padded((card, len(chips), *("-",) * ids, MCU)))
    return "".join(f"\t{line}\n" for line in lines)


def _padded(values: tuple[object, ...]) -> str:
    return " ".join(f"{value!s:<30}" for value in values)


def _name(chip: DeviceInfo, two_dies: bool) -> str:
    if place.family(chip) == "310":
        return "MiniD"
    return place.name(chip) if two_dies else f"Ascend {place.name(chip)}"
