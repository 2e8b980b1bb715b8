"""What the runtime writes into the log by itself: its start, refusals, planned faults that happen, what is left behind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from npu.driver.door import Handle
from npu.errors import NpuError
from npu.plog.settings import ERROR, EVENT, INFO
from npu.plog.settings import WARNING as WARNING
from npu.units import MIB

if TYPE_CHECKING:
    from npu.driver.injection import Struck
    from npu.runtime.process import Process

# The usual answers to a thread that polls (nothing came yet) and to a library that initialises beside others.
CALM = frozenset(("report_timeout", "repeat_init"))
LEVELS = {"ERROR": ERROR, "EVENT": EVENT}
START = "process.py:start"
NO_LEAK = frozenset(("Context",))  # goes with its device


def place(error: BaseException) -> str:
    """Where an error was raised, as file:line."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "acl" if at is None else f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"


def started(process: Process) -> None:
    """Which versions run here, at INFO; and at EVENT, that faults are planned."""
    machine, log = process.machine, process.log
    if log.settings.passes(INFO, "ASCENDCL"):
        driver, firmware = machine.driver_version or "none", machine.firmware_version or "none"
        versions = f"runtime version {machine.cann_version}, driver version {driver}, firmware version {firmware}"
        log(INFO, "ASCENDCL", f"aclsysGetCANNVersion: versionInfo is [{machine.cann_version}]", START)
        log(INFO, "RUNTIME", f"Init: {versions}, chip {machine.chip.name}, devices {machine.device_count}, simulated", START)
    if process.planned:
        log(EVENT, "RUNTIME", f"NPU_FAULT is set: {os.environ.get('NPU_FAULT', '')}", START)


def refused(process: Process, error: NpuError, told: str) -> None:
    """A call answers with an error; told: the recent message, which begins with the call's C name."""
    module = "HCCL" if told.startswith("Hccl") else "ASCENDCL"
    process.log(INFO if error.situation in CALM else ERROR, module, told, place(error))


def struck(process: Process, fault: Struck) -> None:
    """A planned fault happens: the lines a real one leaves on the host and on the device, its device as the script counts it."""
    visible = process.visible()
    number = visible.index(fault.device) if fault.device in visible else fault.device
    facts = {**fault.facts, "device": number}
    moment = None if fault.when < 0 else process.unix_zero + fault.when
    where = f"simulated:{fault.kind.name}"
    for level, module, text in fault.kind.device_log:
        owner = "aicpu_scheduler" if module == "CCECPU" else ""
        process.log.device(number, LEVELS[level], module, owner, text.format_map(facts), where, moment)
    for level, module, text in fault.kind.host:
        process.log(LEVELS[level], module, text.format_map(facts), where, moment)


def stale(process: Process, address: int, count: int, stream: int) -> None:
    """A synchronous copy has read what a stream was still to write."""
    told = f"the {count} bytes at {address:#x} were read and stream {stream} has not written them yet, so they are the old ones"
    process.log(EVENT, "RUNTIME", f"aclrtMemcpy: stale read: {told}", "copy.py:do_now")


def reset_with(process: Process, device: int, handle: Handle, streams: int) -> None:
    """A device is reset while memory or streams of it are still there."""
    held = handle.used()
    size = f"{held / MIB:.1f} MiB" if held >= MIB else f"{held} bytes"
    parts = ([f"{size} of device memory"] if held else []) + ([f"{streams} streams"] if streams else [])
    if parts:
        told = f"left behind on device {device}: {', '.join(parts)}; they are gone with it"
        process.log(EVENT, "RUNTIME", f"aclrtResetDevice: {told}", "context.py:reset_device")


def finalized_with(process: Process, objects: Iterable[object]) -> None:
    """The library is finalised while handles live and devices are open."""
    left = Counter(type(o).__name__ for o in objects)
    parts = [f"{count} {name}" for name, count in sorted(left.items()) if name not in NO_LEAK]
    if process.devices:
        parts.append(f"open devices {', '.join(map(str, sorted(process.devices)))}")
    if parts:
        process.log(EVENT, "ASCENDCL", f"aclFinalize: left behind: {', '.join(parts)}", "base.py:finalize")
