"""acl.mdl: load, data sets, execute."""

from __future__ import annotations

import os
from copy import copy

from npu.errors import NpuError
from npu.runtime import gears, model, stream
from npu.runtime.config import ExecConfig, LoadConfig
from npu.runtime.dataset import DataBuffer, DataSet
from npu.runtime.process import Process
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "add_dataset_buffer",
    "create_config_handle",
    "create_dataset",
    "create_exec_config_handle",
    "destroy_config_handle",
    "destroy_dataset",
    "destroy_exec_config_handle",
    "execute",
    "execute_async",
    "execute_v2",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_dataset_tensor_desc",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_mem",
    "load_from_mem_with_mem",
    "load_with_config",
    "query_size",
    "query_size_from_mem",
    "set_config_opt",
    "set_dataset_tensor_desc",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_exec_config_opt",
    "set_input_dynamic_dims",
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
    memory = model.read(process, path).memory
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


def create_dataset(process: Process, thread: HostThread) -> int:
    return process.register(DataSet())


def destroy_dataset(process: Process, thread: HostThread, handle: int) -> None:
    """Its descriptions go with it, its buffers do not."""
    for desc in process.drop(handle, DataSet).descs.values():
        process.objects.pop(desc, None)


def add_dataset_buffer(process: Process, thread: HostThread, handle: int, buffer: int) -> int:
    dataset = process.get(handle, DataSet)
    process.get(buffer, DataBuffer)
    dataset.buffers.append(buffer)
    return handle


def get_dataset_num_buffers(process: Process, thread: HostThread, handle: int) -> int:
    return len(process.get(handle, DataSet).buffers)


def get_dataset_buffer(process: Process, thread: HostThread, handle: int, index: int) -> int:
    buffers = process.get(handle, DataSet).buffers
    if index >= len(buffers):
        raise NpuError("invalid_param", index=index, count=len(buffers))
    return buffers[index]


def set_dataset_tensor_desc(process: Process, thread: HostThread, handle: int, desc: int, index: int) -> int:
    """The data set keeps a copy, so the description may go or change; NULL takes it away (hicann/ge acl_model_impl)."""
    dataset = process.get(handle, DataSet)
    if index >= len(dataset.buffers):
        raise NpuError("invalid_param", index=index, count=len(dataset.buffers))
    own = dataset.descs.get(index, 0)
    if desc == 0:
        process.objects.pop(dataset.descs.pop(index, 0), None)
        return handle
    taken = copy(process.get(desc, TensorDesc, "invalid_param"))
    if own in process.objects:
        process.objects[own] = taken
    else:
        dataset.descs[index] = process.register(taken)
    return handle


def get_dataset_tensor_desc(process: Process, thread: HostThread, handle: int, index: int) -> int:
    dataset = process.get(handle, DataSet)
    if index >= len(dataset.buffers):
        raise NpuError("invalid_param", index=index, count=len(dataset.buffers))
    return dataset.descs.get(index, 0)


def set_dynamic_batch_size(process: Process, thread: HostThread, model_id: int, dataset: int, index: int, batch: int) -> None:
    loaded = model.of(process, model_id)
    options = [[b] for b in gears.batches(loaded.model)]
    gears.choose(process, process.get(dataset, DataSet), loaded.model, index, options, [batch])
    loaded.chosen = process.get(dataset, DataSet).gear


def set_dynamic_hw_size(
    process: Process, thread: HostThread, model_id: int, dataset: int, index: int, height: int, width: int
) -> None:
    loaded = model.of(process, model_id)
    gears.choose(process, process.get(dataset, DataSet), loaded.model, index, gears.sizes(loaded.model), [height, width])
    loaded.chosen = process.get(dataset, DataSet).gear


def set_input_dynamic_dims(
    process: Process, thread: HostThread, model_id: int, dataset: int, index: int, dims: dict[str, object]
) -> None:
    loaded = model.of(process, model_id)
    wanted = dims.get("dims")
    if not isinstance(wanted, list) or dims.get("dimCount") != len(wanted):
        raise NpuError("invalid_param", dims=dims)
    gears.choose(process, process.get(dataset, DataSet), loaded.model, index, gears.all_dims(loaded.model), wanted)
    loaded.chosen = process.get(dataset, DataSet).gear


def execute(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int) -> None:
    model.execute(process, thread, model_id, inputs, outputs, None)


def execute_async(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, handle: int) -> None:
    model.execute(process, thread, model_id, inputs, outputs, stream.of(process, thread, handle))


def create_exec_config_handle(process: Process, thread: HostThread) -> int:
    return process.register(ExecConfig())


def set_exec_config_opt(process: Process, thread: HostThread, handle: int, option: int, value: int) -> None:
    process.get(handle, ExecConfig, "invalid_param").set(option, value)


def destroy_exec_config_handle(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, ExecConfig)


def execute_v2(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, on: int, config: int) -> None:
    timeout = process.get(config, ExecConfig, "invalid_param").timeout
    where = stream.of(process, thread, on)
    model.execute(process, thread, model_id, inputs, outputs, where)
    stream.synchronize(process, thread, where, timeout)
