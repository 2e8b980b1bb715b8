"""What one thread hands to another takes its time along: whoever goes on because of it cannot be earlier.

The runtime only offers the two ends, `present` and `reach`; which things of a script hand something over (threads that end,
queues, futures) is known by the launcher.
"""

from __future__ import annotations

from npu.runtime.clock import hand, handed
from npu.runtime.process import started


def present() -> int:
    """ns of the calling thread on the simulated timeline; -1 when nothing is known of it."""
    process = started()
    if process is None:
        return -1
    thread = process.registered()
    return handed(process.knobs.clock) if thread is None else thread.clock.peek()


def reach(ns: int) -> None:
    """The calling thread is at ns at the earliest (-1 or its own past: nothing happens)."""
    process = started()
    if ns < 0 or process is None:
        return
    thread = process.registered()
    if thread is not None:
        with process.lock:
            thread.clock.reach(ns)
    elif ns > present():
        hand(ns)
