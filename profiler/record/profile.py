"""The capture that acl.prof makes in a folder the script chose: rows between start and stop only, of the devices and kinds of
data asked for. It names texts and kernels by the numbers of the whole process, so that what was loaded before has its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from profiler.record.capture import Capture
from profiler.record.collection import Collection
from profiler.record.wanted import of_domains, on_devices, within

Writer = Callable[..., None]
FOREVER = 1 << 62
MB = 1 << 20
# Bits of the mask (ACL_PROF_*) that say how much is known of tasks
API, TASK_TIME, AICORE_METRICS, HCCL_TRACE, MSPROFTX, TASK_TIME_L0, TASK_MEMORY, TASK_TIME_L2, TASK_TIME_L3 = (
    0x1, 0x2, 0x4, 0x20, 0x80, 0x800, 0x1000, 0x2000, 0x8000)  # fmt: skip
AICORE_SHAPE = 0x800000000
# What can be asked for and is not modelled here
NOT_SIMULATED = {0x8: "aicpu", 0x10: "l2", 0x100: "runtime-api", 0x200: "ge-api", 0x1000000: "ge-api"}
# Group of counters by number (aclprofAicoreMetrics); 255: none
METRICS = ("ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio", "MemoryUB", "L2Cache",
           "PipelineExecuteUtilization", "MemoryAccess")  # fmt: skip
STORAGE_LIMIT = 1  # aclprofConfigType, a text of MB


def collection(mask: int, metrics: int, devices: Sequence[int], options: Mapping[int, str]) -> Collection:
    """What a configuration of acl.prof asks for. devices: as the machine counts them."""
    full = bool(mask & (TASK_TIME | TASK_TIME_L2 | TASK_TIME_L3))
    limit = "".join(c for c in options.get(STORAGE_LIMIT, "") if c.isdecimal())
    return Collection(
        aic_metrics=METRICS[metrics] if metrics < len(METRICS) and METRICS[metrics] != "PipeUtilization" else "",
        level="l1" if full else "l0" if mask & TASK_TIME_L0 else "off",
        ascendcl=bool(mask & API),
        ai_core=bool(mask & AICORE_METRICS) and metrics < len(METRICS),
        aicore_shape=bool(mask & AICORE_SHAPE),
        hccl=bool(mask & HCCL_TRACE),
        task_memory=bool(mask & TASK_MEMORY),
        msproftx=bool(mask & MSPROFTX),
        storage_limit=int(limit) * MB if limit else 0,
        devices=tuple(devices),
        not_simulated=tuple(sorted({name for bit, name in NOT_SIMULATED.items() if mask & bit})),
    )


class Profile:
    """From init to finalize; `running` between start and stop. OSError where the folder cannot be written."""

    def __init__(self, folder: Path, like: Capture | None, kernels: Iterable[tuple[object, ...]]) -> None:
        self.capture = Capture(folder, Collection())
        self.running = False
        self._begun = 0
        self._logical: frozenset[int] = frozenset()
        self._in_step = like is None or self.capture.append(like.strings(), like.texts)
        write = self.capture.writer("kernel")
        for row in kernels:
            write(*row)

    def text(self, text: str) -> int:
        return self.capture.text(text)

    def follow(self, data: bytes) -> None:
        """A text of the process's other capture. After one found no place the numbers would differ, so no more are written."""
        self._in_step = self._in_step and self.capture.append(data, 1)

    def start(self, wanted: Collection, logical: Sequence[int], at: int) -> None:
        """Rows from `at` on (ns). logical: the devices as the script counts them, which is how calls name them."""
        self.running, self._begun, self._logical = True, at, frozenset(logical)
        self.capture.collect(wanted)

    def stop(self) -> None:
        self.running = False

    def writer(self, table: str) -> Writer | None:
        """A writer of the rows that are wanted now; None for none."""
        wanted = self.capture.collection
        if table == "kernel":
            return self.capture.writer(table)
        if not self.running or not wanted.wants(table) or (table == "memory" and not wanted.task_memory):
            return None
        write = self.capture.writer(table)
        if table == "marker":
            write = of_domains(write, lambda _domain: True, wanted.msproftx)
        by_machine = table in ("task", "comm")
        return within(on_devices(table, write, wanted.devices if by_machine else self._logical), self._begun, FOREVER)
