"""Threads of a script hand their time to each other: a thread starts where its starter is, and join, queues, futures, events
and barriers bring the waiter to the time of what it waited for. Locks, conditions and semaphores do not: who comes first there,
and which worker of a pool takes a task, is decided in real time."""

from __future__ import annotations

import concurrent.futures
import functools
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from npu.runtime.handing import present, reach


def _around(owner: type, name: str, before: Callable[..., None] | None, after: Callable[..., None] | None) -> None:
    """Let a method of a class run `before(self)` first and, where its answer is not False, `after(self)` at its end."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(self: Any, *args: Any, **named: Any) -> Any:
        if before is not None:
            before(self)
        answer = original(self, *args, **named)
        if after is not None and answer is not False:
            after(self)
        return answer

    setattr(owner, name, wrapped)


def _leaves(thing: Any) -> None:
    """The caller leaves its time at a thing; the latest counts."""
    thing.__dict__["_npu_time"] = max(present(), thing.__dict__.get("_npu_time", -1))


def _takes(thing: Any) -> None:
    reach(thing.__dict__.get("_npu_time", -1))


def _starts(thread: threading.Thread) -> None:
    """At start: the thread's run begins with the starter's time and leaves the time it ends with."""
    begun, run = present(), thread.run

    def run_on_timeline() -> None:
        reach(begun)
        try:
            run()
        finally:
            _leaves(thread)
            thread.__dict__.pop("run", None)

    thread.__dict__["run"] = run_on_timeline


def _joined(thread: threading.Thread) -> None:
    if not thread.is_alive():
        _takes(thread)


def _queue(kind: type, taken: Callable[[deque[int]], int]) -> None:
    """Each item of a queue carries the time at which it was put."""
    put, get = getattr(kind, "_put"), getattr(kind, "_get")  # noqa: B009 - private names of a class given as a value

    def _put(self: Any, item: Any) -> None:
        self.__dict__.setdefault("_npu_times", deque()).append(present())
        put(self, item)

    def _get(self: Any) -> Any:
        times = self.__dict__.get("_npu_times")
        if times:
            reach(taken(times))
        return get(self)

    setattr(kind, "_put", _put)  # noqa: B010
    setattr(kind, "_get", _get)  # noqa: B010


def _latest(times: deque[int]) -> int:
    """Of a queue that sorts: which item comes out is not known here, so the latest time counts."""
    latest = max(times)
    times.remove(latest)
    return latest


def _pool() -> None:
    """A task of a pool begins no earlier than it was submitted; its future carries the time of its end."""
    submit: Callable[..., Any] = concurrent.futures.ThreadPoolExecutor.submit

    @functools.wraps(submit)
    def submit_on_timeline(self: Any, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        begun = present()

        @functools.wraps(fn)
        def task(*given: Any, **options: Any) -> Any:
            reach(begun)
            return fn(*given, **options)

        return submit(self, task, *args, **named)

    setattr(concurrent.futures.ThreadPoolExecutor, "submit", submit_on_timeline)  # noqa: B010
    future = concurrent.futures.Future
    for name in ("set_result", "set_exception"):
        _around(future, name, _leaves, None)
    result, exception = future.result, future.exception

    def _result(self: Any, timeout: float | None = None) -> Any:
        try:
            return result(self, timeout)
        finally:
            if self.done():
                _takes(self)

    def _exception(self: Any, timeout: float | None = None) -> Any:
        answer = exception(self, timeout)
        _takes(self)
        return answer

    setattr(future, "result", _result)  # noqa: B010
    setattr(future, "exception", _exception)  # noqa: B010


def install() -> None:
    """Replace the methods; asked by the launcher's sitecustomize together with the script's clock."""
    _around(threading.Thread, "start", _starts, None)
    _around(threading.Thread, "join", None, _joined)
    _around(threading.Event, "set", _leaves, None)
    _around(threading.Event, "wait", None, _takes)
    _around(threading.Barrier, "wait", _leaves, _takes)
    _queue(queue.Queue, deque.popleft)
    _queue(queue.LifoQueue, deque.pop)
    _queue(queue.PriorityQueue, _latest)
    _around(queue.Queue, "task_done", _leaves, None)
    _around(queue.Queue, "join", None, _takes)
    _pool()
