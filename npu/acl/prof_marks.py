"""acl.prof: marks of the script: steps, stamps, ranges."""

from __future__ import annotations

from npu.runtime import marker, stream
from npu.runtime.marker import StepInfo
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "prof"
__all__ = [
    "create_stamp",
    "create_step_info",
    "destroy_stamp",
    "destroy_step_info",
    "get_step_timestamp",
    "mark",
    "mark_ex",
    "pop",
    "push",
    "range_start",
    "range_stop",
    "set_stamp_trace_message",
]


class Stamp:
    """A mark to be; message as set."""

    def __init__(self) -> None:
        self.message = ""


def create_step_info(process: Process, thread: HostThread) -> int:
    return process.register(StepInfo())


def destroy_step_info(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, StepInfo)


def get_step_timestamp(process: Process, thread: HostThread, handle: int, tag: int, on: int) -> None:
    step = process.get(handle, StepInfo, "invalid_param")
    marker.step(process, thread, step, tag, stream.of(process, thread, on))


def create_stamp(process: Process, thread: HostThread) -> int:
    return process.register(Stamp())


def destroy_stamp(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Stamp)


def _message(process: Process, handle: int) -> str:
    return process.get(handle, Stamp, "invalid_param").message


def set_stamp_trace_message(process: Process, thread: HostThread, handle: int, message: str, length: int) -> None:
    process.get(handle, Stamp, "invalid_param").message = marker.checked(message[:length])


def mark(process: Process, thread: HostThread, handle: int) -> None:
    marker.mark(process, thread, _message(process, handle))


def mark_ex(process: Process, thread: HostThread, message: str, on: int) -> None:
    marker.mark(process, thread, message, stream=stream.of(process, thread, on))


def push(process: Process, thread: HostThread, handle: int) -> None:
    marker.push(process, thread, _message(process, handle))


def pop(process: Process, thread: HostThread) -> None:
    marker.pop(process, thread)


def range_start(process: Process, thread: HostThread, handle: int) -> int:
    return marker.begin(process, thread, _message(process, handle))


def range_stop(process: Process, thread: HostThread, number: int) -> None:
    marker.end(process, thread, number)
