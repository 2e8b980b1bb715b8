"""`-t memory`: capacities, clocks and makers of the memory. Clocks and makers are not known of simulated devices."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import NA, SMALL, Asked, framed, key
from npu.units import MIB


def memory(asked: Asked) -> str:
    """`-t memory`: sizes of the pools, MB, and clocks of the memory, which are not known."""
    def block(device: DeviceInfo) -> str:
        own = device.memory_total // MIB
        if asked.family in SMALL:
            rows: list[tuple[str, object]] = [("Capacity(MB)", own), ("Clock Speed(MHz)", NA)]
        elif not place.hbm(device):
            rows = [("Total DDR Capacity(MB)", own), ("DDR Capacity(MB)", own), ("DDR Clock Speed(MHz)", NA)]
        else:
            rows = [
                ("DDR Capacity(MB)", (device.ddr_total or 0) // MIB),
                ("DDR Clock Speed(MHz)", NA if device.ddr_total else 0),
                ("HBM Capacity(MB)", own),
                ("HBM Clock Speed(MHz)", NA),
                ("HBM Temperature(C)", NA),
                ("HBM Manufacturer ID", NA),
            ]
        return "".join(key(name, value) for name, value in rows)

    return framed(asked, block)
