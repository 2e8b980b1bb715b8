"""acl.*: tensor descriptions."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread

GROUP = ""
__all__ = [
    "create_tensor_desc",
    "destroy_tensor_desc",
    "get_tensor_desc_address",
    "get_tensor_desc_by_index",
    "get_tensor_desc_dim",
    "get_tensor_desc_dim_range",
    "get_tensor_desc_dim_v2",
    "get_tensor_desc_element_count",
    "get_tensor_desc_format",
    "get_tensor_desc_name",
    "get_tensor_desc_num_dims",
    "get_tensor_desc_size",
    "get_tensor_desc_type",
    "set_tensor_const",
    "set_tensor_desc_name",
    "set_tensor_dynamic_input",
    "set_tensor_format",
    "set_tensor_origin_format",
    "set_tensor_origin_shape",
    "set_tensor_place_ment",
    "set_tensor_shape",
    "set_tensor_shape_range",
    "set_tensor_storage_format",
    "set_tensor_storage_shape",
    "set_tensor_value_range",
    "trans_tensor_desc_format",
]

MOST_RANGES = 4096


def _of(process: Process, handle: int) -> TensorDesc:
    return process.get(handle, TensorDesc, "invalid_param")


def create_tensor_desc(process: Process, thread: HostThread, dtype: int, dims: list[int], form: int) -> int:
    return process.register(TensorDesc(dtype, dims, form))


def destroy_tensor_desc(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, TensorDesc)


def get_tensor_desc_type(process: Process, thread: HostThread, handle: int) -> int:
    return _of(process, handle).dtype


def get_tensor_desc_format(process: Process, thread: HostThread, handle: int) -> int:
    return _of(process, handle).format


def get_tensor_desc_size(process: Process, thread: HostThread, handle: int) -> int:
    return _of(process, handle).bytes


def get_tensor_desc_element_count(process: Process, thread: HostThread, handle: int) -> int:
    return _of(process, handle).elements


def get_tensor_desc_num_dims(process: Process, thread: HostThread, handle: int) -> int:
    found = _of(process, handle)
    return len(found.dims) if found.ranked else 0xFFFF_FFFF_FFFF_FFFE  # ACL_UNKNOWN_RANK


def get_tensor_desc_dim(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return _of(process, handle).dim(index)


def get_tensor_desc_dim_v2(process: Process, thread: HostThread, handle: int, index: int) -> int:
    return _of(process, handle).dim(index)


def get_tensor_desc_dim_range(process: Process, thread: HostThread, handle: int, index: int, count: int) -> list[int]:
    if not 2 <= count <= MOST_RANGES:
        raise NpuError("invalid_param", count=count, reason="a range has two numbers")
    return _of(process, handle).range(index)


def get_tensor_desc_name(process: Process, thread: HostThread, handle: int) -> str:
    return _of(process, handle).name


def set_tensor_desc_name(process: Process, thread: HostThread, handle: int, name: str) -> None:
    _of(process, handle).name = name


def get_tensor_desc_address(process: Process, thread: HostThread, handle: int) -> int:
    return _of(process, handle).address


def get_tensor_desc_by_index(process: Process, thread: HostThread, handle: int, index: int) -> int:
    _of(process, handle)
    if index:
        raise NpuError("invalid_param", index=index, count=1)
    return handle


def trans_tensor_desc_format(process: Process, thread: HostThread, handle: int, form: int) -> int:
    source = _of(process, handle)
    orders = {0: "NCHW", 1: "NHWC"}
    if source.format == form:
        return process.register(TensorDesc(source.dtype, source.dims, form))
    if source.format not in orders or form not in orders or len(source.dims) != 4:
        raise NpuError("invalid_param", format=source.format, wanted=form, reason="only NCHW and NHWC of four dims are turned")
    by_axis = dict(zip(orders[source.format], source.dims, strict=True))
    return process.register(TensorDesc(source.dtype, [by_axis[axis] for axis in orders[form]], form))


def set_tensor_format(process: Process, thread: HostThread, handle: int, form: int) -> None:
    _of(process, handle).storage_format = form


def set_tensor_origin_format(process: Process, thread: HostThread, handle: int, form: int) -> None:
    _of(process, handle).format = form


def set_tensor_storage_format(process: Process, thread: HostThread, handle: int, form: int) -> None:
    _of(process, handle).storage_format = form


def set_tensor_shape(process: Process, thread: HostThread, handle: int, dims: list[int]) -> None:
    _of(process, handle).storage_dims = dims


def set_tensor_origin_shape(process: Process, thread: HostThread, handle: int, dims: list[int]) -> None:
    _of(process, handle).dims = dims


def set_tensor_storage_shape(process: Process, thread: HostThread, handle: int, dims: list[int]) -> None:
    _of(process, handle).storage_dims = dims


def _pairs(ranges: list[list[int]]) -> list[list[int]]:
    if any(len(r) != 2 for r in ranges):
        raise NpuError("invalid_param", ranges=ranges, reason="each range is [low, high]")
    return ranges


def set_tensor_shape_range(process: Process, thread: HostThread, handle: int, ranges: list[list[int]]) -> None:
    _of(process, handle).ranges = _pairs(ranges)


def set_tensor_value_range(process: Process, thread: HostThread, handle: int, ranges: list[list[int]]) -> None:
    _of(process, handle).values = _pairs(ranges)


def set_tensor_dynamic_input(process: Process, thread: HostThread, handle: int, name: str) -> None:
    _of(process, handle).dynamic_input = name


def set_tensor_const(process: Process, thread: HostThread, handle: int, data: int, size: int) -> None:
    from npu.runtime.side import Side

    if data == 0 or size == 0:
        raise NpuError("invalid_param", data=data, size=size)
    _of(process, handle).constant = Side(process, data, size, False).read(size)


def set_tensor_place_ment(process: Process, thread: HostThread, handle: int, placement: int) -> None:
    if placement not in (0, 1, 2):
        raise NpuError("invalid_param", placement=placement)
    _of(process, handle).placement = placement
