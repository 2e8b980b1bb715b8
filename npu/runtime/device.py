"""Facts about a device as acl hands them out: attributes, capabilities, load, identity. Device ids are the script's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from npu.driver.query import snapshot
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.soc import Soc

NOT_THERE = 0xFFFF_FFFF  # super pod numbers of a machine that is in none (unverified)

# aclrtDevAttr -> value from chip and machine id. SIMT attributes (202, 203, 205..212) are of chips not in the table.
ATTRIBUTES: dict[int, Callable[[Soc, int], int]] = {
    1: lambda chip, _id: chip.aicpu,
    101: lambda chip, _id: chip.aic,
    102: lambda chip, _id: chip.aic,
    201: lambda chip, _id: chip.vector_cores,
    204: lambda chip, _id: chip.ub,
    301: lambda chip, _id: chip.memory,
    302: lambda chip, _id: chip.l2,
    401: lambda _chip, _id: 0,  # SMP id
    402: lambda chip, number: number // 2 if chip.family == "910_93" else number,  # two dies are one chip
    403: lambda chip, number: number if chip.family == "910_93" else NOT_THERE,
    404: lambda chip, _id: 0 if chip.family == "910_93" else NOT_THERE,
    405: lambda chip, _id: 0 if chip.family == "910_93" else NOT_THERE,
    406: lambda _chip, _id: 0,  # no custom operators with privileges
    407: lambda _chip, _id: 0,  # mainboard id (unverified)
    408: lambda _chip, _id: 0,  # host and device joined by PCIe
    409: lambda chip, _id: 3 if chip.family.startswith("310") else 0 if chip.family == "910_93" else 1,  # card, pod, A+K board
    501: lambda _chip, _id: 0,  # not virtual
    601: lambda chip, _id: int(chip.arch.rstrip("?")) if chip.arch.rstrip("?").isdigit() else 0,
}
# aclrtDevFeatureType -> whether chips have it (unverified)
FEATURES: dict[int, Callable[[Soc], bool]] = {1: lambda chip: chip.split, 21: lambda chip: chip.split}


def attribute(process: Process, device: int, number: int) -> int:
    """A device attribute by its aclrtDevAttr number. NpuError invalid_device, not_supported for one this chip has not."""
    found = ATTRIBUTES.get(number)
    machine_id = process.physical(device)
    if found is None:
        raise NpuError("not_supported", attribute=number)
    return found(process.machine.chip, machine_id)


def capability(process: Process, device: int, feature: int) -> int:
    """1 when a feature is there, else 0. NpuError invalid_device, invalid_param for an unknown feature."""
    process.physical(device)
    if feature not in FEATURES:
        raise NpuError("invalid_param", feature=feature, known=list(FEATURES))
    return int(FEATURES[feature](process.machine.chip))


def utilization(process: Process, device: int) -> dict[str, int]:
    """Load in percent, over all processes of the machine, as they published it last."""
    info = snapshot().devices[process.physical(device)]
    memory = info.memory_used * 100 // info.memory_total if info.memory_total else 0
    return {
        "cube_utilization": info.aicore,
        "vector_utilization": info.aivector,
        "aicpu_utilization": info.aicpu,
        "memory_utilization": memory,
        "utilization_extend": 0,
    }


def status(process: Process, device: int) -> int:
    """0 normal, 1 abnormal: what the device tool would show as Alarm or Critical."""
    return int(snapshot().devices[process.physical(device)].health in ("Alarm", "Critical"))


def uuid(process: Process, device: int) -> list[int]:
    """Sixteen bytes that stay the same for a device of this machine."""
    number = process.physical(device)
    return list(hashlib.sha256(f"{process.machine.chip.name} {process.machine.bus_id(number)}".encode()).digest()[:16])


def machine_id(process: Process, number: int) -> int:
    """A machine id, checked. NpuError invalid_device. Here the ids of driver and card are the same."""
    if not 0 <= number < process.machine.device_count:
        raise NpuError("invalid_device", device=number, count=process.machine.device_count)
    return number
