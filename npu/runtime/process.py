"""One process on the simulated machine: what is initialised, which devices are open, which threads call, which handles live."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import CLOCK_REALTIME, clock_gettime_ns  # not time_ns: the script sees the simulated timeline through that
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from npu.device.task import Task
from npu.driver.door import DriverError, Handle
from npu.driver.machine import Machine
from npu.errors import NpuError
from npu.events import Sink, load_sink
from npu.plog.log import ProcessLog
from npu.plog.settings import Settings
from npu.runtime import log_lines
from npu.runtime.clock import HostClock, handed
from npu.runtime.gone import Gone
from npu.runtime.knobs import Knobs
from npu.runtime.messages import RecentErrors, message, templates
from npu.runtime.pinned import Pinned
from npu.runtime.recording import Recording
from npu.runtime.thread import HostThread

if TYPE_CHECKING:
    from npu.driver.fault_plan import Planned
    from npu.runtime.watch import Watch

T = TypeVar("T")


class Peers(Protocol):
    """What of other ranks has to come first (npu.runtime.comm.peers)."""

    def add(self, awaited: Any) -> None:
        """An operation that will wait for other ranks (peers.Awaited)."""

    def drives(self, thread: HostThread, device: int) -> None:
        """The thread submits what the rank on a device (machine id) does."""

    def bound(self, device: int) -> int:
        """How far the calling thread may take the time of a device, FOREVER as far as it likes."""

    def before(self, now: int) -> None:
        """Let time pass up to now, stopping where other ranks have to come first."""

    def come(self) -> bool:
        """Wait a little for other ranks; False when nobody can come."""


Failed = Callable[["HostThread", int, int, int, NpuError], None]  # caller, device, stream and task (ordinals), failure
FOREVER = 1 << 62  # ns: later than anything

_HANDLE_START = 0x5000_0000  # handles are plain ints; they start high so that a mixed-up id is noticed
_HANDLE_STEP = 0x40


class Process:
    """All state of the simulated stack in one process. `lock` is held during every call and given up in real waits."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.knobs = Knobs.of()
        self.machine = Machine.of()
        self.recording = Recording(load_sink(), self.knobs.stacks)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)  # notified when a task is queued, if anybody really waits
        self.waiters = 0  # threads that really wait
        self.peers: Peers | None = None  # operations that wait for other ranks; None without communicators
        self.outside: list[Task] = []  # queued waits for another process, which nothing on this timeline will end
        self.unix_zero = self.knobs.epoch if self.knobs.epoch is not None else clock_gettime_ns(CLOCK_REALTIME)
        self.init_count = 0
        self.finalized = False
        self.config = ""  # of the first init, as JSON
        self.devices: dict[int, Handle] = {}  # open devices by machine id
        self.threads: list[HostThread] = []
        self.errors = RecentErrors()
        self.pinned = Pinned()
        self.checked: dict[tuple[int, ...], Any] = {}  # copies by their arguments (npu.runtime.copy)
        self.gone = Gone()  # device memory that was given back
        self._lag = 0  # ns by which real time ran ahead on threads that have ended (realtime)
        self.hazards: Watch | None = None  # looks for accesses that nothing orders
        self.log = ProcessLog(Settings.of(), self.pid, self.unix_now)
        self.planned = _planned()  # faults that shall happen
        self.on_call: Callable[[], None] | None = None  # looks at each call before it acts
        self.settings: dict[str, int] = {}  # process-wide switches, by name
        self.rates: dict[tuple[str, bool], tuple[int, float]] = {}  # what copies cost here, by direction and pageable host memory
        self.temporary: list[str] = []  # files to remove when the process ends
        self.objects: dict[int, object] = {}
        self.edits = 0  # how often a data set or a data buffer has changed or gone
        self.on_failure: Failed | None = None  # hears of failed tasks before their error is reported
        self._ones: dict[type, Any] = {}
        self._next_handle = _HANDLE_START
        self._ordinals: dict[str, int] = {}
        self.local = threading.local()
        self._native: list[int] = []  # thread ids of the system, by ordinal
        atexit.register(self._at_exit)
        self.tell()
        if self.knobs.hazards and self.recording.on:
            from npu.runtime.watch import Watch

            self.hazards = Watch(self)
        if self.planned:
            from npu.runtime.faults import watched

            self.on_call = watched(self)
        log_lines.started(self)

    def unix_now(self) -> int:
        """The calling thread's present, unix ns: what its log lines are stamped with."""
        thread = self.registered()
        return self.unix_zero + (thread.clock.now if thread is not None else 0)

    def needs_init(self, call: str) -> None:
        """For calls that work only between init and finalize. NpuError not_initialized."""
        if self.init_count == 0:
            raise NpuError("not_initialized", call=call)

    def refuse(self, call: str, thread: HostThread, error: NpuError) -> int:
        """A call answers with an error: its code, which becomes the thread's last one, with a recent message and a log line."""
        code = thread.last_error = error.code
        told = message(call, error)
        self.errors.add(told)
        log_lines.refused(self, error, told)
        return code

    def tell(self) -> None:
        """Tell the sink what is known of the process and its machine."""
        self.recording.sink.meta(
            pid=self.pid,
            soc=self.machine.chip.name,
            versions={"cann": self.machine.cann_version, "driver": self.machine.driver_version},
            clock=self.knobs.clock,
            unix_zero_ns=self.unix_zero,
            compute=self.knobs.compute,
            simulated=True,
            **({"threads": self._native} if self._native else {}),
            **({"devices": sorted(self.devices)} if self.devices else {}),
        )

    def listen(self, sink: Sink | None) -> None:
        """Record into a sink from now on, or into what it writes to now; None: record nothing."""
        self.recording.listen(sink)
        for handle in self.devices.values():
            handle.tell(self.recording.task)

    def _at_exit(self) -> None:
        """Remove temporary files at the end of the process, and not at that of a child that was forked from it. Destructors may
        still fail calls afterwards, when nothing can be loaded any more: so what a refusal needs is loaded now."""
        templates()
        if self.pid == os.getpid():
            lag = max((self._lag, *(thread.clock.lag for thread in self.threads)))
            if lag:
                self.recording.sink.meta(lag_ns=lag)
            for path in self.temporary:
                with suppress(OSError):
                    os.unlink(path)

    def awaits_others(self) -> bool:
        """Whether a queued task waits for another process."""
        self.outside = [t for t in self.outside if t.done_at < 0]
        return bool(self.outside)

    # -- threads ---------------------------------------------------------------------------------------------------

    def thread(self) -> HostThread:
        """The calling thread; registered at its first call, at the time handed to it, else the latest of any thread."""
        found: HostThread | None = getattr(self.local, "thread", None)
        if found is None:
            with self.lock:
                begun = handed(self.knobs.clock)
                latest = max((t.clock.peek() for t in self.threads), default=0)
                found = HostThread(self.ordinal("thread"), HostClock(self.knobs.clock, latest if begun < 0 else begun))
                self.threads.append(found)
                self._native.append(threading.get_native_id())
                self.recording.sink.meta(threads=self._native)
                self.local.thread = found
        return found

    def lend(self, owner: HostThread) -> HostThread:
        """The calling thread as one that works while another waits for it: it has the other's clock and holds nobody up."""
        with self.lock:
            made = HostThread(self.ordinal("thread"), owner.clock)
            self._native.append(threading.get_native_id())
            self.recording.sink.meta(threads=self._native)
            self.local.thread = made
        return made

    def native(self, thread: HostThread) -> int:
        """The thread id of the system."""
        return self._native[thread.ordinal]

    def registered(self) -> HostThread | None:
        """The calling thread if it has made a call already."""
        found: HostThread | None = getattr(self.local, "thread", None)
        return found

    def slowest(self, thread: HostThread) -> int:
        """The earliest present of the other threads that may still submit something; FOREVER when all of them wait for what has
        not come. A waiting thread whose time has come counts as running on from then."""
        found = FOREVER
        for other in list(self.threads):
            if other is thread:
                continue
            if not other.owner.is_alive():
                self.threads.remove(other)
                self._lag = max(self._lag, other.clock.lag)
                continue
            if not other.waiting:
                found = min(found, other.clock.peek())
            elif other.until is not None:
                when = other.until()
                if when >= 0:
                    found = min(found, max(when, other.clock.now))
        return found

    @contextmanager
    def unlocked(self, thread: HostThread) -> Iterator[None]:
        """Let code of the script run inside a call: lock and clock are the script's meanwhile, and what the call has noted for
        its record survives the calls made there."""
        noted = thread.notes()
        thread.clock.leave()
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()
            thread.clock.enter()
            thread.note(noted)

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
            fate = "it was never one"
            if thing is not None:
                fate = f"it is a {type(thing).__name__}"
            elif _HANDLE_START <= handle < self._next_handle and handle % _HANDLE_STEP == 0:
                fate = "it was destroyed"
            raise NpuError("invalid_param" if handle == 0 else situation, handle=handle, kind=kind.__name__, fate=fate)
        return thing

    def one(self, kind: type[T]) -> T:
        """The process's one thing of a kind, made at the first use."""
        found: T | None = self._ones.get(kind)
        if found is None:
            found = self._ones[kind] = kind()
        return found

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
            raise NpuError("no_driver", device=logical, reason="no driver is installed")
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
            handle = open_device(self.machine, physical, self.recording.task, self.planned)
        except DriverError as error:
            raise NpuError(error.situation, **error.facts) from error
        if self.planned or self.machine.ambient is not None:
            from npu.runtime.faults import opened

            opened(self, handle)
        handle.limit_kernels(self.settings.get("op_execute_timeout", 0) * 1000)
        self.devices[physical] = handle
        self.recording.sink.meta(devices=sorted(self.devices))
        return handle, True

    # -- simulated time over all open devices ------------------------------------------------------------------------

    def next_event(self) -> int:
        """Earliest next event of all devices, -1 for none."""
        times = [(h.next_event(), n) for n, h in self.devices.items()]
        if self.peers is not None:
            times = [(t, n) for t, n in times if t <= self.peers.bound(n)]
        return min((t for t, _ in times if t >= 0), default=-1)

    def advance(self, now: int) -> None:
        """Simulate all devices up to now, in the order of what happens: an event of one may be awaited on another."""
        if self.peers is not None:
            self.peers.before(now)
        handles = list(self.devices.values())
        if len(handles) > 1:
            while True:
                times = [(t, n) for n, t in enumerate(h.next_event() for h in handles) if t >= 0]
                if self.peers is not None:
                    times = [(t, n) for t, n in times if t <= self.peers.bound(handles[n].device)]
                when, number = min(times, default=(-1, 0))
                if not 0 <= when <= now:
                    break
                handles[number].advance(when)
        for number, handle in self.devices.items():
            handle.advance(now if self.peers is None else min(now, self.peers.bound(number)))


def _planned() -> tuple[Planned, ...]:
    """The faults NPU_FAULT plans; nothing is loaded for it where it is not set."""
    if not os.environ.get("NPU_FAULT"):
        return ()
    from npu.driver.fault_plan import of

    return of()


running: Process | None = None  # for those who ask at every call; current() for all others


def current() -> Process:
    """The process state, made at the first use; a forked child starts anew ("not initialised"). A variable of ours that cannot be
    used ends the script with 2 and two lines."""
    global running
    if running is None:
        try:
            running = Process()
        except ValueError as error:
            print(f"npu: {error}\n  next: correct the variable, or unset it", file=sys.stderr)
            raise SystemExit(2) from None
    return running


def started() -> Process | None:
    """The process state if there is one already."""
    return running


def _forget() -> None:
    global running
    running = None


os.register_at_fork(after_in_child=_forget)
