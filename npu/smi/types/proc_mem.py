"""`-t proc-mem`: the processes of every chip and what they hold."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi.asked import Asked, framed
from npu.smi.process import MOST_PROCESSES, shown_name
from npu.units import MIB


def proc_mem(asked: Asked) -> str:
    """`-t proc-mem`: processes of each chip with what they hold."""
    return framed(asked, _block)


def _block(device: DeviceInfo) -> str:
    rows = [
        f"\tProcess id:{one.pid:<7} Process name:{shown_name(one.name):<17} Process memory(MB):{one.memory // MIB}\n"
        for one in device.processes[:MOST_PROCESSES]
    ]
    return "".join(rows) or "\tNo process in device.\n"
