"""acl.mdl: load, execute."""

from __future__ import annotations

import os

from npu.runtime import execution, model, stream
from npu.runtime.config import ExecConfig, LoadConfig
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "create_config_handle",
    "create_exec_config_handle",
    "destroy_config_handle",
    "destroy_exec_config_handle",
    "execute",
    "execute_async",
    "execute_v2",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_mem",
    "load_from_mem_with_mem",
    "load_with_config",
    "query_size",
    "query_size_from_mem",
    "set_config_opt",
    "set_exec_config_opt",
    "unload",
]


def load_from_file(process: Process, thread: HostThread, path: str) -> int:
    return model.load(process, thread, path)


def load_from_file_with_mem(
    process: Process, thread: HostThread, path: str, work: int, work_size: int, weight: int, weight_size: int
) -> int:
    return model.load(process, thread, path, model.given(process, path, work, work_size, weight, weight_size))


def load_from_mem(process: Process, thread: HostThread, pointer: int, size: int) -> int:
    return model.load(process, thread, model.staged_file(process, pointer, size))


def load_from_mem_with_mem(
    process: Process, thread: HostThread, pointer: int, size: int, work: int, work_size: int, weight: int, weight_size: int
) -> int:
    path = model.staged_file(process, pointer, size)
    return model.load(process, thread, path, model.given(process, path, work, work_size, weight, weight_size))


def query_size(process: Process, thread: HostThread, path: str) -> tuple[int, int]:
    memory = model.read(path).memory
    return memory.get("workspace", 0) + memory.get("feature_map", 0), memory.get("weights", 0)


def query_size_from_mem(process: Process, thread: HostThread, pointer: int, size: int) -> tuple[int, int]:
    path = model.staged_file(process, pointer, size)
    try:
        return query_size(process, thread, path)
    finally:
        os.unlink(path)
        process.temporary.remove(path)


def create_config_handle(process: Process, thread: HostThread) -> int:
    return process.register(LoadConfig())


def set_config_opt(process: Process, thread: HostThread, handle: int, option: int, value: object) -> None:
    process.get(handle, LoadConfig, "invalid_param").set(option, value)


def load_with_config(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, LoadConfig, "invalid_param").load(process, thread)


def destroy_config_handle(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, LoadConfig)


def unload(process: Process, thread: HostThread, model_id: int) -> None:
    model.unload(process, thread, model_id)


def execute(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int) -> None:
    execution.execute(process, thread, model_id, inputs, outputs, None)


def execute_async(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, handle: int) -> None:
    execution.execute(process, thread, model_id, inputs, outputs, stream.of(process, thread, handle))


def create_exec_config_handle(process: Process, thread: HostThread) -> int:
    return process.register(ExecConfig())


def set_exec_config_opt(process: Process, thread: HostThread, handle: int, option: int, value: int) -> None:
    process.get(handle, ExecConfig, "invalid_param").set(option, value)


def destroy_exec_config_handle(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, ExecConfig)


def execute_v2(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, on: int, config: int) -> None:
    timeout = process.get(config, ExecConfig, "invalid_param").timeout
    where = stream.of(process, thread, on)
    execution.execute(process, thread, model_id, inputs, outputs, where)
    stream.synchronize(process, thread, where, timeout)
