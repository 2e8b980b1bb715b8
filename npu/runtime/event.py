"""Events: recorded on one stream, waited for on another or by the host, measuring device sections."""

from __future__ import annotations

from npu.device.task import RECORD, WAIT, Event, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.stream import Stream, queue
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

RECORD_NS = 1_000  # device time of a record task (unverified; 1-2 us suggested)
TIME_LINE = 0x8  # flag without which an event made with flags has no time
KNOWN_FLAGS = 0x7B  # SYNC, CAPTURE_STREAM_PROGRESS, TIME_LINE, DEVICE_USE_ONLY, EXTERNAL, IPC
MOST = 65_535  # events of a process at a time (unverified)
WAIT_LIMIT = "op_wait_timeout"  # process setting: ns a wait for an event may last, 0 for ever


class DeviceEvent:
    """An event handle. timed: whether elapsed time may be asked; captures: waits take the record queued last and pass when
    there is none (events made by create_event_ex); otherwise a wait before any record waits for the next one."""

    def __init__(self, process: Process, timed: bool = True, captures: bool = False) -> None:
        self.event = Event(process.ordinal("event"))
        self.timed, self.captures = timed, captures
        self.awaited: Task | None = None  # the wait queued last
        self.handle = process.register(self)


def available(process: Process) -> int:
    """How many events can still be made."""
    return MOST - sum(isinstance(o, DeviceEvent) for o in process.objects.values())


def create(process: Process, flag: int | None = None, captures: bool = False) -> int:
    """A new event; its handle. NpuError invalid_param for an unknown flag, no_event_resource."""
    if flag is not None and flag & ~KNOWN_FLAGS:
        raise NpuError("invalid_param", flag=flag)
    if len(process.objects) >= MOST and available(process) <= 0:
        raise NpuError("no_event_resource", most=MOST)
    return DeviceEvent(process, flag is None or bool(flag & TIME_LINE), captures).handle


def of(process: Process, thread: HostThread, handle: int) -> DeviceEvent:
    """The event of a handle, noted as what the call is about. NpuError for a handle that is none."""
    found = process.get(handle, DeviceEvent)
    thread.event = found.event.ordinal
    return found


def record(process: Process, thread: HostThread, event: DeviceEvent, stream: Stream) -> None:
    """Queue a record of the event on a stream: it has happened when the stream comes to it."""
    queue(process, thread, stream, RECORD, RECORD_NS, "EVENT_RECORD", event=event.event)


def reset(process: Process, thread: HostThread, event: DeviceEvent) -> None:
    """Make an event one that has not happened, as of the host's present."""
    process.advance(thread.clock.now)
    event.event.reset()
    if process.hazards is not None:
        process.hazards.reset(event.event)


def stream_wait(process: Process, thread: HostThread, stream: Stream, event: DeviceEvent) -> None:
    """Later tasks of the stream wait for the record; the host does not."""
    submitted = event.event.submitted
    target = submitted if event.captures else max(1, submitted)
    limit = process.settings.get(WAIT_LIMIT, 0)
    event.awaited = queue(process, thread, stream, WAIT, 0, "EVENT_WAIT", event=event.event, target=target, limit=limit)


def synchronize(process: Process, thread: HostThread, event: DeviceEvent, timeout_ms: int = -1) -> None:
    """The host waits until the event's last record has happened."""
    thread.blocking = 1
    inner = event.event
    target = inner.submitted if event.captures else max(1, inner.submitted)
    wait(
        process,
        thread,
        lambda: max(inner.time, 0) if inner.completed >= target else -1,
        timeout_ms * 1_000_000 if timeout_ms >= 0 else -1,
        "event",
    )
    if process.hazards is not None:
        process.hazards.happened(inner)


def happened(process: Process, thread: HostThread, event: DeviceEvent) -> bool:
    """Whether the last record has happened at the thread's present."""
    process.advance(thread.clock.now)
    found = 0 < event.event.submitted == event.event.completed
    if found and process.hazards is not None:
        process.hazards.happened(event.event)
    return found


def wait_over(process: Process, thread: HostThread, event: DeviceEvent) -> bool:
    """Whether the wait queued last has ended at the thread's present; True when there was none."""
    process.advance(thread.clock.now)
    over = event.awaited is None or event.awaited.done_at >= 0
    if over and process.hazards is not None:
        process.hazards.joined(event.awaited)
    return over


def time_ns(process: Process, thread: HostThread, event: DeviceEvent) -> int:
    """Time of the last record, ns of the timeline. NpuError event_not_recorded."""
    process.advance(thread.clock.now)
    if not event.timed or event.event.time < 0:
        raise NpuError("event_not_recorded", event=event.event.ordinal)
    if process.hazards is not None:
        process.hazards.happened(event.event)
    return event.event.time


def elapsed_ms(process: Process, thread: HostThread, start: DeviceEvent, end: DeviceEvent) -> float:
    """Device time between two recorded events, ms. NpuError event_not_recorded, event_reversed."""
    begun, ended = time_ns(process, thread, start), time_ns(process, thread, end)
    if ended < begun:
        raise NpuError("event_reversed", start=start.event.ordinal, end=end.event.ordinal)
    return (ended - begun) / 1e6
