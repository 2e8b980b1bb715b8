"""acl.mdl: the order in which a dump is set up. The simulated device writes no tensors and says so in the log."""

from __future__ import annotations

from npu.acl.base import read_config
from npu.errors import NpuError
from npu.runtime.log_lines import WARNING
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = ["finalize_dump", "init_dump", "set_dump"]

STARTED = "dump"  # process setting: 1 between init_dump and finalize_dump


def init_dump(process: Process, thread: HostThread) -> None:
    process.needs_init("aclmdlInitDump")
    if process.settings.get(STARTED):
        raise NpuError("dump_running")
    process.settings[STARTED] = 1


def set_dump(process: Process, thread: HostThread, path: str = "") -> None:
    if not process.settings.get(STARTED):
        raise NpuError("dump_not_running")
    config = read_config(path)
    if "dump" not in config:
        raise NpuError("parse_file", path=path, reason='the file has no "dump"')
    process.log(WARNING, "ASCENDCL", "aclmdlSetDump: accepted, but the simulated device writes no tensors")


def finalize_dump(process: Process, thread: HostThread) -> None:
    if not process.settings.get(STARTED):
        raise NpuError("dump_not_running")
    process.settings[STARTED] = 0
