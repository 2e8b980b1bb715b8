"""Blocking: a call waits for the device. Only its own thread's clock moves.

While every other registered thread of the process is itself in a runtime wait, simulated time jumps. Otherwise the thread
really waits, at most as long as the simulated wait, so that the others can submit what may come before. When nothing can
happen any more and all threads wait, that is a deadlock and is told at once.
"""

from __future__ import annotations

from collections.abc import Callable

from npu.errors import NpuError
from npu.runtime.clock import real_ns
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

LONGEST_SLICE = 0.02  # s; how long a waiting thread sleeps before it looks at the others again
FOREVER = 1 << 62


def wait(
    process: Process, thread: HostThread, done: Callable[[], int], timeout: int = -1, what: str = "stream"
) -> None:
    """Move the thread's clock to the time done() gives (ns, -1 while it has none).

    timeout in ns, -1 endless; what: stream or event. NpuError {what}_timeout or {what}_deadlock; the clock then stands at the
    end of the time-out, or where it was for a deadlock without one.
    """
    clock = thread.clock
    limit = FOREVER if timeout < 0 else clock.now + timeout
    thread.waiting = True
    begun = real_ns()
    entry = clock.now
    process.advance(entry)
    try:
        while True:
            when = done()
            alone = process.alone(thread)
            reached = FOREVER if alone else entry + (real_ns() - begun)
            target = when if when >= 0 else process.next_event()
            if 0 <= target <= min(reached, limit):
                if when >= 0:
                    clock.now = max(clock.now, when)
                    return
                process.advance(target)
            elif reached >= limit:
                if limit < FOREVER:
                    clock.now = max(clock.now, limit)
                    process.advance(limit)
                raise NpuError(f"{what}_deadlock" if target < 0 and alone else f"{what}_timeout", timeout_ms=timeout // 1_000_000)
            else:
                ahead = LONGEST_SLICE if target < 0 else (target - reached) / 1e9
                process.changed.wait(min(LONGEST_SLICE, max(ahead, 1e-5)))
    finally:
        thread.waiting = False
        process.changed.notify_all()
