"""A model as a session of named arrays, on top of acl."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import acl
import numpy as np

from npu.dtypes import tensor_bytes
from npu.shim.aclruntime.dynamic_aipp import DynamicAipp
from npu.shim.aclruntime.facts import AIPP, CHOICE, described, session_options, sumary, tensor_desc
from npu.shim.aclruntime.kinds import NAMES, checked
from npu.shim.aclruntime.pipeline import run_arrays, run_files
from npu.shim.aclruntime.shapes import Choice
from npu.shim.aclruntime.tensors import ON_HOST, BaseTensor, Tensor

REPEATED = 100002  # acl.init: somebody else initialised


class InferenceSession(DynamicAipp):
    """A loaded model on a device. RuntimeError wherever a call of acl fails."""

    def __init__(self, path: str, device_id: int = 0, options: session_options | None = None) -> None:
        super().__init__()
        self._id = 0
        self._options = options or session_options()
        ret = acl.init(self._options.acl_json_path) if self._options.acl_json_path else acl.init()
        if ret != REPEATED:
            checked("aclInit", ret)
        self._device = device_id
        checked("aclrtSetDevice", acl.rt.set_device(device_id))
        self._context, _ = acl.rt.get_context()
        loaded, ret = acl.mdl.load_from_file(str(path))
        checked("aclmdlLoadFromFile", ret)
        self._id = loaded
        self._desc = acl.mdl.create_desc()
        checked("aclmdlGetDesc", acl.mdl.get_desc(self._desc, self._id))
        self._summary = sumary()
        self._choice = Choice()
        self._sizes: list[int] = []
        self._again: tuple[list[Tensor], list[Tensor]] = ([], [])  # of first_inner_run

    # -- what the model is -------------------------------------------------------------------------------------------

    def get_inputs(self) -> list[tensor_desc]:
        """Its inputs, without those a session fills itself."""
        return [d for d in described(self._desc, "input") if d.name not in (CHOICE, AIPP)]

    def get_outputs(self) -> list[tensor_desc]:
        return described(self._desc, "output")

    def options(self) -> session_options:
        return self._options

    def sumary(self) -> sumary:
        return self._summary

    def reset_sumaryinfo(self) -> None:
        self._summary = sumary()

    def get_max_dym_batchsize(self) -> int:
        """The largest batch of a model of several; 0 for others."""
        gears, _ = acl.mdl.get_dynamic_batch(self._desc)
        return max(gears.get("batch", []), default=0)

    def __repr__(self) -> str:
        parts = [f"<Model>\ndevice:\t{self._device}"]
        for title, descs in (("input", self.get_inputs()), ("output", self.get_outputs())):
            parts += [f"{title}:", *(f"  #{n}    {d}" for n, d in enumerate(descs))]
        return "\n".join(parts)

    # -- choices of shape --------------------------------------------------------------------------------------------

    def set_context(self) -> None:
        checked("aclrtSetCurrentContext", acl.rt.set_context(self._context))

    def set_staticbatch(self) -> None:
        self._choice.fix()

    def set_dynamic_batchsize(self, size: int) -> None:
        self._choice.batch(size)

    def set_dynamic_hw(self, *size: Any) -> None:
        """Height and width: two numbers, a pair, or a text "h,w"."""
        self._choice.height_width(*size)

    def set_dynamic_dims(self, text: str) -> None:
        """ "name:1,3,224,224;other:1,8" """
        self._choice.dims(text)

    def set_dynamic_shape(self, text: str) -> None:
        self._choice.shape(text)

    def set_custom_outsize(self, sizes: Sequence[int]) -> None:
        """Bytes of the outputs, for models whose output shapes are open."""
        self._sizes = [int(s) for s in sizes]

    # -- running -----------------------------------------------------------------------------------------------------

    def create_tensor_from_fileslist(self, desc: tensor_desc, files: Sequence[str]) -> Tensor:
        """The files' contents one after another as one input in device memory; .npy or raw."""
        parts = [
            np.load(f) if str(f).endswith(".npy") else np.frombuffer(Path(f).read_bytes(), NAMES[desc.datatype]) for f in files
        ]
        joined = np.concatenate([p.reshape(-1) for p in parts])
        if joined.nbytes != desc.realsize:
            raise RuntimeError(f"{len(files)} files hold {joined.nbytes} bytes, input {desc.name} takes {desc.realsize}")
        made = Tensor(joined.reshape(desc.shape))
        self.set_context()
        made.to_device(self._device)
        return made

    def run(self, out_names: Sequence[str], feeds: Any) -> list[Tensor]:
        """Run the model; the outputs of these names (all for none) as tensors in device memory.

        feeds: tensors or memory in the order of the inputs, or by input name. TypeError for anything else."""
        if isinstance(out_names, str) or not isinstance(out_names, Sequence) or not isinstance(feeds, Sequence | Mapping):
            raise TypeError("run(): incompatible function arguments: a list of output names, and tensors as a list or by name")
        inputs = self.get_inputs()
        if len(feeds) != len(inputs):
            raise RuntimeError(f"the model takes {len(inputs)} inputs, not {len(feeds)}")
        values = [feeds.get(d.name) for d in inputs] if isinstance(feeds, Mapping) else list(feeds)
        self.set_context()
        tensors = [_tensor(v, d) for v, d in zip(values, inputs, strict=True)]
        self._fitting(tensors, inputs)
        names = [d.name for d in self.get_outputs()]
        strange = [n for n in out_names if n not in names]
        if strange:
            raise RuntimeError(f"the model has no output {strange[0]}")
        results = self._executed(tensors, inputs)
        return [results[names.index(n)] for n in out_names] if out_names else results

    def first_inner_run(self, out_names: Sequence[str], feeds: Any) -> list[Tensor]:
        """Run, and keep inputs and outputs for inner_run."""
        held = [_tensor(v, d) for v, d in zip(feeds, self.get_inputs(), strict=True)]
        self.set_context()
        for tensor in held:
            tensor.to_device(self._device)
        self._again = (held, self.run([], held))
        return self._named(out_names)

    def inner_run(
        self, in_out_list: Sequence[int], out_names: Sequence[str], get_outputs: bool, mem_copy: bool
    ) -> list[Tensor]:  # fmt: skip
        """Run once more, input n taking the last output in_out_list[n] (-1: the same as before); the outputs if asked for."""
        inputs, outputs = self._again
        if not inputs:
            raise RuntimeError("first_inner_run was not called")
        inputs = [outputs[o] if o >= 0 else inputs[n] for n, o in enumerate(in_out_list)]
        self._again = (inputs, self.run([], inputs))
        return self._named(out_names) if get_outputs else []

    def run_pipeline(self, *given: Any) -> list[list[Tensor]] | None:
        """Run after run over files, (files of each run, options, further sessions), or over arrays,
        (output names, memory of each run, shapes of each run, whether shapes are set from them, whether dims are)."""
        if len(given) == 5:
            return run_arrays(self, *given)
        run_files(self, *given)
        return None

    def _named(self, out_names: Sequence[str]) -> list[Tensor]:
        names = [d.name for d in self.get_outputs()]
        return [self._again[1][names.index(n)] for n in out_names or names]

    def _fitting(self, tensors: Sequence[Tensor], inputs: Sequence[tensor_desc]) -> None:
        """RuntimeError where the bytes of an input are not those this run takes."""
        for tensor, desc in zip(tensors, inputs, strict=True):
            kind = NAMES[desc.datatype]
            need = self._choice.taken_by(desc, lambda shape, kind=kind: tensor_bytes(tuple(shape), kind))  # type: ignore[misc]
            if self._choice.kind == "" and min(desc.shape, default=0) >= 0:
                need = desc.realsize  # with AIPP an input takes other bytes than its shape says
            if need is not None and tensor.bytes != need and not self._aipp_set:
                raise RuntimeError(f"input {desc.name} takes {need} bytes, not {tensor.bytes}")

    def _executed(self, tensors: Sequence[Tensor], inputs: Sequence[tensor_desc]) -> list[Tensor]:
        lent = [t for t in tensors if t.device == ON_HOST]
        for tensor in lent:
            tensor.to_device(self._device)
        results = [self._output(n, d) for n, d in enumerate(self.get_outputs())]
        given = iter(tensors)
        memory = [self._filled(d) if d.name in (CHOICE, AIPP) else next(given) for d in described(self._desc, "input")]
        ins, outs = (_dataset(m) for m in (memory, results))
        try:
            self._choice.describe(ins, inputs, [t.shape for t in tensors])
            self._choice.choose(self._id, self._desc, ins)
            self._give_aipp(ins)
            for _ in range(self._options.loop):
                begun = time.perf_counter()
                checked("aclmdlExecute", acl.mdl.execute(self._id, ins, outs))
                self._summary.exec_time_list.append((time.perf_counter() - begun) * 1000)
        finally:
            for dataset in (ins, outs):
                for number in range(acl.mdl.get_dataset_num_buffers(dataset)):
                    acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, number))
                acl.mdl.destroy_dataset(dataset)
            for tensor in lent:
                tensor.free()
        for number, result in enumerate(results):
            dims, ret = acl.mdl.get_cur_output_dims(self._desc, number)
            if ret == 0 and min(dims["dims"], default=0) >= 0:
                result.shaped(dims["dims"])
        return results

    def _filled(self, desc: tensor_desc) -> Tensor:
        """Device memory for an input of the choice of shape or of settings; acl writes it."""
        made = Tensor(np.zeros(desc.realsize, np.uint8))
        made.to_device(self._device)
        return made

    def _output(self, number: int, desc: tensor_desc) -> Tensor:
        size = self._sizes[number] if number < len(self._sizes) else desc.realsize
        if size == 0:
            raise RuntimeError(f"output {desc.name} is of open shape: set_custom_outsize says how many bytes to keep for it")
        kind = np.dtype(NAMES[desc.datatype])
        return Tensor.empty((-(-size // kind.itemsize),), kind, size, self._device)

    def free_resource(self) -> None:
        """Unload the model; a second call does nothing."""
        if self._id:
            acl.mdl.destroy_desc(self._desc)
            acl.mdl.unload(self._id)
            self._id = 0

    @staticmethod
    def finalize() -> None:
        """End acl for all sessions of the process."""
        acl.finalize()


def _dataset(memory: Sequence[Tensor]) -> int:
    dataset: int = acl.mdl.create_dataset()
    for tensor in memory:
        acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(tensor.address, max(1, tensor.bytes)))
    return dataset


def _tensor(value: Any, desc: tensor_desc) -> Tensor:
    """A tensor as it is, the bytes of somebody else's memory as a tensor of that input. TypeError for anything else."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, BaseTensor):
        raise TypeError(f"run(): incompatible function arguments: input {desc.name} is a {value.__class__.__name__}")
    made = Tensor(np.frombuffer(acl.util.ptr_to_bytes(value.buf, value.size), np.uint8))
    kind = np.dtype(NAMES[desc.datatype])
    if value.size % kind.itemsize == 0:
        made.array = made.array.view(kind)
        if min(desc.shape, default=0) >= 0 and made.array.size == desc.size:
            made.array = made.array.reshape(desc.shape)
    return made


def model(path: str, deviceId: int = 0, options: session_options | None = None) -> InferenceSession:
    """An InferenceSession under the module's other name."""
    return InferenceSession(path, deviceId, options)
