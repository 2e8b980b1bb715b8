"""What an `info` command line asks for, and the frame that key forms share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from npu.driver.door import DeviceInfo, Snapshot
from npu.smi import place

NA = "NA"
SMALL = ("310", "310B")  # boards whose forms name the chip before its block


class Asked(NamedTuple):
    """The snapshot and the devices asked for. card, chip None: not given; phy: physical id of `-p`."""

    snapshot: Snapshot
    card: int | None
    chip: int | None
    phy: int | None

    @property
    def chips(self) -> list[DeviceInfo]:
        """The chips of the card, in their order; of all cards where none was given."""
        return [
            device
            for _, devices in place.cards(self.snapshot.devices)
            for device in devices
            if self.card in (None, place.card(device)) and self.chip in (None, place.chip(device))
        ]

    @property
    def family(self) -> str:
        return place.family(self.snapshot.devices[0])

    @property
    def generation(self) -> int:
        """First number of the driver version."""
        first = self.snapshot.driver_version.partition(".")[0]
        return int(first) if first.isdigit() else 0


Write = Callable[[Asked], "str | None"]  # None: this device does not support the type


def key(name: str, value: object, width: int = 30) -> str:
    """One line of the tool's key form: tab, key in 30, colon, value."""
    return f"\t{name:<{width}} : {value}\n"


def known(value: object) -> object:
    """The value, or NA: what is not known is never printed as 0."""
    return NA if value is None else value


def framed(asked: Asked, block: Callable[[DeviceInfo], str], *, first: bool = False, width: int = 30) -> str:
    """The blocks of a card's chips under its head; with a chip given, that chip's block alone.

    The chip's id stands behind its block, on small boards and where `first` before it. The 950 names no chip at all.
    """
    if asked.chip is not None:
        return "".join(map(block, asked.chips))
    text = key("NPU ID", asked.card, width)
    if asked.family == place.NEWEST:
        return text + "".join(map(block, asked.chips))
    text += key("Chip Count", len(asked.chips), width) + "\n"
    for device in asked.chips:
        number = key("Chip ID", place.chip(device), width)
        before = first or asked.family in SMALL
        text += (number + block(device) if before else block(device) + number) + "\n"
    return text


def percent(part: int, whole: int) -> int:
    """Whole percent, 0 where there is nothing to have."""
    return part * 100 // whole if whole else 0
