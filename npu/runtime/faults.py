"""Planned faults (NPU_FAULT) on the runtime's side: what happens at the Nth call, and who hears of what happens on a device."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from npu.driver.door import Handle
from npu.driver.fault_kinds import HEARTBEAT
from npu.driver.fault_plan import Planned
from npu.runtime import log_lines

if TYPE_CHECKING:
    from npu.driver.injection import Struck
    from npu.runtime.process import Process

COUNTERS = (("AI Core Freq", "mhz"), ("Temperature(C)", "celsius"))  # what faults and heat change: series of a capture


def watched(process: Process) -> Callable[[], None] | None:
    """What to do at each call; None where no planned fault goes by calls."""
    planned = [p for p in process.planned if p.kind.when == "call"]
    if not planned:
        return None
    count = 0

    def call() -> None:
        nonlocal count
        count += 1
        for one in planned:
            if count == one.at or (count > one.at and one.kind.name == HEARTBEAT):
                _happen(process, one)

    return call


def _happen(process: Process, one: Planned) -> None:
    if one.kind.name != HEARTBEAT:
        os.kill(os.getpid(), signal.SIGKILL)
    for handle in process.devices.values():  # also devices that are opened later: they are lost at the next call
        if one.of(handle.device):
            handle.lose(one.kind)


def opened(process: Process, handle: Handle) -> None:
    """A device was opened: its faults are told from now on, and what its clock is with them."""

    def told(fault: Struck) -> None:
        if "mhz" not in fault.facts or fault.facts["mhz"] != fault.facts["rated"]:
            log_lines.struck(process, fault)
        for name, fact in COUNTERS:
            value = fault.facts.get(fact)
            if isinstance(value, int | float):
                recording = process.recording
                recording.counter(max(0, fault.when), float(value), fault.device, recording.text(name))

    handle.on_fault(told)
