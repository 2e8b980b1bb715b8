"""acl.mdl: data sets, and which of its sizes a model of several shapes runs with."""

from __future__ import annotations

from copy import copy

from npu.errors import NpuError
from npu.runtime import gears, model
from npu.runtime.dataset import DataBuffer, DataSet
from npu.runtime.process import Process
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "add_dataset_buffer",
    "create_dataset",
    "destroy_dataset",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_dataset_tensor_desc",
    "set_dataset_tensor_desc",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_input_dynamic_dims",
]


def create_dataset(process: Process, thread: HostThread) -> int:
    return process.register(DataSet())


def destroy_dataset(process: Process, thread: HostThread, handle: int) -> None:
    """Its descriptions go with it, its buffers do not."""
    for desc in process.drop(handle, DataSet).descs.values():
        process.objects.pop(desc, None)
    process.edits += 1


def add_dataset_buffer(process: Process, thread: HostThread, handle: int, buffer: int) -> int:
    dataset = process.get(handle, DataSet)
    process.get(buffer, DataBuffer)
    dataset.buffers.append(buffer)
    process.edits += 1
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
