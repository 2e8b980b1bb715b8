"""Host time of one thread on the simulated timeline.

hybrid: real time of the user's own code + modelled cost of each call + simulated waiting. model: user code counts zero.
realtime: as hybrid, and the thread really sleeps when simulated time is ahead of real time. Time inside the simulator is
never on the timeline.
"""

from __future__ import annotations

import threading
import time as _time

# Taken before a launcher replaces the script's clock functions: the simulator itself always looks at the real clock.
real_ns = _time.perf_counter_ns
real_sleep = _time.sleep

_waiting = threading.local()  # .handed: (ns, real ns) of a thread that has not called the stack yet


def hand(ns: int) -> None:
    """The calling thread, which has no clock yet, is at ns now."""
    _waiting.handed = (ns, real_ns())


def handed(mode: str) -> int:
    """Where the calling thread is by what was handed to it, ns; -1 when nothing was."""
    found: tuple[int, int] = getattr(_waiting, "handed", (-1, 0))
    return found[0] if mode == "model" or found[0] < 0 else found[0] + real_ns() - found[1]


class HostClock:
    """now: ns of the simulated timeline as of the last look; still: user code takes no time on it, so that enter and leave do
    nothing; lag: ns by which real time ran ahead (realtime only)."""

    __slots__ = ("_began", "_real", "lag", "mode", "now", "still")

    def __init__(self, mode: str, start: int) -> None:
        self.mode, self.now, self.lag = mode, start, 0
        self.still = mode == "model"
        self._real = real_ns()
        self._began = self._real - start

    def enter(self) -> int:
        """The user's code ends, the simulator begins: user time passes onto the timeline. The time now."""
        if not self.still:
            self.now += real_ns() - self._real
        return self.now

    def leave(self) -> None:
        """The simulator ends, the user's code goes on."""
        if self.mode == "realtime":
            ahead = self.now - (real_ns() - self._began)
            if ahead > 0:
                real_sleep(ahead / 1e9)
            else:
                self.lag = max(self.lag, -ahead)
        if not self.still:
            self._real = real_ns()

    def peek(self) -> int:
        """The time now as the script's own clock functions show it, without a call being made."""
        return self.now if self.still else self.now + (real_ns() - self._real)

    def reach(self, ns: int) -> None:
        """The thread goes on because of something that happened at ns: it cannot be earlier."""
        self.now += max(0, ns - self.peek())

    def sleep(self, ns: int) -> None:
        """The script sleeps: simulated time passes in every mode; real time only under realtime."""
        self.enter()
        self.now += max(0, ns)
        self.leave()
