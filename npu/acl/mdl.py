"""acl.mdl: load, describe, execute."""

from __future__ import annotations

import ctypes
import os
import tempfile

from npu import om
from npu.errors import NpuError
from npu.runtime import host, model, stream
from npu.runtime.model import DataBuffer, DataSet, Description
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "add_dataset_buffer",
    "create_dataset",
    "create_desc",
    "destroy_dataset",
    "destroy_desc",
    "execute",
    "execute_async",
    "get_cur_output_dims",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_desc",
    "get_desc_from_file",
    "get_input_data_type",
    "get_input_dims",
    "get_input_dims_v2",
    "get_input_format",
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_output_size_by_index",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_mem",
    "load_from_mem_with_mem",
    "query_size",
    "unload",
]


def load_from_file(process: Process, thread: HostThread, path: str) -> int:
    return model.load(process, thread, path)


def load_from_file_with_mem(
    process: Process, thread: HostThread, path: str, work: int, work_size: int, weight: int, weight_size: int
) -> int:
    return model.load(process, thread, path)


def load_from_mem(process: Process, thread: HostThread, pointer: int, size: int) -> int:
    if pointer == 0 or size == 0:
        raise NpuError("invalid_param", pointer=pointer, size=size)
    staged = host.Staged(size)
    host.read(staged.address, pointer, size)
    number, path = tempfile.mkstemp(suffix=om.SUFFIX, prefix="npu-model-")
    with os.fdopen(number, "wb") as stream_out:
        stream_out.write(ctypes.string_at(staged.address, size))
    process.temporary.append(path)
    return model.load(process, thread, path)


def load_from_mem_with_mem(
    process: Process, thread: HostThread, pointer: int, size: int, work: int, work_size: int, weight: int, weight_size: int
) -> int:
    return load_from_mem(process, thread, pointer, size)


def query_size(process: Process, thread: HostThread, path: str) -> tuple[int, int]:
    memory = model.read(process, path).memory
    return memory.get("workspace", 0) + memory.get("feature_map", 0), memory.get("weights", 0)


def unload(process: Process, thread: HostThread, model_id: int) -> None:
    model.unload(process, thread, model_id)


def create_desc(process: Process, thread: HostThread) -> int:
    return process.register(Description())


def destroy_desc(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Description)


def get_desc(process: Process, thread: HostThread, handle: int, model_id: int) -> None:
    process.get(handle, Description).model = model.of(process, model_id).model


def get_desc_from_file(process: Process, thread: HostThread, handle: int, path: str) -> None:
    process.get(handle, Description).model = model.read(process, path)


def _tensors(process: Process, handle: int, inputs: bool) -> tuple[om.Tensor, ...]:
    filled = process.get(handle, Description).filled()
    return filled.inputs if inputs else filled.outputs


def _tensor(process: Process, handle: int, index: int, inputs: bool) -> om.Tensor:
    tensors = _tensors(process, handle, inputs)
    if index >= len(tensors):
        raise NpuError("invalid_param", index=index, count=len(tensors))
    return tensors[index]


def _by_name(process: Process, handle: int, name: str, inputs: bool) -> int:
    for number, tensor in enumerate(_tensors(process, handle, inputs)):
        if tensor.name == name:
            return number
    raise NpuError("invalid_param", name=name)


def _dims(tensor: om.Tensor) -> dict[str, object]:
    return {"name": tensor.name, "dimCount": len(tensor.dims), "dims": list(tensor.dims)}


def get_num_inputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(_tensors(process, handle, True))


def get_num_outputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(_tensors(process, handle, False))


def get_input_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return _tensor(process, handle, index, True).bytes


def get_output_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return _tensor(process, handle, index, False).bytes


def get_input_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(_tensor(process, handle, index, True))


def get_input_dims_v2(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(_tensor(process, handle, index, True))


def get_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(_tensor(process, handle, index, False))


def get_cur_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(_tensor(process, handle, index, False))


def get_input_name_by_index(process: Process, thread: HostThread, handle: int, index: int) -> str:
    return _tensor(process, handle, index, True).name


def get_output_name_by_index(process: Process, thread: HostThread, handle: int, index: int) -> str:
    return _tensor(process, handle, index, False).name


def get_input_index_by_name(process: Process, thread: HostThread, handle: int, name: str) -> int:
    return _by_name(process, handle, name, True)


def get_output_index_by_name(process: Process, thread: HostThread, handle: int, name: str) -> int:
    return _by_name(process, handle, name, False)


def get_input_format(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return om.FORMATS[_tensor(process, handle, index, True).format]


def get_output_format(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return om.FORMATS[_tensor(process, handle, index, False).format]


def get_input_data_type(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return om.DTYPES[_tensor(process, handle, index, True).dtype][0]


def get_output_data_type(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return om.DTYPES[_tensor(process, handle, index, False).dtype][0]


def create_dataset(process: Process, thread: HostThread) -> int:
    return process.register(DataSet())


def destroy_dataset(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, DataSet)


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


def execute(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int) -> None:
    model.execute(process, thread, model_id, inputs, outputs, None)


def execute_async(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, handle: int) -> None:
    model.execute(process, thread, model_id, inputs, outputs, stream.of(process, thread, handle))
