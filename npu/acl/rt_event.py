"""acl.rt: events."""

from __future__ import annotations

from npu.acl.rt_stream import COMPLETE, NOT_READY
from npu.runtime import context, event, stream
from npu.runtime.event import DeviceEvent
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "create_event",
    "create_event_ex_with_flag",
    "create_event_with_flag",
    "destroy_event",
    "event_elapsed_time",
    "event_get_timestamp",
    "get_event_avail_num",
    "get_event_id",
    "query_event",
    "query_event_status",
    "query_event_wait_status",
    "record_event",
    "reset_event",
    "stream_wait_event",
    "synchronize_event",
    "synchronize_event_with_timeout",
]

COUNTER_MHZ = 50  # of the system counter that time stamps count (A2; unverified)


def create_event(process: Process, thread: HostThread) -> int:
    return event.create(process)


def create_event_with_flag(process: Process, thread: HostThread, flag: int) -> int:
    return event.create(process, flag)


def create_event_ex_with_flag(process: Process, thread: HostThread, flag: int) -> int:
    return event.create(process, flag, captures=True)


def destroy_event(process: Process, thread: HostThread, handle: int) -> None:
    event.of(process, thread, handle)
    process.drop(handle, DeviceEvent)


def record_event(process: Process, thread: HostThread, handle: int, on: int) -> None:
    found = event.of(process, thread, handle)
    event.record(process, thread, found, stream.of(process, thread, on))


def reset_event(process: Process, thread: HostThread, handle: int, on: int) -> None:
    found = event.of(process, thread, handle)
    stream.of(process, thread, on)
    event.reset(process, thread, found)


def stream_wait_event(process: Process, thread: HostThread, on: int, handle: int) -> None:
    waiting = stream.of(process, thread, on)
    event.stream_wait(process, thread, waiting, event.of(process, thread, handle))


def synchronize_event(process: Process, thread: HostThread, handle: int) -> None:
    event.synchronize(process, thread, event.of(process, thread, handle))


def synchronize_event_with_timeout(process: Process, thread: HostThread, handle: int, timeout: int) -> None:
    event.synchronize(process, thread, event.of(process, thread, handle), timeout)


def query_event(process: Process, thread: HostThread, handle: int) -> int:
    return COMPLETE if event.happened(process, thread, event.of(process, thread, handle)) else NOT_READY


def query_event_status(process: Process, thread: HostThread, handle: int) -> int:
    return 1 if event.happened(process, thread, event.of(process, thread, handle)) else 0


def query_event_wait_status(process: Process, thread: HostThread, handle: int) -> int:
    return COMPLETE if event.wait_over(process, thread, event.of(process, thread, handle)) else NOT_READY


def event_get_timestamp(process: Process, thread: HostThread, handle: int) -> int:
    return event.time_ns(process, thread, event.of(process, thread, handle)) * COUNTER_MHZ // 1000


def get_event_avail_num(process: Process, thread: HostThread) -> int:
    context.current(thread)
    return event.available(process)


def event_elapsed_time(process: Process, thread: HostThread, start: int, end: int) -> float:
    return event.elapsed_ms(process, thread, event.of(process, thread, start), event.of(process, thread, end))


def get_event_id(process: Process, thread: HostThread, handle: int) -> int:
    return event.of(process, thread, handle).event.ordinal
