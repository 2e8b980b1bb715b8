"""Time follows what threads hand each other: who was waited for sets the waiter's clock.

Every thread has a clock of its own. Where one waits for another (join, queue, event, future), the waiter goes on at the later of
its own time and the time at which the other let it go, and the real time spent waiting is not the script's. A thread that waits
so is in a wait like any other, so simulated time may jump meanwhile. Locks, conditions, barriers and semaphores are left alone:
what they hold up counts in real time.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.thread
import queue
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any

from npu.runtime.process import started
from npu.runtime.thread import HostThread

_arrived = threading.local()  # time of the item that the calling thread has just taken from a queue


def _here() -> HostThread | None:
    """The calling thread if it has used the stack already."""
    process = started()
    return process.registered() if process is not None else None


def _now() -> int:
    """Time of the calling thread, -1 when it has none."""
    thread = _here()
    return thread.clock.peek() if thread is not None else -1


class _Waiting:
    """The calling thread waits for another one. `until` is the time it was let go, -1 when nobody did (a real time-out)."""

    def __enter__(self) -> _Waiting:
        self.until = -1
        self.thread = _here()
        if self.thread is not None:
            self.thread.clock.enter()
            self.thread.waiting = True
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        if self.thread is None:
            return
        self.thread.waiting = False
        clock = self.thread.clock
        if self.until >= 0:
            clock.now = max(clock.now, self.until)
            clock.leave()


def install() -> None:
    """Wrap the waits of threading, queue and concurrent.futures."""
    _threads()
    _queues()
    _events()
    _futures()


def _threads() -> None:
    start, join = threading.Thread.start, threading.Thread.join

    def timed_start(self: Any) -> None:
        run = self.run
        self.npu_born = _now()

        def timed_run() -> None:
            try:
                run()
            finally:
                self.npu_ended = _now()

        self.run = timed_run
        start(self)

    def timed_join(self: Any, timeout: float | None = None) -> None:
        with _Waiting() as waiting:
            join(self, timeout)
            if not self.is_alive():
                waiting.until = getattr(self, "npu_ended", -1)

    threading.Thread.start = timed_start  # type: ignore[method-assign]
    threading.Thread.join = timed_join  # type: ignore[method-assign]


def _queues() -> None:
    get = queue.Queue.get

    def timed_get(self: Any, block: bool = True, timeout: float | None = None) -> Any:
        with _Waiting() as waiting:
            _arrived.at = -1
            item = get(self, block, timeout)
            waiting.until = _arrived.at
            return item

    queue.Queue.get = timed_get  # type: ignore[method-assign]
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue):
        _stamp(kind)


def _stamp(kind: Any) -> None:
    """Note the time of each item put; the two are called with the queue's own lock held. Other orders than first-in-first-out
    take the latest time of all that is in the queue."""
    put, take = kind._put, kind._get

    def timed_put(self: Any, item: Any) -> None:
        put(self, item)
        times = self.__dict__.setdefault("npu_times", deque())
        times.append(_now())

    def timed_take(self: Any) -> Any:
        times: deque[int] = self.__dict__.get("npu_times") or deque((-1,))
        latest = max(times)
        first = times.popleft()
        _arrived.at = first if kind is queue.Queue else latest
        return take(self)

    kind._put, kind._get = timed_put, timed_take


def _events() -> None:
    set_event, wait = threading.Event.set, threading.Event.wait

    def timed_set(self: Any) -> None:
        self.npu_set = _now()
        set_event(self)

    def timed_wait(self: Any, timeout: float | None = None) -> bool:
        with _Waiting() as waiting:
            happened = wait(self, timeout)
            if happened:
                waiting.until = getattr(self, "npu_set", -1)
            return happened

    threading.Event.set = timed_set  # type: ignore[method-assign]
    threading.Event.wait = timed_wait  # type: ignore[method-assign]


def _futures() -> None:
    future: Any = concurrent.futures.Future
    item: Any = concurrent.futures.thread._WorkItem

    def ending(name: str) -> Callable[..., None]:
        original = getattr(future, name)

        def timed(self: Any, value: Any) -> None:
            self.npu_done = _now()
            original(self, value)

        return timed

    def asking(name: str) -> Callable[..., Any]:
        original = getattr(future, name)

        def timed(self: Any, timeout: float | None = None) -> Any:
            with _Waiting() as waiting:
                try:
                    return original(self, timeout)
                finally:
                    if self.done():
                        waiting.until = getattr(self, "npu_done", -1)

        return timed

    for name in ("set_result", "set_exception"):
        setattr(future, name, ending(name))
    for name in ("result", "exception"):
        setattr(future, name, asking(name))

    made, run = item.__init__, item.run

    def timed_made(self: Any, *args: Any) -> None:
        made(self, *args)
        self.npu_put = _now()

    def timed_run(self: Any) -> None:
        """A pool's worker takes its next work: its idle time is a wait for whoever handed it in."""
        thread = _here()
        if thread is not None and self.npu_put >= 0:
            thread.waiting = False
            thread.clock.now = max(thread.clock.now, self.npu_put)
            thread.clock.leave()
        run(self)
        thread = _here()
        if thread is not None:
            thread.clock.enter()
            thread.waiting = True

    item.__init__, item.run = timed_made, timed_run
