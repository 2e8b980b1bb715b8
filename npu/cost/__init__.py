"""Cost has one home: Work and chip in, duration and counters out. Pure functions; the device adds contention only."""

from npu.cost.copy import copy_ns
from npu.cost.fabric import fabric_ns
from npu.cost.host import call_ns, pages_ns
from npu.cost.kernel import kernel
from npu.cost.work import Cost, Work

__all__ = ["Cost", "Work", "call_ns", "copy_ns", "fabric_ns", "kernel", "pages_ns"]
