"""acl.*: life cycle, versions, data buffers."""

from __future__ import annotations

import json
from pathlib import Path

from npu.dtypes import DTYPES
from npu.errors import NpuError
from npu.runtime.model import DataBuffer
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = ""
__all__ = [
    "app_log",
    "create_data_buffer",
    "data_type_size",
    "destroy_data_buffer",
    "finalize",
    "finalize_reference",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_recent_err_msg",
    "get_soc_name",
    "get_version",
    "init",
    "update_data_buffer",
]

API_VERSION = (1, 15, 0)  # of the 8.3 generation (unverified; the newest public header says 1.17.0)
MORE_SIZES = {14: 16, 15: 8, 17: 16, 28: 0.5, 29: 0.5}  # aclDataType numbers without a numpy counterpart here


def init(process: Process, thread: HostThread, config: str = "") -> None:
    if config:
        try:
            json.loads(Path(config).read_text(encoding="utf-8") or "{}")
        except OSError as error:
            raise NpuError("invalid_file", path=config, reason=str(error)) from error
        except ValueError as error:
            raise NpuError("parse_file", path=config, reason=str(error)) from error
    process.init_count += 1
    process.finalized = False
    if process.init_count > 1:
        raise NpuError("repeat_init")


def finalize(process: Process, thread: HostThread) -> None:
    if process.init_count == 0:
        raise NpuError("repeat_finalize")
    process.init_count = 0
    process.finalized = True


def finalize_reference(process: Process, thread: HostThread) -> int:
    if process.init_count == 0:
        raise NpuError("repeat_finalize")
    process.init_count -= 1
    process.finalized = process.init_count == 0
    return process.init_count


def get_version(process: Process, thread: HostThread) -> tuple[int, int, int]:
    return API_VERSION


def get_soc_name(process: Process, thread: HostThread) -> str | None:
    return process.machine.chip.name if process.machine.driver_version is not None else None


def get_recent_err_msg(process: Process, thread: HostThread) -> str | None:
    return process.recent_error or None


def app_log(process: Process, thread: HostThread, level: int, text: str) -> None:
    pass


def data_type_size(process: Process, thread: HostThread, dtype: int) -> int:
    sizes = {number: size for number, size, _ in DTYPES.values()} | MORE_SIZES
    return int(sizes.get(dtype, 0))


def create_data_buffer(process: Process, thread: HostThread, data: int, size: int) -> int:
    return process.register(DataBuffer(data, size))


def destroy_data_buffer(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, DataBuffer)


def get_data_buffer_addr(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).data


def get_data_buffer_size(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).size


def get_data_buffer_size_v2(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).size


def update_data_buffer(process: Process, thread: HostThread, handle: int, data: int, size: int) -> None:
    buffer = process.get(handle, DataBuffer)
    buffer.data, buffer.size = data, size
