"""`-t phyid-remap -p ID`: where the chip of a physical id sits. The only type without a blank before the colon."""

from __future__ import annotations

from npu.smi import place
from npu.smi.asked import Asked


def phyid_remap(asked: Asked) -> str | None:
    """None for a physical id that no device has; the command line is checked before."""
    device = next((device for device in asked.snapshot.devices if device.id == asked.phy), None)
    if device is None:
        return None
    rows = (
        ("Chip Physical ID", device.id),
        ("Chip Logic ID", device.id),
        ("NPU ID", place.card(device)),
        ("Chip ID", place.chip(device)),
    )
    return "".join(f"\t{name:<30}:{value}\n" for name, value in rows)
