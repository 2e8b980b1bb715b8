"""What an asynchronous collective gives back: a Work whose wait holds the stream and not the host, and its future.

The results are in the tensors from wait() on (or device-wide synchronize), as on the device; until then the tensors show what
was there. Whoever hands the future on to C++, as the reducer of DDP does, waits there without a Python call: its stream waits
follow when the backward pass is over, before the gradients are used.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from npu.errors import NpuError
from npu.runtime import event as events
from npu.runtime.event import DeviceEvent
from npu.runtime.messages import message
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import channel as channels
from npu.torch_npu import place, streams, waiting
from npu.torch_npu.channel import Channel

Finish = Callable[[Process, HostThread], None]


class Pending:
    """What is under way in this process. works: whose results are not in their tensors yet, in order; handed: futures whose
    stream waits are still to be queued."""

    def __init__(self) -> None:
        self.works: dict[int, Work] = {}
        self.handed: list[Callable[[], None]] = []


class Work(dist._Work):
    """api: name of the call; finish: puts the results into their tensors, really waiting for the other ranks; blocks: wait()
    holds the host, too (a barrier)."""

    def __init__(
        self, channel: Channel, api: str, event: DeviceEvent, results: list[Any], finish: Finish, blocks: bool = False,
        source: int = -1,
    ) -> None:  # fmt: skip
        super().__init__()
        self._channel, self._event, self._results, self._finish, self._blocks = channel, event, results, finish, blocks
        self._api, self._source, self._over = api, source, False
        self._side: streams.Stream | None = None

    def __del__(self) -> None:
        self._channel.free.append(self._event)

    def settle(self, process: Process, thread: HostThread) -> None:
        """The results are in their tensors from now on."""
        if not self._over:
            self._over = True
            process.one(Pending).works.pop(id(self), None)
            try:
                self._finish(process, thread)
            except NpuError as error:  # ranks that called different things
                text = message(self._api, error)
                process.errors.add(text)
                raise RuntimeError(text) from error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """The current stream waits for the end of the operation."""
        with place.inside() as (process, thread):
            device = self._channel.device
            self.settle(process, thread)
            channels.wait(process, thread, self._event, place.stream(process, thread, device))
            if self._blocks:
                waiting.synchronize_device(process, thread, device)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        """Whether it has ended on the device at the host's present."""
        with place.inside() as (process, thread):
            over = place.called(
                process, thread, "aclrtQueryEventStatus", lambda: events.happened(process, thread, self._event)
            )
            if over:
                self.settle(process, thread)
            return over

    def is_success(self) -> bool:
        return self.is_completed() and self._channel.comm.failed is None

    def exception(self) -> None:
        return None

    def source_rank(self) -> int:
        return self._source

    def result(self) -> list[Any]:
        self.wait()
        return self._results

    def get_future(self) -> Future:
        with place.inside() as (process, thread):
            self.settle(process, thread)
        return Future(self._results, self._hold, self._channel)

    def _hold(self) -> None:
        """The current stream waits for the end."""
        with place.inside() as (process, thread):
            channels.wait(process, thread, self._event, place.stream(process, thread, self._channel.device))


class Future(torch.futures.Future):  # type: ignore[type-arg]
    """A future that has its value at once; whoever waits lets his stream wait (hold)."""

    def __init__(self, value: Any, hold: Callable[[], None], channel: Channel) -> None:
        super().__init__()
        self._hold, self._channel = hold, channel
        self.set_result(value)
        _hand_on(hold)

    def wait(self) -> Any:
        self._hold()
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """The callback's operators run on a stream of their own, behind this."""
        side = _side(self._channel)
        with streams.stream(side):
            self._hold()
            value = callback(self)
            end = side.record_event()
        return Future(value, lambda: end.wait(), self._channel)


def _side(channel: Channel) -> streams.Stream:
    """The stream of callbacks on a channel's device."""
    with place.inside() as (process, thread):
        where: Stream = channel.stream(process, thread, channels.CALLBACKS)
    return streams.Stream(channel.device, stream=where)


def _hand_on(hold: Callable[[], None]) -> None:
    """A future made during the backward pass may be waited for in C++ at its end: the engine calls back before that."""
    with place.inside() as (process, _):
        if place.state(process).backward is None:
            return
        handed = process.one(Pending).handed
        handed.append(hold)
        first = len(handed) == 1
    if first:
        torch.autograd.Variable._execution_engine.queue_callback(release)


def release() -> None:
    """Queue the stream waits of all futures handed on since the last time."""
    with place.inside() as (process, _):
        mine = process.one(Pending)
        handed, mine.handed = mine.handed, []
    for hold in handed:
        hold()


def settle_all(process: Process, thread: HostThread) -> None:
    """The host waits for all of a device: what communicates is over, too."""
    for work in list(process.one(Pending).works.values()):
        work.settle(process, thread)
