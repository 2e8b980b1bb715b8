"""One process on the simulated machine: what is initialised, which devices are open, which threads call, which handles live."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import CLOCK_REALTIME, clock_gettime_ns  # not time_ns: the script sees the simulated timeline through that
from typing import Any, TypeVar

from npu.driver.door import DriverError, Handle
from npu.driver.machine import Machine
from npu.errors import NpuError
from npu.events import load_sink
from npu.runtime.clock import HostClock
from npu.runtime.knobs import Knobs
from npu.runtime.recording import Recording
from npu.runtime.thread import HostThread

T = TypeVar("T")

_HANDLE_START = 0x5000_0000  # handles are plain ints; they start high so that a mixed-up id is noticed
_HANDLE_STEP = 0x40


class Process:
    """All state of the simulated stack in one process. `lock` is held during every call and given up in real waits."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.knobs = Knobs.of()
        self.machine = Machine.of()
        self.recording = Recording(load_sink())
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)  # notified when a task is queued
        self.init_count = 0
        self.finalized = False
        self.devices: dict[int, Handle] = {}  # open devices by machine id
        self.threads: list[HostThread] = []
        self.recent_error = ""
        self.temporary: list[str] = []  # files to remove when the process ends
        self.objects: dict[int, object] = {}
        self._next_handle = _HANDLE_START
        self._ordinals: dict[str, int] = {}
        self._local = threading.local()
        self._native: list[int] = []  # thread ids of the system, by ordinal
        self.recording.sink.meta(
            pid=self.pid,
            soc=self.machine.chip.name,
            versions={"cann": self.machine.cann_version, "driver": self.machine.driver_version},
            clock=self.knobs.clock,
            unix_zero_ns=self.knobs.epoch if self.knobs.epoch is not None else clock_gettime_ns(CLOCK_REALTIME),
            compute=self.knobs.compute,
            simulated=True,
        )

    # -- threads ---------------------------------------------------------------------------------------------------

    def thread(self) -> HostThread:
        """The calling thread; registered at its first call with the latest time any thread has reached."""
        found: HostThread | None = getattr(self._local, "thread", None)
        if found is None:
            with self.lock:
                start = (
                    max((t.clock.peek() for t in self.threads), default=0)
                    if self.knobs.clock != "model"
                    else max((t.clock.now for t in self.threads), default=0)
                )
                found = HostThread(self.ordinal("thread"), HostClock(self.knobs.clock, start))
                self.threads.append(found)
                self._native.append(threading.get_native_id())
                self.recording.sink.meta(threads=self._native)
                self._local.thread = found
        return found

    def alone(self, thread: HostThread) -> bool:
        """Whether every other registered thread is itself in a runtime wait (or has ended)."""
        alone = True
        for other in list(self.threads):
            if other is thread:
                continue
            if not other.owner.is_alive():
                self.threads.remove(other)
            elif not other.waiting:
                alone = False
        return alone

    # -- handles and ordinals --------------------------------------------------------------------------------------

    def ordinal(self, kind: str) -> int:
        """The next ordinal of a kind: what rows hold in place of handles."""
        number = self._ordinals.get(kind, 0)
        self._ordinals[kind] = number + 1
        return number

    def register(self, thing: object) -> int:
        """A handle for a thing."""
        handle = self._next_handle
        self._next_handle += _HANDLE_STEP
        self.objects[handle] = thing
        return handle

    def get(self, handle: int, kind: type[T], situation: str = "invalid_handle") -> T:
        """The thing behind a handle; NpuError (by default invalid_handle) when it is none of that kind."""
        thing = self.objects.get(handle)
        if not isinstance(thing, kind):
            raise NpuError("invalid_param" if handle == 0 else situation, handle=handle, kind=kind.__name__)
        return thing

    def drop(self, handle: int, kind: type[T]) -> T:
        """Forget a handle and give the thing that was behind it."""
        thing = self.get(handle, kind)
        del self.objects[handle]
        return thing

    # -- devices ---------------------------------------------------------------------------------------------------

    def visible(self) -> list[int]:
        """Machine ids of the devices this process may use, by logical id. Reading stops at the first bad item."""
        count = self.machine.device_count if self.machine.driver_version is not None else 0
        if self.knobs.visible is None:
            return list(range(count))
        chosen: list[int] = []
        for item in self.knobs.visible.split(","):
            if not item.isdigit() or int(item) >= count or (chosen and int(item) <= chosen[-1]):
                break
            chosen.append(int(item))
        return chosen

    def physical(self, logical: int) -> int:
        """The machine id of a logical device id; NpuError no_driver or invalid_device."""
        if self.machine.driver_version is None:
            raise NpuError("no_driver", device=logical)
        ids = self.visible()
        if not 0 <= logical < len(ids):
            raise NpuError("invalid_device", device=logical, count=len(ids))
        return ids[logical]

    def open(self, logical: int) -> tuple[Handle, bool]:
        """The open device of a logical id, and whether this call opened it."""
        physical = self.physical(logical)
        if physical in self.devices:
            return self.devices[physical], False
        from npu.driver.handle import open_device

        try:
            handle = open_device(self.machine, physical, self.recording.task)
        except DriverError as error:
            raise NpuError(error.situation, **error.facts) from error
        self.devices[physical] = handle
        self.recording.sink.meta(devices=sorted(self.devices))
        return handle, True

    def close_all(self) -> None:
        for handle in self.devices.values():
            handle.close()
        self.devices.clear()

    # -- simulated time over all open devices ------------------------------------------------------------------------

    def next_event(self) -> int:
        """Earliest next event of all devices, -1 for none."""
        times = [t for t in (h.next_event() for h in self.devices.values()) if t >= 0]
        return min(times, default=-1)

    def advance(self, now: int) -> None:
        for handle in self.devices.values():
            handle.advance(now)


_process: Process | None = None


def current() -> Process:
    """The process state, made at the first use; a forked child starts anew ("not initialised")."""
    global _process
    if _process is None or _process.pid != os.getpid():
        _process = Process()
    return _process


def started() -> Process | None:
    """The process state if there is one already."""
    return _process if _process is not None and _process.pid == os.getpid() else None


def locked(process: Process, action: Callable[[], Any]) -> Any:
    """Run an action with the process lock held: for callers that are no facade function."""
    with process.lock:
        return action()
