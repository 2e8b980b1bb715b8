"""`info -l` and `info -m`: which cards and chips there are."""

from __future__ import annotations

from npu import soc
from npu.driver.door import DeviceInfo
from npu.smi.place import cards

SMALL = ("310", "310B")  # they count "Card", the server boards "Total"
MCU = "Mcu"
NO_CARD = "There is no NPU card on this server.\n"


def key(name: str, value: object) -> str:
    """One line of the tool's key form: tab, key in 30, colon, value."""
    return f"\t{name:<30} : {value}\n"


def listed(devices: tuple[DeviceInfo, ...]) -> str:
    """`info -l`: every card with its number of chips."""
    if not devices:
        return NO_CARD
    on_cards = cards(devices)
    head = "Card Count" if soc.find(devices[0].soc).family in SMALL else "Total Count"
    return key(head, len(on_cards)) + "\n" + "".join(
        key("NPU ID", card) + key("Chip Count", len(chips)) + "\n" for card, chips in on_cards
    )


def mapped(devices: tuple[DeviceInfo, ...]) -> str:
    """`info -m`: (NPU, chip) -> logic id, with one row for the controller (MCU) of each card.

    Cards of two dies have a column more for the physical id. The last field is padded in the head and for the MCU only.
    """
    if not devices:
        return NO_CARD
    two_dies = soc.find(devices[0].soc).family == "910_93"
    heads = ("NPU ID", "Chip ID", "Chip Logic ID", *(("Chip Phy-ID",) if two_dies else ()), "Chip Name")
    ids = len(heads) - 3
    lines = [_padded(heads)]
    for card, chips in cards(devices):
        for at, chip in enumerate(chips):
            lines.append(" ".join((_padded((card, at, *(chip.id,) * ids)), _name(chip, two_dies))))
        lines.append(_padded((card, len(chips), *("-",) * ids, MCU)))
    return "".join(f"\t{line}\n" for line in lines)


def _padded(values: tuple[object, ...]) -> str:
    return " ".join(f"{value!s:<30}" for value in values)


def _name(chip: DeviceInfo, two_dies: bool) -> str:
    row = soc.find(chip.soc)
    if row.family == "310":
        return "MiniD"
    return row.npu_smi_name if two_dies else f"Ascend {row.npu_smi_name}"
