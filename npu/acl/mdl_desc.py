"""acl.mdl: what a model's description tells."""

from __future__ import annotations

from npu.dtypes import DTYPES, FORMATS
from npu.errors import NpuError
from npu.runtime import gears, model
from npu.runtime.dataset import Description, Tensor, index_of, tensor, tensors
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "create_desc",
    "destroy_desc",
    "get_cur_output_dims",
    "get_desc",
    "get_desc_from_file",
    "get_desc_from_mem",
    "get_dynamic_batch",
    "get_dynamic_hw",
    "get_input_data_type",
    "get_input_dims",
    "get_input_dims_range",
    "get_input_dims_v2",
    "get_input_dynamic_dims",
    "get_input_dynamic_gear_count",
    "get_input_format",
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_op_attr",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_output_size_by_index",
    "get_tensor_real_name",
]

ORIGINAL_NAMES = "_datadump_original_op_names"  # the one attribute that can be asked for


def create_desc(process: Process, thread: HostThread) -> int:
    return process.register(Description())


def destroy_desc(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Description)


def get_desc(process: Process, thread: HostThread, handle: int, model_id: int) -> None:
    loaded = model.of(process, model_id)
    desc = process.get(handle, Description)
    desc.model, desc.path, desc.id = loaded.model, loaded.path, model_id


def get_desc_from_file(process: Process, thread: HostThread, handle: int, path: str) -> None:
    desc = process.get(handle, Description)
    desc.model, desc.path, desc.id = model.read(path), path, 0


def get_desc_from_mem(process: Process, thread: HostThread, handle: int, pointer: int, size: int) -> None:
    get_desc_from_file(process, thread, handle, model.staged_file(process, pointer, size))


def _dims(found: Tensor, dims: tuple[int, ...]) -> dict[str, object]:
    return {"name": found.name, "dimCount": len(dims), "dims": list(dims)}


def get_num_inputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(tensors(process, handle, "input"))


def get_num_outputs(process: Process, thread: HostThread, handle: int) -> int:
    return len(tensors(process, handle, "output"))


def get_input_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    found = tensor(process, handle, index, "input")
    return gears.largest(process.get(handle, Description).filled(), found)


def get_output_size_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    tensor(process, handle, index, "output")
    desc = process.get(handle, Description)
    return gears.largest_output(desc.path, desc.filled(), index)


def get_input_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    found = tensor(process, handle, index, "input")
    return _dims(found, found.dims)


def get_input_dims_v2(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    """As get_input_dims; of an input with static AIPP the dims of what the preprocessing makes."""
    found = tensor(process, handle, index, "input")
    made = next((a for a in process.get(handle, Description).filled().aipp if a.input == found.name and a.settings), None)
    return _dims(found, found.dims if made is None else made.dims)


def get_input_dims_range(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    dims = tensor(process, handle, index, "input").dims
    return {"rangeCount": len(dims), "range": [[d, d] if d >= 0 else [1, -1] for d in dims]}


def get_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    found = tensor(process, handle, index, "output")
    desc = process.get(handle, Description)
    return _dims(found, gears.largest_dims(desc.path, desc.filled(), index))


def get_cur_output_dims(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    found = tensor(process, handle, index, "output")
    desc = process.get(handle, Description)
    if desc.id and -1 in found.dims:
        loaded = model.of(process, desc.id)
        if loaded.chosen >= 0:
            return _dims(found, gears.output_dims(loaded.path, loaded.chosen)[index])
        if loaded.output_dims:
            return _dims(found, loaded.output_dims[index])
    return get_output_dims(process, thread, handle, index)


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


def get_tensor_real_name(process: Process, thread: HostThread, handle: int, name: str) -> str:
    for which in ("input", "output"):
        if any(found.name == name for found in tensors(process, handle, which)):
            return name
    raise NpuError("invalid_param", name=name)


def get_op_attr(process: Process, thread: HostThread, handle: int, op: str, attribute: str) -> str:
    """The names of the nodes a kernel was made of, each with its length before it: "[4]conv[4]relu"."""
    filled = process.get(handle, Description).filled()
    if attribute != ORIGINAL_NAMES:
        raise NpuError("invalid_param", attribute=attribute, known=ORIGINAL_NAMES)
    for kernel in filled.kernels:
        if kernel.name == op:
            return "".join(f"[{len(name)}]{name}" for name in kernel.origin.split("+") if name)
    raise NpuError("invalid_param", op=op, reason="the model has no such operator")


def get_dynamic_batch(process: Process, thread: HostThread, handle: int) -> dict[str, object]:
    found = gears.batches(process.get(handle, Description).filled())
    return {"batchCount": len(found), "batch": found}


def get_dynamic_hw(process: Process, thread: HostThread, handle: int, index: int) -> dict[str, object]:
    found = gears.sizes(process.get(handle, Description).filled())
    return {"hwCount": len(found), "hw": found}


def get_input_dynamic_gear_count(process: Process, thread: HostThread, handle: int, index: int) -> int:
    filled = process.get(handle, Description).filled()
    return 0 if gears.batches(filled) or gears.sizes(filled) else len(filled.gears)


def get_input_dynamic_dims(process: Process, thread: HostThread, handle: int, index: int, count: int) -> list[dict[str, object]]:
    found = gears.all_dims(process.get(handle, Description).filled())
    return [{"name": "", "dimCount": len(dims), "dims": dims} for dims in found[:count]]
