"""Blocking: a call waits for the device. Only its own thread's clock moves.

While every other registered thread of the process is itself in a runtime wait, simulated time jumps. Otherwise the thread
goes as far as the slowest of the others has come, and then really waits, at most as long as the simulated time it is ahead of
that, so that the others can submit what may come before. When nothing can happen any more and all threads wait, that is a
deadlock and is told at once.
"""

from __future__ import annotations

from collections.abc import Callable

from npu.errors import NpuError
from npu.runtime.clock import real_ns
from npu.runtime.process import FOREVER, Process
from npu.runtime.thread import HostThread

LONGEST_SLICE = 0.02  # s; how long a waiting thread sleeps before it looks at the others again
MOMENT = 300_000_000  # ns of real time after which a wait is told to whoever asks why the process stands still
LONGEST_POLL = 1_000_000_000  # ns of real time after which an endless poll comes back while nothing happens


def wait(
    process: Process,
    thread: HostThread,
    done: Callable[[], int],
    timeout: int = -1,
    what: str = "stream",
    polling: bool = False,
) -> None:
    """Move the thread's clock to the time done() gives (ns, -1 while it has none).

    timeout in ns, -1 endless; what: stream, event or report. NpuError {what}_timeout or {what}_deadlock; the clock then stands
    at the end of the time-out, or where it was for a deadlock without one. polling: the caller asks again and again, so its
    clock never runs ahead of the threads that work nor while the device is idle: after the real time of its time-out it comes
    back with the time it has.
    """
    clock = thread.clock
    entry = clock.now
    base = min(entry, process.slowest(thread))  # a thread that is behind may still submit what comes before our present
    process.advance(base)
    when = done()
    if 0 <= when <= entry:
        return
    limit = FOREVER if timeout < 0 else entry + timeout
    thread.waiting, thread.until = True, done
    begun = real_ns()
    tell_at, moved = MOMENT, True
    try:
        while True:
            when = done()
            others = process.slowest(thread)
            passed = real_ns() - begun
            if passed >= tell_at:
                from npu.runtime.standing import tell

                tell_at = tell(process, thread, what, passed)
            target = when if when >= 0 else process.next_event()
            if target < 0 and process.peers is not None and process.peers.come():
                continue
            idle = polling and target < 0
            jump = others == FOREVER and not idle and not (process.outside and process.awaits_others())
            if jump:
                reached = FOREVER
            elif polling:
                reached = others if others < FOREVER else base
            else:
                reached = max(base + passed, others if others < FOREVER else 0)
            if 0 <= target <= min(reached, limit):
                if when >= 0:
                    clock.now = max(clock.now, when)
                    return
                process.advance(target)
                moved = True
            elif reached >= limit or (polling and passed >= (timeout if timeout >= 0 else LONGEST_POLL)):
                if limit < FOREVER:
                    clock.now = max(clock.now, min(limit, reached))
                    process.advance(min(clock.now, reached))
                if target < 0 and others == FOREVER:
                    from npu.runtime.deadlock import chain

                    raise NpuError(f"{what}_deadlock", timeout_ms=timeout // 1_000_000, chain=chain(process, thread, what))
                raise NpuError(f"{what}_timeout", timeout_ms=timeout // 1_000_000)
            else:
                ahead = LONGEST_SLICE if target < 0 or polling else (target - reached) / 1e9
                process.waiters += 1
                if moved:  # one of the others may have got what it waits for by our simulating
                    process.changed.notify_all()
                    moved = False
                process.changed.wait(min(LONGEST_SLICE, max(ahead, 1e-5)))
                process.waiters -= 1
    finally:
        if tell_at > MOMENT:
            from npu.runtime.standing import over

            over(process, thread)
        thread.waiting, thread.until = False, None
        if process.waiters:
            process.changed.notify_all()
