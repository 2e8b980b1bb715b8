"""Waiting for other ranks: before a device's time passes the moment a collective began, its other ranks must have come.

A device may not run past an operation whose end is not known yet, else what follows it would begin too late. So time stops there
and the thread really waits, with the lock given up, as long as the missing ranks can still come by themselves: ranks of other
processes, and of threads that are not waiting. When they cannot (this very thread drives them, or they wait themselves), or when
waiting took too long, the device runs on and the operation ends when it is known.
"""

from __future__ import annotations

import threading
from typing import Protocol

from npu.runtime.clock import real_ns, real_sleep
from npu.runtime.process import FOREVER, Process
from npu.runtime.thread import HostThread

SHORT_NS = 2_000_000_000  # real time after which a device runs on although ranks may still come
GRACE_NS = 100_000_000  # the same where the missing ranks wait themselves: they may be about to go on
SLICE = 0.02  # s, the longest sleep without a look
NAPS = (0.0001, 0.0005, 0.002)  # s between looks for other processes: most come at once


class Awaited(Protocol):
    """An operation in flight on a device (machine id). arrival: when this rank came (ns), -1 not yet; known: its end is."""

    device: int
    arrival: int
    known: bool
    passed: bool

    @property
    def driver(self) -> HostThread | None:
        """The thread that drives this rank."""

    def look(self) -> bool:
        """See whether the others have come; whether the end is known now."""

    def hope(self, process: Process) -> tuple[bool, bool]:
        """(whether the missing ranks can come while this thread waits, whether some are in other processes)."""


class Peers:
    """The operations of a process whose ends are not known yet, and which thread drives which device as a rank."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.awaited: list[Awaited] = []
        self._drivers: dict[int, list[HostThread]] = {}

    def add(self, awaited: Awaited) -> None:
        self.awaited.append(awaited)

    def drives(self, thread: HostThread, device: int) -> None:
        """The thread submits what the rank on a device does."""
        known = self._drivers.setdefault(device, [])
        if thread not in known:
            known[:] = [*(t for t in known if t.owner.is_alive()), thread]

    def bound(self, device: int) -> int:
        """How far the calling thread may take the time of a device that another thread drives: to that one's present, as it may
        still submit something for then, and not past an operation whose end is not known."""
        drivers = self._drivers.get(device, ())
        here = self.process.registered()
        if not drivers or self._own(device, here):
            return FOREVER
        return min(self._held(device, here), *(_present(d) for d in drivers))

    def _held(self, device: int, here: HostThread | None) -> int:
        """When the first operation began on a device whose end is not known and that it has not run past, else FOREVER. On its
        own device a thread looks at its own operations only."""
        own = self._own(device, here)
        held = [a for a in self.awaited if a.device == device and a.arrival >= 0 and not a.known and not a.passed]
        return min((a.arrival for a in held if not own or _one(a.driver, here)), default=FOREVER)

    def _own(self, device: int, here: HostThread | None) -> bool:
        """Whether a thread drives a device."""
        return any(_one(driver, here) for driver in self._drivers.get(device, ()))

    def _first(self) -> Awaited | None:
        """The one of this thread that began first and that its device has not run past."""
        self.awaited = [a for a in self.awaited if not a.known]
        here = self.process.registered()
        mine = [a for a in self.awaited if a.arrival >= 0 and not a.passed and _one(a.driver, here)]
        return min(mine, key=lambda a: a.arrival, default=None)

    def before(self, now: int) -> None:
        """Let time pass up to now, event by event; the own devices stop where others have to come first."""
        process = self.process
        here = process.registered()
        while self.awaited:
            times = [(h.next_event(), n) for n, h in process.devices.items()]
            first = self._first()
            free = [(t, n) for t, n in times if 0 <= t <= min(now, self.bound(n), self._held(n, here))]
            if free:
                when, number = min(free)
                process.devices[number].advance(when)
            elif first is not None and first.arrival < now:
                first.passed = not self._wait(first, SHORT_NS)
            else:
                return

    def ahead(self, thread: HostThread | None = None) -> None:
        """For a thread (default: the calling one) that stands still for something else: take its devices on, past its present,
        until all that is queued there has left its arrival; others may wait for that. What is submitted later cannot start
        before."""
        here = self.process.registered() if thread is None else thread
        while True:
            self.awaited = [a for a in self.awaited if not a.look()]
            if not any(a.arrival < 0 and _one(a.driver, here) for a in self.awaited):
                return
            times = [(h.next_event(), n) for n, h in self.process.devices.items() if self._own(n, here)]
            free = [(t, n) for t, n in times if 0 <= t <= self._held(n, here)]
            if not free:
                return
            when, number = min(free)
            self.process.devices[number].advance(when)

    def come(self) -> bool:
        """For a thread that waits and for which nothing happens: wait a little for others. False when nobody can come: all that
        are missing wait as well, and on no device anything is about to happen."""
        self.awaited = [a for a in self.awaited if not a.known]
        begun = [a for a in self.awaited if a.arrival >= 0]
        if not begun:
            return False
        if any([a.look() for a in begun]):
            return True
        hopes = [a.hope(self.process) for a in begun]
        hope = any(can for can, _ in hopes) or any(h.next_event() >= 0 for h in self.process.devices.values())
        if hope:
            self._nap(any(far for _, far in hopes), 0)
        return hope

    def _wait(self, first: Awaited, limit: int) -> bool:
        thread = self.process.thread()
        before = thread.waiting, thread.until
        thread.waiting, thread.until = True, lambda: thread.clock.now if first.known else -1
        begun, tries = real_ns(), 0
        try:
            while not first.look():
                hope, far = first.hope(self.process)
                if real_ns() - begun > (limit if hope else GRACE_NS) or (not hope and not self._others_run()):
                    return False
                self._nap(far, tries)
                tries += 1
            return True
        finally:
            thread.waiting, thread.until = before

    def _others_run(self) -> bool:
        return len(self.process.threads) > 1

    def nap(self, tries: int) -> None:
        """Sleep a little, until other processes may have gone on; the lock is given up meanwhile."""
        self._nap(True, tries)

    def _nap(self, far: bool, tries: int) -> None:
        process = self.process
        nap = NAPS[min(tries // 20, len(NAPS) - 1)] if far else SLICE
        if far and threading.active_count() == 1:
            real_sleep(nap)
            return
        process.waiters += 1
        process.changed.wait(nap)
        process.waiters -= 1


def _one(thread: HostThread | None, other: HostThread | None) -> bool:
    """Whether two threads stand for one: a thread that works while another waits for it has the other's clock."""
    return thread is other or (thread is not None and other is not None and thread.clock is other.clock)


def _present(thread: HostThread) -> int:
    """From when on a thread may submit something: a waiting one whose time has come goes on from then."""
    if not thread.owner.is_alive():
        return FOREVER
    if not thread.waiting:
        return thread.clock.peek()
    when = thread.until() if thread.until is not None else -1
    return max(when, thread.clock.now) if when >= 0 else FOREVER
