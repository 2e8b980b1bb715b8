"""A rank that stands still outside of the simulator: in a barrier of another library, at a file, in a long computation.

Its devices then get no time, and ranks that wait for what is queued there would never go on. A thread of its own sees that, and
takes the devices on as far as others may wait for it (Peers.ahead).
"""

from __future__ import annotations

import threading

from npu.runtime.clock import real_sleep
from npu.runtime.comm.peers import Peers
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

LOOK = 0.1  # s between looks; a thread that made no call from one to the next stands still


class Elsewhere:
    """The process's watch; started once."""

    def __init__(self) -> None:
        self._started = False

    def watch(self, process: Process, thread: HostThread) -> None:
        """Look after the thread that drives a rank from now on."""
        if not self._started:
            self._started = True
            threading.Thread(target=_look, args=(process, thread), name="npu-ranks", daemon=True).start()


def _look(process: Process, thread: HostThread) -> None:
    seen = -1
    while thread.owner.is_alive():
        real_sleep(LOOK)
        peers = process.peers
        if not isinstance(peers, Peers) or not peers.awaited:
            continue
        with process.lock:
            if thread.clock.now == seen:
                peers.ahead(thread)
            seen = thread.clock.now
