"""Events: recorded on one stream, waited for on another or by the host, measuring device sections."""

from __future__ import annotations

from npu.device.task import RECORD, WAIT, Event
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.stream import Stream, queue
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

RECORD_NS = 1_000  # device time of a record task (unverified; 1-2 us suggested)
TIME_LINE = 0x8  # flag without which an event made with flags has no time


class DeviceEvent:
    """An event handle. timed: whether elapsed time may be asked; captures: waits take the record queued last and pass when
    there is none (events made by create_event_ex); otherwise a wait before any record waits for the next one."""

    def __init__(self, process: Process, timed: bool = True, captures: bool = False) -> None:
        self.event = Event(process.ordinal("event"))
        self.timed, self.captures = timed, captures
        self.handle = process.register(self)


def create(process: Process, flag: int | None = None, captures: bool = False) -> int:
    return DeviceEvent(process, flag is None or bool(flag & TIME_LINE), captures).handle


def of(process: Process, thread: HostThread, handle: int) -> DeviceEvent:
    found = process.get(handle, DeviceEvent)
    thread.event = found.event.ordinal
    return found


def record(process: Process, thread: HostThread, event: DeviceEvent, stream: Stream) -> None:
    queue(process, thread, stream, RECORD, RECORD_NS, "EVENT_RECORD", event=event.event)


def reset(process: Process, thread: HostThread, event: DeviceEvent) -> None:
    process.advance(thread.clock.now)
    event.event.reset()


def stream_wait(process: Process, thread: HostThread, stream: Stream, event: DeviceEvent) -> None:
    """Later tasks of the stream wait for the record; the host does not."""
    submitted = event.event.submitted
    target = submitted if event.captures else max(1, submitted)
    queue(process, thread, stream, WAIT, 0, "EVENT_WAIT", event=event.event, target=target)


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


def happened(process: Process, thread: HostThread, event: DeviceEvent) -> bool:
    """Whether the last record has happened at the thread's present."""
    process.advance(thread.clock.now)
    return 0 < event.event.submitted == event.event.completed


def elapsed_ms(process: Process, thread: HostThread, start: DeviceEvent, end: DeviceEvent) -> float:
    """Device time between two recorded events, ms. NpuError event_not_recorded, event_reversed."""
    process.advance(thread.clock.now)
    for one in (start, end):
        if not one.timed or one.event.time < 0:
            raise NpuError("event_not_recorded", event=one.event.ordinal)
    if end.event.time < start.event.time:
        raise NpuError("event_reversed", start=start.event.ordinal, end=end.event.ordinal)
    return (end.event.time - start.event.time) / 1e6
