"""InferSession of ais_bench: numpy arrays in, numpy arrays out, on top of aclruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npu.shim.aclruntime import InferenceSession, MemorySummary, Tensor, session_options, tensor_desc

__all__ = ["InferSession", "MemorySummary"]

MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")


class InferSession:
    """A model on a device. acl_json_path: configuration of acl; loop: runs for each infer."""

    def __init__(
        self, device_id: int, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1
    ) -> None:
        options = session_options()
        options.loop, options.log_level = loop, 0 if debug else 1
        options.acl_json_path = acl_json_path or ""
        self.device_id = device_id
        self.session = InferenceSession(model_path, device_id, options)
        self.outputs_names = [d.name for d in self.session.get_outputs()]

    def get_inputs(self) -> list[tensor_desc]:
        return self.session.get_inputs()

    def get_outputs(self) -> list[tensor_desc]:
        return self.session.get_outputs()

    def infer(self, feeds: Sequence[Any], mode: str = "static", custom_sizes: int | Sequence[int] = 100000) -> list[Any]:
        """The outputs for these arrays. mode says how a model of several or open shapes is told theirs: from the arrays.

        custom_sizes: bytes of each output under dymshape. ValueError for an unknown mode."""
        if mode not in MODES:
            raise ValueError(f"mode {mode!r}: one of {', '.join(MODES)}")
        arrays = [np.ascontiguousarray(f) for f in feeds]
        inputs = self.session.get_inputs()
        if mode == "dymbatch":
            self.session.set_dynamic_batchsize(arrays[0].shape[0])
        elif mode == "dymhw":
            self.session.set_dynamic_hw(*_height_width(arrays, inputs))
        elif mode in ("dymdims", "dymshape"):
            text = ";".join(f"{d.name}:{','.join(map(str, a.shape))}" for d, a in zip(inputs, arrays, strict=True))
            (self.session.set_dynamic_dims if mode == "dymdims" else self.session.set_dynamic_shape)(text)
        if mode == "dymshape":
            count = len(self.outputs_names)
            self.session.set_custom_outsize([custom_sizes] * count if isinstance(custom_sizes, int) else custom_sizes)
        return self.run(arrays, out_array=True)

    def run(self, feeds: Sequence[Any], out_array: bool = False) -> list[Any]:
        """The outputs as tensors on the device, or as arrays."""
        tensors = [f if isinstance(f, Tensor) else Tensor(f) for f in feeds]
        for tensor, desc in zip(tensors, self.session.get_inputs(), strict=False):
            if -1 not in desc.shape and tensor.bytes != desc.realsize:
                raise RuntimeError(f"input {desc.name} takes {desc.realsize} bytes, not {tensor.bytes}")
        outputs = self.session.run(self.outputs_names, tensors)
        if not out_array:
            return outputs
        for output in outputs:
            output.to_host()
        return [np.array(output) for output in outputs]

    def create_tensor_from_arrays_to_device(self, array: Any) -> Tensor:
        tensor = Tensor(array)
        tensor.to_device(self.device_id)
        return tensor

    def convert_tensors_to_host(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            tensor.to_host()

    def convert_tensors_to_arrays(self, tensors: Sequence[Tensor]) -> list[Any]:
        return [np.array(tensor) for tensor in tensors]

    def sumary(self) -> Any:
        return self.session.sumary()

    def reset_sumaryinfo(self) -> None:
        self.session.reset_sumaryinfo()

    def finalize(self) -> None:
        self.session.finalize()

    def free_resource(self) -> None:
        self.session.finalize()


def _height_width(arrays: Sequence[Any], inputs: Sequence[tensor_desc]) -> tuple[int, int]:
    """Height and width of the picture input: the dims its description leaves open."""
    for array, desc in zip(arrays, inputs, strict=True):
        axes = [n for n, d in enumerate(desc.shape) if d < 0]
        if len(axes) == 2:
            return int(array.shape[axes[0]]), int(array.shape[axes[1]])
    raise ValueError("no input leaves height and width open")
