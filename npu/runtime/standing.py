"""Waits that last: what the threads of this process wait for, left for `npu-diag hang` (npu.driver.waits)."""

from __future__ import annotations

from time import CLOCK_REALTIME, clock_gettime_ns

from npu.driver import waits
from npu.driver.waits import Waiting
from npu.runtime.calling import calling
from npu.runtime.deadlock import chain
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

AGAIN = 1_000_000_000  # ns until what is told is looked at anew


class Standing:
    """The waits of one process that are told, by thread."""

    def __init__(self) -> None:
        self.told: dict[int, Waiting] = {}


def tell(process: Process, thread: HostThread, what: str, passed: int) -> int:
    """Leave what a thread waits for, for `passed` ns of real time by now; when to do it again, on the same count."""
    call = calling()
    since = clock_gettime_ns(CLOCK_REALTIME) - passed
    told = process.one(Standing).told
    reports = f"Thread {thread.ordinal} waits for host functions of its streams."
    links = reports if what == "report" else chain(process, thread, what)
    told[thread.ordinal] = Waiting(process.native(thread), call.name, call.site, since, links)
    waits.write(list(told.values()))
    return passed + AGAIN


def over(process: Process, thread: HostThread) -> None:
    """A wait that was told has ended."""
    told = process.one(Standing).told
    if told.pop(thread.ordinal, None) is not None:
        waits.write(list(told.values()))
