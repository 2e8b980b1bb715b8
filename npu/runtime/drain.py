"""Calls that map or unmap pages of a device wait until it has done what it was given.

What is waited for is what lay in the device's queues when the call came and can go on by itself. Work that something outside
the device holds back (an event nobody recorded yet, a callback, another rank or process) is not waited for: the call would
never come back where the one who holds it needs the memory.
"""

from __future__ import annotations

from npu.device.task import WAIT
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait


def drain(process: Process, thread: HostThread, dev: Handle) -> None:
    """Move the thread's clock to the end of the work in flight on a device; nothing when knobs.memory_waits is off or the device
    is idle. It orders nothing a script may lean on: the hazard checks do not hear of it."""
    if not process.knobs.memory_waits:
        return
    queued = dev.queued()
    if not queued:
        return
    lasts = [(number, tasks[-1]) for number, tasks in queued]
    before = thread.clock.now

    def done() -> int:
        latest = before
        for number, last in lasts:
            moment = last.done_at if last.done_at >= 0 else _held(dev, number)
            if moment < 0:
                return -1
            latest = max(latest, moment)
        return latest

    try:
        wait(process, thread, done)
    except NpuError as error:
        if error.situation != "stream_deadlock":  # what is left comes from other ranks
            raise
    if thread.clock.now > before:
        thread.blocking = 1


def _held(dev: Handle, number: int) -> int:
    """Since when the head of a stream waits for something that has not come, -1 where it does not."""
    stream = dev.stream(number)
    head = stream.queue[0]
    return head.start if stream.running is None and (head.kind == WAIT or head.gate is not None) else -1
