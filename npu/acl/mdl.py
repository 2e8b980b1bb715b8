"""acl.mdl: load, describe, execute."""

from __future__ import annotations

from npu.dtypes import DTYPES, FORMATS
from npu.errors import NpuError
from npu.runtime import model, stream
from npu.runtime.model import DataBuffer, DataSet, Description, Tensor, index_of, tensor, tensors
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
    return model.load_from_memory(process, thread, pointer, size)


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


def _dims(tensor: Tensor) -> dict[str, object]:
    return {"name": tensor.name, "dimCount": len(tensor.dims), "dims": list(tensor.dims)}


def get_num_inputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(tensors(process, handle, "input"))


def get_num_outputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(tensors(process, handle, "output"))


def get_input_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return tensor(process, handle, index, "input").bytes


def get_output_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return tensor(process, handle, index, "output").bytes


def get_input_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(tensor(process, handle, index, "input"))


def get_input_dims_v2(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(tensor(process, handle, index, "input"))


def get_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(tensor(process, handle, index, "output"))


def get_cur_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    return _dims(tensor(process, handle, index, "output"))


def get_input_name_by_index(process: Process, thread: HostThread, handle: int, index: int) -> str:
    return tensor(process, handle, index, "input").name


def get_output_name_by_index(process: Process, thread: HostThread, handle: int, index: int) -> str:
    return tensor(process, handle, index, "output").name


def get_input_index_by_name(process: Process, thread: HostThread, handle: int, name: str) -> int:
    return index_of(process, handle, name, "input")


def get_output_index_by_name(process: Process, thread: HostThread, handle: int, name: str) -> int:
    return index_of(process, handle, name, "output")


def get_input_format(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return FORMATS[tensor(process, handle, index, "input").format]


def get_output_format(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return FORMATS[tensor(process, handle, index, "output").format]


def get_input_data_type(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return DTYPES[tensor(process, handle, index, "input").dtype][0]


def get_output_data_type(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return DTYPES[tensor(process, handle, index, "output").dtype][0]


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
