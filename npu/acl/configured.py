"""What an acl.json asks for beside the library itself: profiling of the whole run, a dump, a default device."""

from __future__ import annotations

from collections.abc import Mapping

from npu.errors import NpuError
from npu.runtime import prof
from npu.runtime.context import Default
from npu.runtime.log_lines import WARNING
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

# switch of "profiler" -> its bit in the mask of acl.prof, and whether it is on where nothing is said
SWITCHES = {"ascendcl": (0x1, True), "task_time": (0x2, True), "aicpu": (0x8, False), "l2": (0x10, False), "hccl": (0x20, False),
            "msproftx": (0x80, False), "runtime_api": (0x100, False)}  # fmt: skip
COUNTERS = 0x4
METRICS = ("ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio", "MemoryUB", "L2Cache",
           "PipelineExecuteUtilization", "MemoryAccess")  # fmt: skip
NO_METRICS = 0xFF


def begin(process: Process, thread: HostThread, config: Mapping[str, object]) -> None:
    """Do what the content of an acl.json asks for. NpuError invalid_param, prof_running, prof_config."""
    process.one(Default).device = _device(_part(config, "defaultDevice"))
    if "dump" in config:
        process.log(WARNING, "ASCENDCL", 'aclInit: "dump" is accepted, but the simulated device writes no tensors')
    wanted = _part(config, "profiler")
    if wanted.get("switch") == "on":
        _profile(process, thread, wanted)


def end(process: Process) -> None:
    """What ran because of the acl.json ends with the library."""
    mine = process.one(Profiled)
    if mine.handle:
        prof.finalize(process, process.thread())
        process.objects.pop(mine.handle, None)
        mine.handle = 0


class Profiled:
    """The handle of the configuration an acl.json has started profiling with, 0 for none."""

    def __init__(self) -> None:
        self.handle = 0


def _part(config: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = config.get(name, {})
    if not isinstance(found, Mapping):
        raise NpuError("invalid_param", part=name, reason="an object is wanted")
    return found


def _device(given: Mapping[str, object]) -> int:
    """{"default_device": "0"}; -1 where none is named."""
    wanted = given.get("default_device", "-1")
    try:
        return int(str(wanted))
    except ValueError as error:
        raise NpuError("invalid_param", default_device=wanted, reason="a device id is wanted") from error


def _profile(process: Process, thread: HostThread, wanted: Mapping[str, object]) -> None:
    """Profiling of all devices from now on, into the folder "output" or the current one."""
    metrics = wanted.get("aic_metrics", "")
    if metrics and metrics not in METRICS:
        raise NpuError("invalid_param", aic_metrics=metrics, known=METRICS)
    mask = sum(bit for name, (bit, usual) in SWITCHES.items() if wanted.get(name, "on" if usual else "off") != "off")
    number = METRICS.index(str(metrics)) if metrics else NO_METRICS
    devices = list(range(len(process.visible())))
    handle = prof.config(process, devices, number, 0, mask | COUNTERS if metrics else mask)
    prof.init(process, str(wanted.get("output") or "."))
    prof.start(process, thread, process.get(handle, prof.Config))
    process.one(Profiled).handle = handle
