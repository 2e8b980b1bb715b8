"""torch.npu.Stream and Event over those of the runtime, and which stream is current."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import torch

from npu.runtime import event as events
from npu.runtime import stream as streams
from npu.runtime.event import DeviceEvent
from npu.torch_npu import place, waiting
from npu.torch_npu.kernels import device_index

TIMED, UNTIMED = 0x8, 0x1  # aclrtEvent flags: time line, sync


class Stream:
    """A queue of the device. priority: lower goes first, as torch counts it (0 normal, -1 high)."""

    def __init__(self, device: Any = None, priority: int = 0, stream: streams.Stream | None = None, **_handed: Any) -> None:
        self.device_index = place.seats.mine.device if device is None else device_index(device)
        self.priority = priority
        if stream is None:
            with place.inside() as (process, thread):
                where = place.on(process, thread, self.device_index)
                handle = place.called(
                    process, thread, "aclrtCreateStreamWithConfig", lambda: streams.create(process, where, max(0, 1 + priority))
                )
                stream = process.get(handle, streams.Stream)
        self._stream = stream

    @property
    def device(self) -> torch.device:
        return torch.device("npu", self.device_index)

    @property
    def npu_stream(self) -> int:
        return self._stream.handle

    @property
    def stream_id(self) -> int:
        return self._stream.ordinal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other._stream is self._stream

    def __hash__(self) -> int:
        return hash(self._stream.ordinal)

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Stream device=npu:{self.device_index} npu_stream={self.npu_stream:#x}>"

    def synchronize(self) -> None:
        """The host waits for all that is queued here."""
        with place.inside() as (process, thread):
            place.on(process, thread, self.device_index)
            waiting.synchronize(process, thread, self._stream)

    def query(self) -> bool:
        """Whether nothing is left to do at the host's present."""
        with place.inside() as (process, thread):

            def idle() -> bool:
                process.advance(thread.clock.now)
                return self._stream.idle

            return place.called(process, thread, "aclrtStreamQuery", idle)

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """What is queued here later waits for what is queued there now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        made = Event() if event is None else event
        made.record(self)
        return made

    def __enter__(self) -> Stream:
        self._former = set_stream(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        set_stream(self._former)


class ExternalStream(Stream):
    """A stream that acl made, by its handle."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        with place.inside() as (process, _thread):
            found = process.get(stream_ptr, streams.Stream)
        super().__init__(device, stream=found)


class Event:
    """A mark in a stream; with enable_timing its time can be asked for."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_handed: Any) -> None:
        if interprocess:
            raise RuntimeError("interprocess events are not simulated; use events within one process")
        self._timed = enable_timing
        self._event: DeviceEvent | None = None
        self.device: torch.device | None = None

    def record(self, stream: Stream | None = None) -> None:
        where = current_stream() if stream is None else stream
        with place.inside() as (process, thread):
            place.on(process, thread, where.device_index)
            if self._event is None:
                flag = TIMED if self._timed else UNTIMED
                handle = place.called(
                    process, thread, "aclrtCreateEventExWithFlag", lambda: events.create(process, flag, captures=True)
                )
                self._event, self.device = process.get(handle, DeviceEvent), where.device
            event = self._event

            def record() -> None:
                thread.event, thread.stream, thread.device = event.event.ordinal, where.stream_id, where.device_index
                events.record(process, thread, event, where._stream)

            place.called(process, thread, "aclrtRecordEvent", record)

    def wait(self, stream: Stream | None = None) -> None:
        """What is queued on a stream later waits for the last record; an event that was never recorded holds nobody."""
        where = current_stream() if stream is None else stream
        event = self._event
        if event is None:
            return
        with place.inside() as (process, thread):
            place.on(process, thread, where.device_index)

            def wait() -> None:
                thread.event, thread.stream, thread.device = event.event.ordinal, where.stream_id, where.device_index
                events.stream_wait(process, thread, where._stream, event)

            place.called(process, thread, "aclrtStreamWaitEvent", wait)

    def query(self) -> bool:
        event = self._event
        if event is None:
            return True
        with place.inside() as (process, thread):
            return place.called(process, thread, "aclrtQueryEventStatus", lambda: events.happened(process, thread, event))

    def synchronize(self) -> None:
        event = self._event
        if event is not None:
            with place.inside() as (process, thread):
                place.called(process, thread, "aclrtSynchronizeEvent", lambda: events.synchronize(process, thread, event))

    def elapsed_time(self, end_event: Event) -> float:
        """ms of device time from this event to another. RuntimeError for events without times, or not reached yet."""
        first, last = self._event, end_event._event
        if first is None or last is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if not self._timed or not end_event._timed:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        with place.inside() as (process, thread):
            return place.called(process, thread, "aclrtEventElapsedTime", lambda: events.elapsed_ms(process, thread, first, last))

    def recorded_time(self) -> int:
        """us of the device's time at the last record."""
        event = self._event
        if event is None:
            raise RuntimeError("Event must be recorded before asking for its time.")
        with place.inside() as (process, thread):
            return events.time_ns(process, thread, event) // 1000

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {'uninitialized' if self._event is None else hex(self._event.handle)}>"


class ExternalEvent(Event):
    """An event that is reset between uses; waits queued after reset wait for the next record."""

    def wait(self, stream: Stream | None = None) -> None:
        if self._event is None:
            raise RuntimeError("ExternalEvent: wait before the first record is not simulated; record the event first")
        super().wait(stream)

    def reset(self, stream: Stream | None = None) -> None:
        self._event = None


def record_stream(original: Any) -> Any:
    """Tensor.record_stream takes torch's own streams only; memory of tensors here stays theirs as long as they live."""

    def record(tensor: torch.Tensor, stream: Any) -> None:
        if not isinstance(stream, Stream):
            original(tensor, stream)

    return record


def current_stream(device: Any = None) -> Stream:
    """The calling thread's stream on a device, by default the current one."""
    number = place.seats.mine.device if device is None else device_index(device)
    with place.inside() as (process, thread):
        return Stream(number, stream=place.stream(process, thread, number))


def default_stream(device: Any = None) -> Stream:
    number = place.seats.mine.device if device is None else device_index(device)
    with place.inside() as (process, thread):
        return Stream(number, stream=place.on(process, thread, number).default)


def set_stream(stream: Stream) -> Stream:
    """Make a stream current for the calling thread, with its device; the one that was."""
    former = current_stream(stream.device_index)
    place.seats.mine.streams[stream.device_index] = stream._stream
    return former


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A block whose operators are queued on a stream; None changes nothing."""
    if stream is None:
        yield
        return
    here = place.seats.mine
    device, here.device = here.device, stream.device_index
    former = set_stream(stream)
    try:
        yield
    finally:
        set_stream(former)
        here.device = device


StreamContext = stream
