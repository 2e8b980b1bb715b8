"""The functions of the module `mstx`: marks and ranges in the script's own timeline, on a stream where one is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from npu.cost import call_ns
from npu.errors import NpuError
from npu.runtime import marker, stream
from npu.runtime.process import Process, current
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

__all__ = ["mark", "mstx_range", "range_end", "range_start"]

T = TypeVar("T")
FAILED = 0  # id of a range that was not begun


def _call(name: str, failed: T, action: Callable[[Process, HostThread], T]) -> T:
    """One call of the module: its host time, the lock, and `failed` in place of a refusal, which is no reason to end a script."""
    process = current()
    thread = process.thread()
    with process.lock:
        thread.clock.enter()
        thread.clear()
        thread.clock.now += call_ns(name)
        try:
            return action(process, thread)
        except NpuError:
            return failed
        finally:
            thread.clock.leave()


def _on(process: Process, thread: HostThread, handle: int | None) -> Stream | None:
    return None if handle is None else stream.of(process, thread, handle)


def mark(message: str, stream: int | None = None, domain: str = "default") -> None:
    """A moment; stream: an acl stream in whose order it stands too."""
    _call("aclprofMark", None, lambda p, t: marker.mark(p, t, message, domain, _on(p, t, stream)))


def range_start(message: str, stream: int | None = None, domain: str = "default") -> int:
    """Begin a range; its id, 0 when the message cannot be (empty, or over 156 bytes)."""
    return _call("aclprofRangeStart", FAILED, lambda p, t: marker.begin(p, t, message, domain, _on(p, t, stream)))


def range_end(range_id: int, domain: str = "default") -> None:
    """End a range. An id that is none is passed over."""
    _call("aclprofRangeStop", None, lambda p, t: marker.end(p, t, range_id))


class mstx_range(marker.Around):
    """A range around a function or a block."""

    def __init__(self, message: str, stream: int | None = None, domain: str = "default") -> None:
        super().__init__(lambda: range_start(message, stream, domain), lambda number: range_end(number, domain))
