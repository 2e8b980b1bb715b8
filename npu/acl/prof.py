"""acl.prof: collecting."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import prof
from npu.runtime.process import Process
from npu.runtime.prof import Config
from npu.runtime.thread import HostThread

GROUP = "prof"
__all__ = ["create_config", "destroy_config", "finalize", "init", "set_config", "start", "stop"]


def init(process: Process, thread: HostThread, folder: str) -> None:
    prof.init(process, folder)


def create_config(process: Process, thread: HostThread, devices: list[int], metrics: int, events: int, mask: int) -> int:
    return prof.config(process, devices, metrics, events, mask)


def set_config(process: Process, thread: HostThread, number: int, value: str) -> None:
    prof.option(process, number, value)


def start(process: Process, thread: HostThread, handle: int) -> None:
    prof.start(process, thread, process.get(handle, Config, "invalid_param"))


def stop(process: Process, thread: HostThread, handle: int) -> None:
    prof.stop(process, thread, process.get(handle, Config, "invalid_param"))


def destroy_config(process: Process, thread: HostThread, handle: int) -> None:
    found = process.get(handle, Config, "invalid_param")
    if process.one(prof.Profiling).running is found:
        raise NpuError("prof_running")
    del process.objects[handle]


def finalize(process: Process, thread: HostThread) -> None:
    prof.finalize(process, thread)
