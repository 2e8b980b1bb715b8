"""Core limits: how many cube and vector cores a device or a stream may use (aclrtDevResLimitType)."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.stream import Stream

CUBE, VECTOR = 0, 1


def most(process: Process, kind: int) -> int:
    """All cores of a kind on this chip. NpuError invalid_param for an unknown kind."""
    chip = process.machine.chip
    counts = {CUBE: chip.aic, VECTOR: chip.vector_cores}
    if kind not in counts:
        raise NpuError("invalid_param", type=kind)
    return counts[kind]


def checked(process: Process, kind: int, value: int) -> int:
    """A limit that can be. NpuError invalid_param for none or more than there are."""
    if not 1 <= value <= most(process, kind):
        raise NpuError("invalid_param", value=value, most=most(process, kind))
    return value


def _limits(process: Process, device: int) -> dict[int, int]:
    handle = process.devices.get(process.physical(device))
    if handle is None:
        raise NpuError("no_context", device=device)
    found = handle.extra.get("cores")
    if not isinstance(found, dict):
        found = handle.extra["cores"] = {}
    return found


def of_device(process: Process, device: int, kind: int) -> int:
    """The limit of a device: as set, else all. NpuError no_context when the device is not open."""
    return _limits(process, device).get(kind, most(process, kind))


def limit_device(process: Process, device: int, kind: int, value: int) -> None:
    """Let all streams of a device use at most so many cores of a kind. NpuError no_context, invalid_param."""
    _limits(process, device)[kind] = checked(process, kind, value)


def free_device(process: Process, device: int) -> None:
    """Take the limits of a device away. NpuError no_context."""
    _limits(process, device).clear()


def of_stream(process: Process, stream: Stream, kind: int) -> int:
    """The limit of a stream: as set, else its device's."""
    return stream.cores[kind] if kind in stream.cores else of_device(process, stream.context.device, kind)
