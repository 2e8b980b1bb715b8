"""Notifies: a flag that one stream sets and another waits for and clears, also across processes."""

from __future__ import annotations

import struct

from npu.device.task import NOTIFY_RECORD, NOTIFY_WAIT, Task
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime import shared
from npu.runtime.context import current
from npu.runtime.process import Process
from npu.runtime.stream import Stream, queue
from npu.runtime.thread import HostThread

RECORD_NS = 1_000  # device time of setting one, as of recording an event (unverified)
FLAGS = 0x1  # ACL_NOTIFY_DEVICE_USE_ONLY
EVERYBODY = 2  # export flag: any process may open it
PEER_ACCESS = 2  # import flag
WORD = struct.Struct("<q")  # in shared memory: 0 clear, else the time of its setting in ns + 1


class Notify:
    """Set at `time` (ns), -1 while clear. key: the name it is shared by, with the mapping in `memory`."""

    def __init__(self, dev: Handle, number: int) -> None:
        self.dev, self.id = dev, number
        self.time = -1
        self.key = ""
        self.memory: memoryview | None = None

    def set(self, when: int) -> None:
        if self.memory is not None:
            WORD.pack_into(self.memory, 0, when + 1)
        else:
            self.time = when

    def awaited(self) -> str:
        """How it is named when a stream waits for it."""
        return f"notify {self.id}, which {'another process has to record' if self.key else 'nothing records'}"

    def take(self) -> int:
        """When it was set, and clear it; -1 while it is clear. The gate of a wait."""
        if self.memory is not None:
            self.time = WORD.unpack_from(self.memory, 0)[0] - 1
            WORD.pack_into(self.memory, 0, 0)
        found, self.time = self.time, -1
        return found


def create(process: Process, thread: HostThread, flag: int) -> int:
    """A new notify on the current device; its handle. NpuError invalid_param, no_context."""
    if flag & ~FLAGS:
        raise NpuError("invalid_param", flag=flag)
    return process.register(Notify(current(thread).dev, process.ordinal("notify")))


def record(process: Process, thread: HostThread, notify: Notify, stream: Stream) -> None:
    """Queue setting it."""
    queue(process, thread, stream, NOTIFY_RECORD, RECORD_NS, "NOTIFY_RECORD", on_done=notify.set)


def wait_and_reset(process: Process, thread: HostThread, notify: Notify, stream: Stream, timeout_ms: int) -> None:
    """Queue waiting for it and clearing it; 0 waits for ever."""
    task: Task = queue(process, thread, stream, NOTIFY_WAIT, 0, "NOTIFY_WAIT", gate=notify.take, limit=timeout_ms * 1_000_000)
    if notify.key:
        process.outside.append(task)


def export(process: Process, notify: Notify, length: int, flags: int) -> str:
    """A key for other processes. NpuError invalid_param, ipc."""
    if flags & ~EVERYBODY or length >= shared.MOST_KEY or length == 0:
        raise NpuError("invalid_param", length=length, flags=flags)
    if not notify.key:
        notify.key = shared.publish(process, "notify", WORD.size, notify.dev.device, bool(flags & EVERYBODY))
        notify.memory = memoryview(shared.mapped(notify.key, WORD.size)[0])
    return notify.key


def import_key(process: Process, thread: HostThread, key: str, flags: int) -> int:
    """A handle of another process's notify. NpuError ipc_key, invalid_param, no_context."""
    if flags & ~PEER_ACCESS:
        raise NpuError("invalid_param", flags=flags)
    dev = current(thread).dev
    shared.enter(key, "notify")
    made = Notify(dev, process.ordinal("notify"))
    made.key, made.memory = key, memoryview(shared.mapped(key, WORD.size)[0])
    return process.register(made)
