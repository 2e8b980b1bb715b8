"""InferSession of ais_bench: numpy arrays in, numpy arrays out, on top of aclruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npu.shim import aclruntime
from npu.shim.aclruntime import BaseTensor, InferenceSession, Tensor, infer_options, session_options, sumary, tensor_desc

MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")
MOST_ITERATIONS = 65536
SIZE = 100000  # bytes kept for an output of open shape


class InferSession:
    """A model on a device. acl_json_path: configuration of acl; loop: runs for each infer. RuntimeError for what does not fit."""

    def __init__(
        self, device_id: int, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1
    ) -> None:
        self.device_id, self.model_path, self.acl_json_path, self.debug, self.loop = (
            device_id, model_path, acl_json_path, debug, loop)  # fmt: skip
        self.options = session_options()
        self.options.loop, self.options.log_level = loop, 1 if debug else 2
        self.options.acl_json_path = acl_json_path or ""
        self.session = InferenceSession(model_path, device_id, self.options)
        self.intensors_desc, self.outtensors_desc = self.session.get_inputs(), self.session.get_outputs()
        self.outputs_names = [d.name for d in self.outtensors_desc]

    # -- what the session below does ---------------------------------------------------------------------------------

    def get_inputs(self) -> list[tensor_desc]:
        self.intensors_desc = self.session.get_inputs()
        return self.intensors_desc

    def get_outputs(self) -> list[tensor_desc]:
        self.outtensors_desc = self.session.get_outputs()
        return self.outtensors_desc

    def set_loop_count(self, loop: int) -> None:
        self.session.options().loop = loop

    def set_context(self) -> None:
        self.session.set_context()

    def set_staticbatch(self) -> None:
        self.session.set_staticbatch()

    def set_dynamic_batchsize(self, dym_batch: int) -> None:
        self.session.set_dynamic_batchsize(dym_batch)

    def set_dynamic_hw(self, w: int, h: int) -> None:
        """Height and width, in spite of the names, as the tool's users pass them."""
        self.session.set_dynamic_hw(w, h)

    def set_dynamic_dims(self, dym_dims: str) -> None:
        self.session.set_dynamic_dims(dym_dims)

    def set_dynamic_shape(self, dym_shape: str) -> None:
        self.session.set_dynamic_shape(dym_shape)

    def set_custom_outsize(self, custom_sizes: Sequence[int]) -> None:
        self.session.set_custom_outsize(custom_sizes)

    def get_max_dym_batchsize(self) -> int:
        return self.session.get_max_dym_batchsize()

    def get_dym_aipp_input_exist(self) -> int:
        return self.session.get_dym_aipp_input_exist()

    def check_dym_aipp_input_exist(self) -> None:
        self.session.check_dym_aipp_input_exist()

    def create_tensor_from_fileslist(self, desc: tensor_desc, files: Sequence[str]) -> Tensor:
        return self.session.create_tensor_from_fileslist(desc, files)

    def create_tensor_from_arrays_to_device(self, arrays: Any) -> Tensor:
        tensor = Tensor(arrays)
        tensor.to_device(self.device_id)
        return tensor

    @staticmethod
    def convert_tensors_to_host(tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            tensor.to_host()

    @staticmethod
    def convert_tensors_to_arrays(tensors: Sequence[Tensor]) -> list[Any]:
        return [np.array(tensor) for tensor in tensors]

    def summary(self) -> sumary:
        return self.session.sumary()

    sumary = summary

    def reset_summaryinfo(self) -> None:
        self.session.reset_sumaryinfo()

    reset_sumaryinfo = reset_summaryinfo

    def free_resource(self) -> None:
        self.session.free_resource()

    @staticmethod
    def finalize() -> None:
        InferenceSession.finalize()

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, feeds: Sequence[Any], out_array: bool = False) -> list[Any]:
        """The outputs as tensors on the device, or as arrays."""
        outputs = self.session.run(self.outputs_names, [_memory(f) if isinstance(f, np.ndarray) else f for f in feeds])
        return self._arrays(outputs) if out_array else outputs

    def infer(
        self, feeds: Sequence[Any], mode: str = "static", custom_sizes: int | Sequence[int] = SIZE, out_array: bool = True
    ) -> list[Any]:  # fmt: skip
        """The outputs for arrays, tensors or numbers. mode says how a model of several or open shapes is told theirs: from the
        feeds. custom_sizes: bytes of each output under dymshape."""
        given = [_given(f) for f in feeds]
        self._choose(mode, [g.shape for g in given], custom_sizes)
        return self.run(given, out_array)

    def infer_iteration(
        self, feeds: Sequence[Any], in_out_list: Sequence[int] | None = None, iteration_times: int = 1, mode: str = "static",
        custom_sizes: int | Sequence[int] = SIZE, mem_copy: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Run again and again, input n taking the last output in_out_list[n] (-1: what it was given); the last outputs.

        ValueError for a list that does not fit, and for more than 65,536 times."""
        if not 1 <= iteration_times <= MOST_ITERATIONS:
            raise ValueError(f"iteration_times {iteration_times}: 1 to {MOST_ITERATIONS}")
        again = list(in_out_list or [])
        if again and (len(again) != len(self.get_inputs()) or not all(-1 <= o < len(self.outputs_names) for o in again)):
            raise ValueError(f"in_out_list {again}: an output number or -1 for each of {len(self.get_inputs())} inputs")
        given = [_given(f) for f in feeds]
        self._choose(mode, [g.shape for g in given], custom_sizes)
        inputs = [g if isinstance(g, Tensor) else Tensor(g) for g in given]
        outputs = self.session.run(self.outputs_names, inputs)
        for _ in range(iteration_times - 1):
            inputs = [outputs[again[n]] if n < len(again) and again[n] >= 0 else tensor for n, tensor in enumerate(inputs)]
            outputs = self.session.run(self.outputs_names, inputs)
        return self._arrays(outputs)

    def infer_pipeline(
        self, feeds_list: Sequence[Sequence[Any]], mode: str = "static", custom_sizes: int | Sequence[int] = SIZE
    ) -> list[list[Any]]:  # fmt: skip
        """The outputs of one run after another."""
        runs = [[np.array(_given(f)) for f in feeds] for feeds in feeds_list]
        shapes = [[a.shape for a in arrays] for arrays in runs]
        self._choose(mode, shapes[0] if shapes else [], custom_sizes)
        memory = [[_memory(a) for a in arrays] for arrays in runs]
        made = self.session.run_pipeline(self.outputs_names, memory, shapes, mode == "dymshape", mode == "dymdims")
        return [self.convert_tensors_to_arrays(outputs) for outputs in made or []]

    def run_pipeline(
        self, infilelist: Sequence[Sequence[str]], output: str, auto_shape: bool = False, auto_dims: bool = False,
        outfmt: str = "BIN", pure_infer_mode: bool = False, extra_session: Sequence[InferenceSession] | None = None,
    ) -> None:  # fmt: skip
        """Run after run over files; outputs go to files in the folder `output` as BIN, NPY or TXT."""
        options = infer_options()
        options.output_dir, options.out_format, options.pure_infer_mode = output or "", outfmt, pure_infer_mode
        options.auto_dym_shape, options.auto_dym_dims = auto_shape, auto_dims
        self.session.run_pipeline(infilelist, options, extra_session or [])

    def _arrays(self, outputs: Sequence[Tensor]) -> list[Any]:
        self.convert_tensors_to_host(outputs)
        return self.convert_tensors_to_arrays(outputs)

    def _choose(self, mode: str, shapes: Sequence[Sequence[int]], custom_sizes: int | Sequence[int]) -> None:
        """Tell the session the shapes of the next run. RuntimeError for an unknown mode, and feeds that do not fit it."""
        if mode not in MODES:
            raise RuntimeError(f"mode {mode!r}: one of {', '.join(MODES)}")
        inputs = self.get_inputs()
        if mode == "static":
            return self.set_staticbatch()
        if len(shapes) != len(inputs):
            raise RuntimeError(f"the model takes {len(inputs)} inputs, not {len(shapes)}")
        if mode in ("dymbatch", "dymhw"):
            wanted = 1 if mode == "dymbatch" else 2
            for shape, desc in zip(shapes, inputs, strict=True):
                open_dims = [int(s) for s, d in zip(shape, desc.shape, strict=False) if d < 0]
                if len(open_dims) == wanted and len(shape) == len(desc.shape):
                    return self.set_dynamic_batchsize(*open_dims) if wanted == 1 else self.set_dynamic_hw(*open_dims)
            raise RuntimeError(f"no input of the model leaves open what mode {mode} sets")
        text = ";".join(f"{d.name}:{','.join(map(str, s))}" for d, s in zip(inputs, shapes, strict=True))
        if mode == "dymdims":
            return self.set_dynamic_dims(text)
        self.set_dynamic_shape(text)
        self.set_custom_outsize([custom_sizes] * len(self.outputs_names) if isinstance(custom_sizes, int) else custom_sizes)
        return None


class MemorySummary:
    """Times of the copies of this process, ms."""

    @staticmethod
    def get_h2d_time_list() -> list[float]:
        return aclruntime.MemorySummary().H2D_time_list

    @staticmethod
    def get_d2h_time_list() -> list[float]:
        return aclruntime.MemorySummary().D2H_time_list

    get_H2D_time_list, get_D2H_time_list = get_h2d_time_list, get_d2h_time_list

    @staticmethod
    def reset() -> None:
        aclruntime.MemorySummary().reset()


def _given(feed: Any) -> Any:
    """A feed as a contiguous array, or as the tensor it is. RuntimeError for anything else."""
    if isinstance(feed, Tensor):
        return feed
    if isinstance(feed, np.ndarray):
        return np.ascontiguousarray(feed)
    if isinstance(feed, np.generic):
        return np.array([feed])
    if hasattr(feed, "detach") and hasattr(feed, "numpy"):  # a tensor of torch
        return np.ascontiguousarray(feed.detach().numpy())
    raise RuntimeError(f"type:{type(feed)} invalid")


def _memory(array: Any) -> BaseTensor:
    return BaseTensor(array.__array_interface__["data"][0], array.nbytes)
