"""acl.prof: operator times by subscription, and the records they come in."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import prof
from npu.runtime.process import Process
from npu.runtime.prof import RECORD, operator
from npu.runtime.side import Side
from npu.runtime.thread import HostThread

GROUP = "prof"
__all__ = [
    "create_subscribe_config",
    "destroy_subscribe_config",
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
    "model_subscribe",
    "model_un_subscribe",
    "model_unsubscribe",
]


class Subscribing:
    """Where operator times shall go."""

    def __init__(self, fd: int) -> None:
        self.fd = fd


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
