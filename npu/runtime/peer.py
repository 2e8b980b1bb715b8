"""Access between devices: who may read whose memory, and by what link."""

from __future__ import annotations

from npu.device.memory import BASE, DEVICE_SHIFT
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime.context import current
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

# aclrtGetDevicesTopo
HCCS, PIX, PIB, PHB, SYS, SIO, HCCS_SWITCHED = 1, 2, 4, 8, 16, 32, 64


def number(address: int) -> int:
    """The machine id of the device a device address belongs to."""
    return (address - BASE) >> DEVICE_SHIFT


def link(process: Process, one: int, other: int) -> int:
    """How two devices (machine ids) are joined: A2 and 910A servers are meshes (a 910A server of two), the dies of an A3
    package share a chip link and packages a switch, cards of the inference chips meet in the host."""
    family = process.machine.chip.family
    if family == "910_93":
        return SIO if one // 2 == other // 2 else HCCS_SWITCHED
    if family == "910B":
        return HCCS
    if family == "910":
        return HCCS if one // 4 == other // 4 else SYS
    return SYS


def reachable(process: Process, device: int, peer: int) -> bool:
    """Whether a device can reach another one's memory; never its own "peer". NpuError invalid_device."""
    one, other = process.physical(device), process.physical(peer)
    return one != other and link(process, one, other) != SYS


class Enabled:
    """Pairs (machine ids) that were enabled: the first may reach the second's memory."""

    def __init__(self) -> None:
        self.pairs: set[tuple[int, int]] = set()


def enabled(process: Process) -> set[tuple[int, int]]:
    """The enabled pairs of a process."""
    return process.one(Enabled).pairs


def enable(process: Process, thread: HostThread, peer: int) -> None:
    """Let the current device reach a peer's memory. NpuError no_context, not_supported, peer_enabled when it already may."""
    here = current(thread).device
    if not reachable(process, here, peer):
        raise NpuError("not_supported", device=here, peer=peer, reason="no link between the devices")
    enabled(process).add((process.physical(here), process.physical(peer)))


def disable(process: Process, thread: HostThread, peer: int) -> None:
    """Take that back. NpuError invalid_param when it was not enabled."""
    pair = process.physical(current(thread).device), process.physical(peer)
    if pair not in enabled(process):
        raise NpuError("invalid_param", peer=peer, reason="access to that device is not enabled")
    enabled(process).discard(pair)


def check(process: Process, source: Handle | None, target: Handle | None) -> bool:
    """Whether a device-to-device copy crosses devices. NpuError peer_access when neither may reach the other."""
    if source is None or target is None or source is target:
        return False
    pair = (source.device, target.device)
    if pair not in enabled(process) and pair[::-1] not in enabled(process):
        raise NpuError("peer_access", source=source.device, target=target.device)
    return True
