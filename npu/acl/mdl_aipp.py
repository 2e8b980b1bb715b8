"""acl.mdl: image preprocessing in a model (AIPP): its settings at run time, and what a model does to its inputs."""

from __future__ import annotations

from npu.aipp import Aipp as Wanted
from npu.errors import NpuError
from npu.runtime import model
from npu.runtime.aipp import Aipp
from npu.runtime.aipp_info import info
from npu.runtime.dataset import AIPP_INPUT, DataSet, dynamic_aipp, inputs_of, parameter_bytes, preprocessing
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

WITHOUT, STATIC, DYNAMIC, DYNAMIC_NODE = range(4)  # aclmdlInputAippType
NO_INPUT = 0xFFFF_FFFF  # ACL_INVALID_NODE_INDEX


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


def _set(process: Process, dataset: int, wanted: Wanted, aipp: int) -> None:
    process.get(dataset, DataSet, "invalid_param").aipp[wanted.input] = _of(process, aipp).fitted(wanted)


def set_input_aipp(process: Process, thread: HostThread, model_id: int, dataset: int, index: int, aipp: int) -> None:
    """index: of the input that takes the settings."""
    found = model.of(process, model_id).model
    preprocessing(found, index)
    process.get(dataset, DataSet, "invalid_param")
    _of(process, aipp)
    wanted = dynamic_aipp(found, index)
    if wanted is None:
        name = inputs_of(found)[index].name
        raise NpuError("model_aipp", index=index, input=name, reason=f"settings go to the input {AIPP_INPUT}, if there is one")
    _set(process, dataset, wanted, aipp)


def set_aipp_by_input_index(process: Process, thread: HostThread, model_id: int, dataset: int, index: int, aipp: int) -> None:
    """index: of the input that takes the pictures."""
    found = model.of(process, model_id).model
    wanted = preprocessing(found, index)
    process.get(dataset, DataSet, "invalid_param")
    _of(process, aipp)
    if wanted is None or wanted.settings is not None:
        name = inputs_of(found)[index].name
        raise NpuError("model_aipp", index=index, input=name, reason="the model was not converted with dynamic AIPP")
    _set(process, dataset, wanted, aipp)


def get_aipp_type(process: Process, thread: HostThread, model_id: int, index: int) -> tuple[int, int]:
    """What an input is, and for one with dynamic AIPP the index of the input for its settings."""
    found = model.of(process, model_id).model
    wanted = preprocessing(found, index)
    if dynamic_aipp(found, index) is not None:
        return DYNAMIC_NODE, NO_INPUT
    if wanted is None:
        return WITHOUT, NO_INPUT
    if wanted.settings is not None:
        return STATIC, NO_INPUT
    at = next(n for n in range(len(inputs_of(found))) if dynamic_aipp(found, n) is wanted)
    return DYNAMIC, at


def get_first_aipp_info(process: Process, thread: HostThread, model_id: int, index: int) -> dict[str, object]:
    """The dictionary of aclAippInfo; of a dynamic one only formats and sizes count, the rest is 0 (as documented)."""
    found = model.of(process, model_id).model
    wanted = preprocessing(found, index)
    if wanted is None:
        raise NpuError("model_aipp", index=index, reason="the model was not converted with AIPP for this input")
    return info(found.inputs[index], wanted)


def get_aipp_data_size(process: Process, thread: HostThread, batch: int) -> int:
    if batch == 0:
        raise NpuError("invalid_param", batch=batch)
    return parameter_bytes(batch)
