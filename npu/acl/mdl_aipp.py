"""acl.mdl: settings of image preprocessing in a model (AIPP). Models here take them at conversion only."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import model
from npu.runtime.aipp import Aipp
from npu.runtime.dataset import DataSet, inputs_of
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "mdl"
__all__ = [
    "create_aipp",
    "destroy_aipp",
    "get_aipp_data_size",
    "get_aipp_type",
    "get_first_aipp_info",
    "set_aipp_ax_swap_switch",
    "set_aipp_by_input_index",
    "set_aipp_crop_params",
    "set_aipp_csc_params",
    "set_aipp_dtc_pixel_mean",
    "set_aipp_dtc_pixel_min",
    "set_aipp_input_format",
    "set_aipp_padding_params",
    "set_aipp_pixel_var_reci",
    "set_aipp_rbuv_swap_switch",
    "set_aipp_src_image_size",
    "set_input_aipp",
]

WITHOUT, NO_INPUT = 0, 0xFFFF_FFFF  # ACL_DATA_WITHOUT_AIPP, ACL_INVALID_NODE_INDEX
HEAD_BYTES, BATCH_BYTES = 64, 96  # of a dynamic AIPP parameter block (GE's kAippDynamicPara; unverified)


def _of(process: Process, handle: int) -> Aipp:
    return process.get(handle, Aipp, "invalid_param")


def create_aipp(process: Process, thread: HostThread, batch: int) -> int:
    return process.register(Aipp(batch))


def destroy_aipp(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Aipp)


def set_aipp_input_format(process: Process, thread: HostThread, handle: int, form: int) -> None:
    _of(process, handle).set_format(form)


def set_aipp_csc_params(process: Process, thread: HostThread, handle: int, switch: int, *numbers: int) -> None:
    _of(process, handle).keep("csc", switch, numbers)


def set_aipp_rbuv_swap_switch(process: Process, thread: HostThread, handle: int, switch: int) -> None:
    _of(process, handle).keep("rbuv_swap", switch, ())


def set_aipp_ax_swap_switch(process: Process, thread: HostThread, handle: int, switch: int) -> None:
    _of(process, handle).keep("ax_swap", switch, ())


def set_aipp_src_image_size(process: Process, thread: HostThread, handle: int, width: int, height: int) -> None:
    _of(process, handle).set_size(width, height)


def set_aipp_crop_params(
    process: Process, thread: HostThread, handle: int, switch: int, x: int, y: int, width: int, height: int, batch: int
) -> None:
    _of(process, handle).keep("crop", switch, (x, y, width, height), batch)


def set_aipp_padding_params(
    process: Process, thread: HostThread, handle: int, switch: int, top: int, bottom: int, left: int, right: int, batch: int
) -> None:
    _of(process, handle).keep("padding", switch, (top, bottom, left, right), batch)


def set_aipp_dtc_pixel_mean(
    process: Process, thread: HostThread, handle: int, c0: int, c1: int, c2: int, c3: int, batch: int
) -> None:
    _of(process, handle).keep("mean", 1, (c0, c1, c2, c3), batch)


def set_aipp_dtc_pixel_min(
    process: Process, thread: HostThread, handle: int, c0: float, c1: float, c2: float, c3: float, batch: int
) -> None:
    _of(process, handle).keep("min", 1, (c0, c1, c2, c3), batch)


def set_aipp_pixel_var_reci(
    process: Process, thread: HostThread, handle: int, c0: float, c1: float, c2: float, c3: float, batch: int
) -> None:
    _of(process, handle).keep("var_reci", 1, (c0, c1, c2, c3), batch)


def _refuse(process: Process, model_id: int, dataset: int, index: int, aipp: int) -> None:
    """No model here has an input for dynamic AIPP, so that settings always find nothing to go to."""
    found = inputs_of(model.of(process, model_id).model)
    process.get(dataset, DataSet, "invalid_param")
    _of(process, aipp)
    if index >= len(found):
        raise NpuError("invalid_param", index=index, count=len(found))
    raise NpuError("model_aipp", index=index, input=found[index].name, reason="the model was not converted with dynamic AIPP")


def set_input_aipp(process: Process, thread: HostThread, model_id: int, dataset: int, index: int, aipp: int) -> None:
    _refuse(process, model_id, dataset, index, aipp)


def set_aipp_by_input_index(process: Process, thread: HostThread, model_id: int, dataset: int, index: int, aipp: int) -> None:
    _refuse(process, model_id, dataset, index, aipp)


def get_aipp_type(process: Process, thread: HostThread, model_id: int, index: int) -> tuple[int, int]:
    found = inputs_of(model.of(process, model_id).model)
    if index >= len(found):
        raise NpuError("invalid_param", index=index, count=len(found))
    return WITHOUT, NO_INPUT


def get_first_aipp_info(process: Process, thread: HostThread, model_id: int, index: int) -> dict[str, object]:
    get_aipp_type(process, thread, model_id, index)
    raise NpuError("model_aipp", index=index, reason="the model was not converted with static AIPP")


def get_aipp_data_size(process: Process, thread: HostThread, batch: int) -> int:
    if batch == 0:
        raise NpuError("invalid_param", batch=batch)
    return HEAD_BYTES + BATCH_BYTES * batch
