"""`-t usages`: capacities and shares of use, with the rows each chip family has."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import SMALL, Asked, framed, key, known, percent
from npu.units import MIB

WHOLE_NPU = 26  # drivers from here on also give the use of the whole NPU and of the cube units
DVPP = ("VDEC", "VPC", "VENC", "JPEGE", "JPEGD")


def usages(asked: Asked) -> str:
    """`-t usages`: memory, rates and use of the cores."""
    def block(device: DeviceInfo) -> str:
        rows = _small(device) if asked.family in SMALL else _inference(device) if asked.family == "310P" else _training(device)
        if asked.generation >= WHOLE_NPU and asked.family not in (*SMALL, "310P"):
            rows.append(("NPU Utilization(%)", max(device.aicore, device.aivector, device.aicpu)))
            rows.append(("Aicube Usage Rate(%)", device.aicore))
        return "".join(key(name, known(value)) for name, value in rows)

    return framed(asked, block)


Rows = list[tuple[str, object]]


def _training(device: DeviceInfo) -> Rows:
    """910 families and later: a DDR pool (absent on 910B and A3) and the HBM."""
    ddr_total = device.ddr_total or 0
    pages = (device.huge_used, device.huge_total) if ddr_total else (0, 0)
    vector: Rows = [] if place.family(device) == "910" else [("Aivector Usage Rate(%)", device.aivector)]
    return [
        ("DDR Capacity(MB)", ddr_total // MIB),
        ("DDR Usage Rate(%)", percent(device.ddr_used or 0, ddr_total)),
        ("DDR Hugepages Total(page)", pages[1]),
        ("DDR Hugepages Usage Rate(%)", percent(*pages)),
        ("HBM Capacity(MB)", device.memory_total // MIB),
        ("HBM Usage Rate(%)", percent(device.memory_used, device.memory_total)),
        ("Aicore Usage Rate(%)", device.aicore),
        *vector,
        ("Aicpu Usage Rate(%)", device.aicpu),
        ("Ctrlcpu Usage Rate(%)", device.ctrl_cpu),
        ("DDR Bandwidth Usage Rate(%)", None if ddr_total else 0),
        ("HBM Bandwidth Usage Rate(%)", device.memory_busy),
    ]


def _inference(device: DeviceInfo) -> Rows:
    """310P: vector cores of their own and the image units, whose use the simulated device does not count."""
    return [
        ("DDR Capacity(MB)", device.memory_total // MIB),
        ("DDR Usage Rate(%)", percent(device.memory_used, device.memory_total)),
        ("DDR Hugepages Total(page)", device.huge_total),
        ("DDR Hugepages Usage Rate(%)", percent(device.huge_used, device.huge_total)),
        ("Aicore Usage Rate(%)", device.aicore),
        ("Aicpu Usage Rate(%)", device.aicpu),
        ("Ctrlcpu Usage Rate(%)", device.ctrl_cpu),
        ("Vectorcore Usage Rate(%)", device.aivector),
        ("DDR Bandwidth Usage Rate(%)", device.memory_busy),
        *((f"DVPP {unit} Usage Rate(%)", None) for unit in DVPP),
    ]


def _small(device: DeviceInfo) -> Rows:
    return [
        ("Memory Capacity(MB)", device.memory_total // MIB),
        ("Memory Usage Rate(%)", percent(device.memory_used, device.memory_total)),
        ("Hugepages Total(page)", device.huge_total),
        ("Hugepages Usage Rate(%)", percent(device.huge_used, device.huge_total)),
        ("Aicore Usage Rate(%)", device.aicore),
        ("Aicpu Usage Rate(%)", device.aicpu),
        ("Ctrlcpu Usage Rate(%)", device.ctrl_cpu),
        ("Memory Bandwidth Usage Rate(%)", device.memory_busy),
    ]
