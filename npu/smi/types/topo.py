"""`-t topo`: how every two devices are linked, and the CPUs near them."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import NA, Asked

FIELD = 11
MESH = 4  # devices of the first 910 generation linked by HCCS among themselves; a server has two such groups
LEGEND = (
    ("X", "Self"),
    ("SYS", "Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI."),
    ("PHB", "Path traversing PCIe and the PCIe host bridge of a CPU."),
    ("PIX", "Path traversing a single PCIe switch."),
    ("PXB", "Path traversing multiple PCIe switches."),
    ("HCCS", "Connection traversing HCCS."),
    ("NA", "Unknown relationship."),
)
TWO_DIES = (("SIO", "Link between the dies of one card."), ("HCCS_SW", "Connection traversing an HCCS switch."))


def topo(asked: Asked) -> str:
    """Servers of this simulated kind have one NUMA node that is near to all, so the affinity is not known (NA)."""
    devices = asked.snapshot.devices
    two_dies = place.dies(devices[0]) > 1
    names = [f"Phy-ID{device.id}" if two_dies else f"NPU{place.card(device)}" for device in devices]
    lines = ["\t   " + "".join(f"{name:<{FIELD}}" for name in names) + "CPU Affinity\n"]
    for name, row in zip(names, devices, strict=True):
        lines.append(f"{name:<{FIELD}}" + "".join(f"{link(row, column):<{FIELD}}" for column in devices) + f"{NA}\n")
    legend = (*LEGEND[:-1], *TWO_DIES, LEGEND[-1]) if two_dies else LEGEND
    width = max(len(word) for word, _ in legend)
    return "".join(lines) + "\nLegend:\n\n" + "".join(f"  {word:<{width}} = {text}\n" for word, text in legend)


def link(one: DeviceInfo, other: DeviceInfo) -> str:
    """910B servers link all devices by HCCS, the first 910 in groups of four, A3 by a switch and its dies directly;
    cards in slots meet at the host."""
    if one.id == other.id:
        return "X"
    family = place.family(one)
    if family == "910_93":
        return "SIO" if place.card(one) == place.card(other) else "HCCS_SW"
    if family == "910B":
        return "HCCS"
    if family == "910":
        return "HCCS" if one.id // MESH == other.id // MESH else "SYS"
    return "PIX" if place.card(one) == place.card(other) else "SYS"
