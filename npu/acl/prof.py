"""acl.prof: collecting, marks, operator times by subscription."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import marker, prof, stream
from npu.runtime.marker import StepInfo
from npu.runtime.process import Process
from npu.runtime.prof import RECORD, Config, operator
from npu.runtime.side import Side
from npu.runtime.thread import HostThread

GROUP = "prof"
__all__ = [
    "create_config",
    "create_stamp",
    "create_step_info",
    "create_subscribe_config",
    "destroy_config",
    "destroy_stamp",
    "destroy_step_info",
    "destroy_subscribe_config",
    "finalize",
    "get_model_id",
    "get_op_desc_size",
    "get_op_duration",
    "get_op_end",
    "get_op_name",
    "get_op_name_len",
    "get_op_name_v2",
    "get_op_num",
    "get_op_start",
    "get_op_type",
    "get_op_type_len",
    "get_op_type_v2",
    "get_step_timestamp",
    "init",
    "mark",
    "mark_ex",
    "model_subscribe",
    "model_un_subscribe",
    "model_unsubscribe",
    "pop",
    "push",
    "range_start",
    "range_stop",
    "set_config",
    "set_stamp_trace_message",
    "start",
    "stop",
]


class Stamp:
    """A mark to be; message as set."""

    def __init__(self) -> None:
        self.message = ""


class Subscribing:
    """Where operator times shall go."""

    def __init__(self, fd: int) -> None:
        self.fd = fd


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


def create_subscribe_config(process: Process, thread: HostThread, time_info: int, metrics: int, fd: int) -> int:
    if time_info not in (0, 1) or metrics not in prof.METRICS or fd < 0:
        raise NpuError("prof_config", time_info=time_info, metrics=metrics, fd=fd)
    return process.register(Subscribing(fd))


def destroy_subscribe_config(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Subscribing)


def model_subscribe(process: Process, thread: HostThread, model_id: int, handle: int) -> None:
    prof.subscribe(process, model_id, process.get(handle, Subscribing, "invalid_param").fd)


def model_unsubscribe(process: Process, thread: HostThread, model_id: int) -> None:
    prof.unsubscribe(process, model_id)


def model_un_subscribe(process: Process, thread: HostThread, model_id: int) -> None:
    prof.unsubscribe(process, model_id)


def get_op_desc_size(process: Process, thread: HostThread) -> int:
    return RECORD.size


def _data(process: Process, pointer: int, size: int) -> bytes:
    if pointer == 0 or size == 0 or size % RECORD.size:
        raise NpuError("invalid_param", pointer=pointer, size=size, unit=RECORD.size)
    return Side(process, pointer, size, False).read(size)


def get_op_num(process: Process, thread: HostThread, pointer: int, size: int) -> int:
    return len(_data(process, pointer, size)) // RECORD.size


def get_op_name(process: Process, thread: HostThread, pointer: int, size: int, index: int, length: int) -> str:
    return operator(_data(process, pointer, size), index).name[: max(0, length - 1)]


def get_op_type(process: Process, thread: HostThread, pointer: int, size: int, index: int, length: int) -> str:
    return operator(_data(process, pointer, size), index).type[: max(0, length - 1)]


def get_op_name_v2(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> str:
    return operator(_data(process, pointer, size), index).name


def get_op_type_v2(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> str:
    return operator(_data(process, pointer, size), index).type


def get_op_name_len(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return len(operator(_data(process, pointer, size), index).name) + 1


def get_op_type_len(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return len(operator(_data(process, pointer, size), index).type) + 1


def get_op_start(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return operator(_data(process, pointer, size), index).start


def get_op_end(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return operator(_data(process, pointer, size), index).end


def get_op_duration(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return operator(_data(process, pointer, size), index).duration


def get_model_id(process: Process, thread: HostThread, pointer: int, size: int, index: int) -> int:
    return operator(_data(process, pointer, size), index).model
