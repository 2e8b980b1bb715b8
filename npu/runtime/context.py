"""Devices and contexts: a thread works on the device of its current context."""

from __future__ import annotations

from npu.device.memory import BASE, DEVICE_SHIFT
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime import log_lines
from npu.runtime.process import Process, started
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread


class Context:
    """device: logical id as the script counts; streams by handle. The default stream is made with the context."""

    def __init__(self, process: Process, device: int, handle: Handle, primary: bool) -> None:
        self.device, self.primary, self.alive = device, primary, True
        self.dev = handle
        self.streams: dict[int, Stream] = {}
        self.options: dict[int, int] = {}  # system parameter options, by number
        on(handle).append(self)
        self.handle = process.register(self)
        self.default = Stream(process, self, default=True)


def on(handle: Handle) -> list[Context]:
    """The live contexts of an open device, the oldest first."""
    found = handle.extra.get("contexts")
    if not isinstance(found, list):
        found = handle.extra["contexts"] = []
    return found


def contexts(process: Process, device: int) -> list[Context]:
    """Live contexts of a device by logical id."""
    handle = process.devices.get(process.physical(device))
    return [] if handle is None else list(on(handle))


def primary(process: Process, device: int) -> Context | None:
    """The primary context of a device by logical id; None while nobody has opened the device."""
    return next((c for c in contexts(process, device) if c.primary), None)


def set_device(process: Process, thread: HostThread, device: int) -> bool:
    """Make a device current with its primary context; True when this call opened the device."""
    handle, opened = process.open(device)
    context = primary(process, device) or Context(process, device, handle, primary=True)
    thread.context = context
    thread.device = device
    return opened


def reset_device(process: Process, thread: HostThread, device: int) -> None:
    """Close a device for this process: its contexts, streams and memory go."""
    physical = process.physical(device)
    mine = contexts(process, device)
    if not mine:
        raise NpuError("device_not_open", device=device)
    thread.device = device
    log_lines.reset_with(process, device, mine[0].dev, sum(len(c.streams) for c in mine))
    for context in mine:
        destroy(process, context)
    for other in process.threads:
        if other.context is not None and not other.context.alive:
            other.context = None
    handle = process.devices.pop(physical)
    process.gone.freed((BASE + (physical << DEVICE_SHIFT), 1 << DEVICE_SHIFT, "its device was reset"))
    for key, thing in list(process.objects.items()):
        if getattr(thing, "dev", None) is handle:  # physical memory, reservations, notifies: they go with their device
            del process.objects[key]
    handle.close()


def create(process: Process, thread: HostThread, device: int) -> int:
    """A further context on a device; it becomes the thread's current one."""
    handle, _ = process.open(device)
    context = Context(process, device, handle, primary=False)
    thread.context = context
    thread.device = device
    return context.handle


def destroy(process: Process, context: Context) -> None:
    """End a context and its streams."""
    for stream in list(context.streams.values()):
        stream.close(process)
    context.default.close(process)
    context.alive = False
    on(context.dev).remove(context)
    process.objects.pop(context.handle, None)


class Default:
    """The device of threads that have chosen none, as acl.json names it; -1 when it names none."""

    def __init__(self) -> None:
        self.device = -1


def current(thread: HostThread) -> Context:
    """The thread's context; one that has never had any gets that of the default device. NpuError no_context, those of opening."""
    context = thread.context
    if context is None:
        process = started()
        wanted = -1 if process is None else process.one(Default).device
        if process is not None and wanted >= 0:
            set_device(process, thread, wanted)
            context = thread.context
    if context is None or not context.alive:
        raise NpuError("no_context")
    return context
