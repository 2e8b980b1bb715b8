"""acl.op: single operators."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import model, single_op, stream
from npu.runtime.blas import Product, run_with_buffers
from npu.runtime.process import Process
from npu.runtime.single_op import OpAttr, Prepared
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread

GROUP = "op"
__all__ = [
    "cast",
    "create_attr",
    "create_handle",
    "create_handle_for_cast",
    "destroy_attr",
    "destroy_handle",
    "execute",
    "execute_v2",
    "execute_with_handle",
    "infer_shape",
    "load",
    "set_attr_bool",
    "set_attr_data_type",
    "set_attr_float",
    "set_attr_int",
    "set_attr_list_bool",
    "set_attr_list_data_type",
    "set_attr_list_float",
    "set_attr_list_int",
    "set_attr_list_list_int",
    "set_attr_list_string",
    "set_attr_string",
    "set_max_op_queue_num",
    "set_model_dir",
    "update_params",
]


def set_model_dir(process: Process, thread: HostThread, path: str) -> None:
    single_op.set_folder(process, path)


def load(process: Process, thread: HostThread, pointer: int, size: int) -> None:
    single_op.add_model(process, model.staged_file(process, pointer, size))


def set_max_op_queue_num(process: Process, thread: HostThread, number: int) -> None:
    if number == 0:
        raise NpuError("invalid_param", number=0)
    process.settings["max_op_queue_num"] = number


def create_attr(process: Process, thread: HostThread) -> int:
    return process.register(OpAttr())


def destroy_attr(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, OpAttr)


def _values(process: Process, handle: int) -> dict[str, int | float | str | bool | list[object]]:
    return process.get(handle, OpAttr, "invalid_param").values


def set_attr_bool(process: Process, thread: HostThread, handle: int, name: str, value: int) -> None:
    _values(process, handle)[name] = bool(value)


def set_attr_int(process: Process, thread: HostThread, handle: int, name: str, value: int) -> None:
    _values(process, handle)[name] = value


def set_attr_float(process: Process, thread: HostThread, handle: int, name: str, value: float) -> None:
    _values(process, handle)[name] = value


def set_attr_string(process: Process, thread: HostThread, handle: int, name: str, value: str) -> None:
    _values(process, handle)[name] = value


def set_attr_data_type(process: Process, thread: HostThread, handle: int, name: str, value: int) -> int:
    _values(process, handle)[name] = value
    return handle


def set_attr_list_data_type(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> int:
    _values(process, handle)[name] = value
    return handle


def set_attr_list_bool(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> None:
    _values(process, handle)[name] = [bool(v) for v in value]


def set_attr_list_int(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> None:
    _values(process, handle)[name] = value


def set_attr_list_float(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> None:
    _values(process, handle)[name] = value


def set_attr_list_string(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> None:
    _values(process, handle)[name] = value


def set_attr_list_list_int(process: Process, thread: HostThread, handle: int, name: str, value: list[object]) -> None:
    _values(process, handle)[name] = value


def _placed(process: Process, descs: list[int]) -> list[int]:
    return [process.get(d, TensorDesc, "invalid_param").placement for d in descs]


def execute(
    process: Process,
    thread: HostThread,
    op: str,
    in_descs: list[int],
    in_buffers: list[int],
    out_descs: list[int],
    out_buffers: list[int],
    attribute: int,
    on: int,
) -> None:
    where = stream.of(process, thread, on)
    made = single_op.prepare(process, op, in_descs, out_descs, attribute)
    single_op.execute(process, thread, made, in_buffers, out_buffers, _placed(process, in_descs), where)


def execute_v2(
    process: Process,
    thread: HostThread,
    op: str,
    in_descs: list[int],
    in_buffers: list[int],
    out_descs: list[int],
    out_buffers: list[int],
    attribute: int,
    on: int,
) -> None:
    execute(process, thread, op, in_descs, in_buffers, out_descs, out_buffers, attribute, on)
    single_op.shape(process, op, in_descs, out_descs, attribute)


def create_handle(
    process: Process, thread: HostThread, op: str, in_descs: list[int], out_descs: list[int], attribute: int
) -> int:
    return process.register(single_op.prepare(process, op, in_descs, out_descs, attribute))


def execute_with_handle(
    process: Process, thread: HostThread, handle: int, in_buffers: list[int], out_buffers: list[int], on: int
) -> None:
    where = stream.of(process, thread, on)
    made = process.objects.get(handle)
    if isinstance(made, Product):
        run_with_buffers(process, thread, made, in_buffers, out_buffers, where)
    else:
        single_op.execute(process, thread, process.get(handle, Prepared, "invalid_param"), in_buffers, out_buffers, (), where)


def destroy_handle(process: Process, thread: HostThread, handle: int) -> None:
    made = process.objects.get(handle)
    process.drop(handle, Product if isinstance(made, Product) else Prepared)


def cast(process: Process, thread: HostThread, src_desc: int, src: int, dst_desc: int, dst: int, truncate: int, on: int) -> None:
    execute(process, thread, "Cast", [src_desc], [src], [dst_desc], [dst], 0, on)


def create_handle_for_cast(process: Process, thread: HostThread, src_desc: int, dst_desc: int, truncate: int) -> int:
    return create_handle(process, thread, "Cast", [src_desc], [dst_desc], 0)


def infer_shape(
    process: Process,
    thread: HostThread,
    op: str,
    in_descs: list[int],
    in_buffers: list[int],
    count: int,
    out_descs: list[int],
    attribute: int,
) -> None:
    if count != len(out_descs):
        raise NpuError("invalid_param", count=count, outputs=len(out_descs))
    single_op.shape(process, op, in_descs, out_descs, attribute)


def update_params(
    process: Process, thread: HostThread, op: str, in_descs: list[int], out_descs: list[int], attribute: int
) -> None:
    single_op.prepare(process, op, in_descs, out_descs, attribute)
