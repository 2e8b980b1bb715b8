"""Where a device sits: cards of one or two dies. The tool speaks of (NPU, Chip), the runtime of device numbers."""

from __future__ import annotations

from npu import soc
from npu.driver.door import DeviceInfo


def dies(device: DeviceInfo) -> int:
    """Devices on one card: two on A3."""
    return 2 if soc.find(device.soc).family == "910_93" else 1


def cards(devices: tuple[DeviceInfo, ...]) -> list[tuple[int, list[DeviceInfo]]]:
    """(card id, its devices in order of their chip id), by card."""
    made: dict[int, list[DeviceInfo]] = {}
    for device in devices:
        made.setdefault(device.id // dies(device), []).append(device)
    return sorted(made.items())
