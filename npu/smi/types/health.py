"""`-t health`: the state of a card, or a chip's state with its event codes."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi.asked import NA, Asked, framed, key


def health(asked: Asked) -> str:
    """A fault of the device is its code and, after a blank, what the driver says of it ("80E18005 text")."""
    if asked.chip is None:
        return framed(asked, lambda device: key("Health", device.health))
    return "".join(map(_chip, asked.chips))


def _chip(device: DeviceInfo) -> str:
    codes = [fault.split(" ", 1)[0] for fault in device.faults]
    said = [fault.partition(" ")[2] or NA for fault in device.faults] or [NA]
    text = key("Health Status", device.health) + key("Error Code", " ".join(codes) or NA)
    return text + key("Error Information", said[0]) + "".join(key("", more) for more in said[1:])
