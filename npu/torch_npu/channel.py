"""A communicator as the framework uses it: on a stream of its own, ordered with the script's by events.

What a call leaves on the device is what public profiles show: an event of the current stream, a wait for it on the stream of the
communicator, the operation, and an event at its end, for which whoever needs the result lets his stream wait.
"""

from __future__ import annotations

import atexit
import csv
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import NamedTuple

from npu.events import LEVELS
from npu.runtime import event as events
from npu.runtime import stream as streams
from npu.runtime.comm import communicator, joining, meeting
from npu.runtime.comm.call import Call
from npu.runtime.comm.early import Early
from npu.runtime.comm.elsewhere import Elsewhere
from npu.runtime.comm.peers import Peers
from npu.runtime.event import DeviceEvent
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import launch, place, waiting

COMMUNICATION = LEVELS.index("communication")
UNTIMED = 0x1  # aclrtEvent flag: sync
ALL, CALLBACKS = (-1, False), (-2, False)  # the streams of operations of all ranks, and of callbacks
Lane = tuple[int, bool]  # of messages: the other rank, and whether they go there


class Operation(NamedTuple):
    """One row of torch_collectives.csv: how the framework, its profile and the library name it, and the operation it is. source
    says whether public traces show the names."""

    method: str
    shown: str
    host_op: str
    api: str
    op: str
    source: str


@cache
def table() -> dict[str, Operation]:
    """All rows by method of the process group."""
    text = resources.files("npu").joinpath("data/torch_collectives.csv").read_text(encoding="utf-8")
    return {row["method"]: Operation(**row) for row in csv.DictReader(text.splitlines())}


class Channel:
    """One rank's communicator on one device. info: gives the root information, made by rank 0 and handed to all."""

    def __init__(
        self, process: Process, thread: HostThread, device: int, rank: int, world: tuple[int, ...],
        info: Callable[[Callable[[], bytes], Callable[[], None]], bytes],
    ) -> None:  # fmt: skip
        self.device = device
        self.context = place.on(process, thread, device)

        def root() -> bytes:
            return place.called(process, thread, "HcclGetRootInfo", meeting.root_info, level=COMMUNICATION)

        def idle() -> None:
            """While rank 0 has not come: it may wait for what is queued here."""
            if isinstance(process.peers, Peers):
                process.peers.ahead()

        found = info(root, idle)

        def joined() -> int:
            thread.device = device
            return joining.init_root(process, thread, len(world), found, rank, {}, world)

        handle = place.called(process, thread, "HcclCommInitRootInfo", joined, level=COMMUNICATION)
        self.comm = communicator.of(process, thread, handle)
        self.early = Early(self.comm)
        atexit.unregister(place._finish)  # what is queued ends before this rank says that it reads nothing more
        atexit.register(place._finish, process)
        if self.comm.size > 1:
            process.one(Elsewhere).watch(process, thread)
        self._streams: dict[Lane, Stream] = {}
        self._begun: dict[Lane, DeviceEvent] = {}
        self.free: list[DeviceEvent] = []  # ends of operations that nobody holds any more

    def stream(self, process: Process, thread: HostThread, lane: Lane = ALL) -> Stream:
        """The stream of operations of all ranks, or of messages to or from one."""
        found = self._streams.get(lane)
        if found is None:
            handle = place.called(
                process, thread, "aclrtCreateStreamWithConfig", lambda: streams.create(process, self.context)
            )
            found = self._streams[lane] = process.get(handle, Stream)
        return found

    def event(self, process: Process, thread: HostThread) -> DeviceEvent:
        handle = place.called(
            process, thread, "aclrtCreateEventExWithFlag", lambda: events.create(process, UNTIMED, captures=True)
        )
        return process.get(handle, DeviceEvent)

    def queue(
        self, process: Process, thread: HostThread, what: Operation, dtype: int, body: Callable[[Call], None], lane: Lane = ALL,
        behind: Callable[[Stream], None] | None = None,
    ) -> DeviceEvent:  # fmt: skip
        """Put an operation behind what the current stream holds; the event of its end. behind: queues what belongs to it and
        comes after it. RuntimeError for what HCCL refuses."""
        begun = thread.clock.now
        thread.clock.now += process.one(launch.Programs).dispatch
        where = self.stream(process, thread, lane)
        ready = self._begun.get(lane)
        if ready is None:
            ready = self._begun[lane] = self.event(process, thread)
        record(process, thread, ready, place.stream(process, thread, self.device))
        wait(process, thread, ready, where)
        start = thread.clock.now

        def submit() -> None:
            thread.stream, thread.device = where.ordinal, self.device
            comm = communicator.of(process, thread, self.comm.handle)
            body(Call(process, thread, comm, where, what.op, dtype))

        place.called(process, thread, what.api, submit, level=COMMUNICATION)
        if process.recording.on:
            launch._marked(process, thread, what.host_op, start, thread.correlation)
        if behind is not None:
            behind(where)
        end = self.free.pop() if self.free else self.event(process, thread)
        record(process, thread, end, where)
        launch.marked(process, thread, what.shown, begun)
        return end

    def close(self, process: Process, thread: HostThread) -> None:
        """The communicator is destroyed, once what is queued on it is over."""
        for where in self._streams.values():
            with suppress(RuntimeError):  # an operation that failed has been told already, or would be at the next wait
                waiting.synchronize(process, thread, where)
        place.called(process, thread, "HcclCommDestroy", lambda: self.comm.close(process), level=COMMUNICATION)


def record(process: Process, thread: HostThread, event: DeviceEvent, where: Stream) -> None:
    """An event in a stream."""

    def body() -> None:
        thread.event, thread.stream, thread.device = event.event.ordinal, where.ordinal, where.context.device
        events.record(process, thread, event, where)

    place.called(process, thread, "aclrtRecordEvent", body)


def wait(process: Process, thread: HostThread, event: DeviceEvent, where: Stream) -> None:
    """What is queued on a stream later waits for an event; the host does not."""

    def body() -> None:
        thread.event, thread.stream, thread.device = event.event.ordinal, where.ordinal, where.context.device
        events.stream_wait(process, thread, where, event)

    place.called(process, thread, "aclrtStreamWaitEvent", body)
