"""The script's own clock: time.time, perf_counter, monotonic (and _ns), datetime.now and time.sleep answer on the simulated
timeline. Modules that time locks, queues and sockets keep the real clock, so their time-outs stay real: some are imported first,
others are known by their names when they ask."""

from __future__ import annotations

# These bind the clock functions at import, so they must see the real ones.
import asyncio.base_events  # noqa: F401
import concurrent.futures  # noqa: F401
import datetime
import queue  # noqa: F401
import selectors  # noqa: F401
import subprocess  # noqa: F401
import sys
import threading  # noqa: F401
import time
from collections.abc import Callable
from typing import Any

from npu.runtime.process import started

_real = {
    name: getattr(time, name)
    for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "sleep")
}
_zero_unix = _real["time_ns"]()
_zero_monotonic = _real["monotonic_ns"]()
MOMENT = 0.02  # s of real time that a sleep leaves to threads which are behind it
WAITING = ("multiprocessing", "asyncio")  # packages that look at time.monotonic to see when a wait for something real is over


def _now() -> int:
    """ns of the simulated timeline for the calling thread. Before the stack is used, real time since the start."""
    process = started()
    if process is None:
        import os

        return 0 if os.environ.get("NPU_CLOCK") == "model" else int(_real["monotonic_ns"]()) - _zero_monotonic
    return process.thread().clock.peek()


def _monotonic() -> float:
    """Seconds since an arbitrary moment; the real ones for whoever waits for other processes, pipes and sockets."""
    asking = str(sys._getframe(1).f_globals.get("__name__"))
    if asking.partition(".")[0] in WAITING:
        return float(_real["monotonic"]())
    return float(_zero_monotonic + _now()) / 1e9


def _offset() -> int:
    """Unix ns of time zero."""
    process = started()
    return process.knobs.epoch if process is not None and process.knobs.epoch is not None else _zero_unix


def _sleep(seconds: float) -> None:
    """Simulated time passes; ValueError for a negative length, as the real one. Before the stack is used, and so in every tool
    the script starts, the sleep is real: what polls there waits for real things.

    While another thread is behind the end of the sleep, a moment of real time passes as well, never more than the sleep: a thread
    that polls a flag would else have slept a thousand times before the one that sets it has got to it."""
    process = started()
    if process is None:
        _real["sleep"](seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    thread = process.thread()
    thread.clock.sleep(int(seconds * 1e9))
    with process.lock:  # threads that have ended are taken off the list there
        behind = process.slowest(thread) < thread.clock.now
    if behind:
        _real["sleep"](min(seconds, MOMENT))


class _Meta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Datetime)


_Datetime = datetime.datetime


class datetime_on_timeline(_Datetime, metaclass=_Meta):
    """datetime.datetime whose now, today and utcnow look at the simulated timeline."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _Datetime.fromtimestamp((_offset() + _now()) / 1e9, tz)

    @classmethod
    def today(cls) -> Any:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        return _Datetime.fromtimestamp((_offset() + _now()) / 1e9, datetime.UTC).replace(tzinfo=None)


def install() -> None:
    """Replace the clock functions of the script; NPU_PATCH_TIME=0 leaves them alone (asked by the launcher's sitecustomize)."""
    replaced: dict[str, Callable[..., Any]] = {
        "time": lambda: (_offset() + _now()) / 1e9,
        "time_ns": lambda: _offset() + _now(),
        "perf_counter": lambda: _now() / 1e9,
        "perf_counter_ns": _now,
        "monotonic": _monotonic,
        "monotonic_ns": lambda: _zero_monotonic + _now(),
        "sleep": _sleep,
    }
    for name, function in replaced.items():
        setattr(time, name, function)
    datetime.datetime = datetime_on_timeline  # type: ignore[misc]
