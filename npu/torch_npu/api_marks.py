"""torch.npu.mstx: marks and ranges of a script in its own timeline, and on a stream where one is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from npu.cost import call_ns
from npu.errors import NpuError
from npu.runtime import marker
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import place

T = TypeVar("T")
FAILED = 0  # id of a range that was not begun


def _call(name: str, failed: T, stream: Any, action: Callable[[Process, HostThread, Stream | None], T]) -> T:
    """One call; `failed` in place of a refusal, which is no reason to end a script. stream: of torch.npu, or None."""
    with place.inside() as (process, thread):
        place.on(process, thread, place.seats.mine.device)
        thread.clear()
        thread.clock.now += call_ns(name)
        try:
            return action(process, thread, getattr(stream, "_stream", None))
        except NpuError:
            return failed


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """A moment."""
    _call("aclprofMark", None, stream, lambda p, t, s: marker.mark(p, t, message, domain, s))


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range; its id, 0 for a message that cannot be (empty, or over 156 bytes)."""
    return _call("aclprofRangeStart", FAILED, stream, lambda p, t, s: marker.begin(p, t, message, domain, s))


def range_end(range_id: int, domain: str = "default") -> None:
    """End a range; an id that is none is passed over."""
    _call("aclprofRangeStop", None, None, lambda p, t, _s: marker.end(p, t, range_id))


class mstx_range(marker.Around):
    """A range around a function or a block."""

    def __init__(self, message: str, stream: Any = None, domain: str = "default") -> None:
        super().__init__(lambda: range_start(message, stream, domain), lambda number: range_end(number, domain))


class mstx:
    """The names as torch.npu.mstx has them."""

    mark = staticmethod(mark)
    range_start = staticmethod(range_start)
    range_end = staticmethod(range_end)
    mstx_range = mstx_range
