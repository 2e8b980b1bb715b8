"""The classes of the module `aclruntime`: a model as a session of named arrays, on top of acl."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import acl
import numpy as np

from npu.dtypes import DTYPES

__all__ = [
    "BaseTensor",
    "InferenceSession",
    "MemorySummary",
    "Tensor",
    "batch",
    "dtype",
    "model",
    "session_options",
    "tensor_desc",
]

H2D, D2H = 1, 2
REPEATED = 100002  # acl.init: somebody else initialised
NAMES = {number: name for name, (number, _, _) in DTYPES.items()}


class dtype(IntEnum):
    """Element types by their aclDataType numbers."""

    float32 = 0
    float16 = 1
    int8 = 2
    int32 = 3
    uint8 = 4
    int16 = 6
    uint16 = 7
    uint32 = 8
    int64 = 9
    uint64 = 10
    float64 = 11
    bool = 12


def _checked(call: str, ret: int) -> None:
    """RuntimeError with the stack's own text when a call failed, as the real module raises."""
    if ret:
        raise RuntimeError(f"{call} failed, ret {ret}: {acl.get_recent_err_msg() or ''}")


class session_options:
    """loop: how often a run repeats the model; log_level: 0 debug .. 3 error."""

    def __init__(self) -> None:
        self.loop, self.log_level, self.acl_json_path = 1, 1, ""


class tensor_desc:
    """An input or output: size in elements, realsize in bytes."""

    def __init__(self, name: str, datatype: int, form: int, shape: Sequence[int], realsize: int) -> None:
        self.name, self.datatype, self.format, self.shape = name, dtype(datatype), form, list(shape)
        self.size, self.realsize = int(np.prod(shape)) if shape else 1, realsize


class MemorySummary:
    """Times of all copies of this process, ms."""

    _h2d: list[float] = []  # noqa: RUF012 - one list for the process, as in the real module
    _d2h: list[float] = []  # noqa: RUF012

    @property
    def H2D_time_list(self) -> list[float]:
        return list(self._h2d)

    @property
    def D2H_time_list(self) -> list[float]:
        return list(self._d2h)

    def reset(self) -> None:
        self._h2d.clear()
        self._d2h.clear()


class BaseTensor:
    """Memory somebody else owns: a host address and its bytes."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size


class Tensor:
    """An array on the host, or in device memory after to_device; numpy.array(tensor) gives its values once it is on the host."""

    def __init__(self, array: Any) -> None:
        self.array = np.ascontiguousarray(array)
        self.device = 0
        self.bytes = self.array.nbytes

    @property
    def shape(self) -> list[int]:
        return list(self.array.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def to_device(self, device_id: int) -> None:
        """Copy to the device; a second call does nothing."""
        if self.device:
            return
        self.device, ret = acl.rt.malloc(max(1, self.bytes), 0)
        _checked("aclrtMalloc", ret)
        begun = time.perf_counter()
        _checked("aclrtMemcpy", acl.rt.memcpy(self.device, self.bytes, _address(self.array), self.bytes, H2D))
        MemorySummary._h2d.append((time.perf_counter() - begun) * 1000)

    def to_host(self) -> None:
        """Copy back from the device and give its memory back."""
        if not self.device:
            return
        begun = time.perf_counter()
        _checked("aclrtMemcpy", acl.rt.memcpy(_address(self.array), self.bytes, self.device, self.bytes, D2H))
        MemorySummary._d2h.append((time.perf_counter() - begun) * 1000)
        self.free()

    def free(self) -> None:
        if self.device:
            acl.rt.free(self.device)
            self.device = 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __del__(self) -> None:
        self.free()


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


class _Summary:
    """exec_time_list: ms of each run of the model."""

    def __init__(self) -> None:
        self.exec_time_list: list[float] = []


class InferenceSession:
    """A loaded model on a device."""

    def __init__(self, path: str, device_id: int, options: session_options | None = None) -> None:
        self._options = options or session_options()
        ret = acl.init(self._options.acl_json_path) if self._options.acl_json_path else acl.init()
        if ret != REPEATED:
            _checked("aclInit", ret)
        self._device = device_id
        _checked("aclrtSetDevice", acl.rt.set_device(device_id))
        self._context, _ = acl.rt.get_context()
        self._id, ret = acl.mdl.load_from_file(str(path))
        _checked("aclmdlLoadFromFile", ret)
        self._desc = acl.mdl.create_desc()
        _checked("aclmdlGetDesc", acl.mdl.get_desc(self._desc, self._id))
        self._summary = _Summary()
        self._gear: tuple[str, tuple[int, ...]] | None = None
        self._shapes: dict[str, list[int]] = {}
        self._sizes: list[int] = []

    # -- what the model is -------------------------------------------------------------------------------------------

    def get_inputs(self) -> list[tensor_desc]:
        """Its inputs, without the one that takes a choice of shape."""
        return [d for d in self._describe("input") if d.name != "ascend_mbatch_shape_data"]

    def get_outputs(self) -> list[tensor_desc]:
        return self._describe("output")

    def _describe(self, which: str) -> list[tensor_desc]:
        made = []
        mdl = acl.mdl
        for number in range(getattr(mdl, f"get_num_{which}s")(self._desc)):
            dims, _ = getattr(mdl, f"get_{which}_dims")(self._desc, number)
            kind, form = (getattr(mdl, f"get_{which}_{fact}")(self._desc, number) for fact in ("data_type", "format"))
            size = getattr(mdl, f"get_{which}_size_by_index")(self._desc, number)
            made.append(tensor_desc(dims["name"], kind, form, dims["dims"], size))
        return made

    def options(self) -> session_options:
        return self._options

    def sumary(self) -> _Summary:
        return self._summary

    def reset_sumaryinfo(self) -> None:
        self._summary = _Summary()

    # -- choices of shape --------------------------------------------------------------------------------------------

    def set_staticbatch(self) -> None:
        self._gear, self._shapes = None, {}

    def set_dynamic_batchsize(self, size: int) -> None:
        self._gear = ("batch", (size,))

    def set_dynamic_hw(self, *size: Any) -> None:
        """Height and width: two numbers, a pair, or a text "h,w"."""
        values = size[0].split(",") if isinstance(size[0], str) else size if len(size) == 2 else size[0]
        self._gear = ("hw", tuple(int(v) for v in values))

    def set_dynamic_dims(self, text: str) -> None:
        """ "name:1,3,224,224;other:1,8" """
        self._gear = ("dims", tuple(d for dims in _shapes(text).values() for d in dims))
        self._shapes = _shapes(text)

    def set_dynamic_shape(self, text: str) -> None:
        self._gear, self._shapes = None, _shapes(text)

    def set_custom_outsize(self, sizes: Sequence[int]) -> None:
        """Bytes of the outputs, for models whose output shapes are open."""
        self._sizes = [int(s) for s in sizes]

    # -- running -----------------------------------------------------------------------------------------------------

    def create_tensor_from_fileslist(self, desc: tensor_desc, files: Sequence[str]) -> Tensor:
        """The files' contents one after another as one input; .npy or raw. RuntimeError when their bytes do not fit it."""
        parts = [
            np.load(f) if str(f).endswith(".npy") else np.frombuffer(Path(f).read_bytes(), NAMES[desc.datatype]) for f in files
        ]
        joined = np.concatenate([p.reshape(-1) for p in parts])
        if joined.nbytes != desc.realsize:
            raise RuntimeError(f"{len(files)} files hold {joined.nbytes} bytes, input {desc.name} takes {desc.realsize}")
        return Tensor(joined.reshape(desc.shape))

    def run(self, out_names: Sequence[str], feeds: Any) -> list[Tensor]:
        """Run the model; the outputs of these names (all for none) as tensors in device memory.

        feeds: tensors or memory in the order of the inputs, or by input name. RuntimeError when they do not fit."""
        inputs = self.get_inputs()
        values = [feeds[d.name] for d in inputs] if isinstance(feeds, Mapping) else list(feeds)
        if len(values) != len(inputs):
            raise RuntimeError(f"the model takes {len(inputs)} inputs, not {len(values)}")
        _checked("aclrtSetCurrentContext", acl.rt.set_context(self._context))
        tensors = [v if isinstance(v, Tensor) else _taken(v, d) for v, d in zip(values, inputs, strict=True)]
        held = [t for t in tensors if not t.device]
        for tensor in held:
            tensor.to_device(self._device)
        ins, in_set = self._dataset([(t.device, t.bytes) for t in tensors])
        extra = self._choose(ins, in_set, tensors, inputs)
        outs, out_set, results = self._outputs()
        for _ in range(self._options.loop):
            begun = time.perf_counter()
            _checked("aclmdlExecute", acl.mdl.execute(self._id, in_set, out_set))
            self._summary.exec_time_list.append((time.perf_counter() - begun) * 1000)
        for number, result in enumerate(results):
            dims, ret = acl.mdl.get_cur_output_dims(self._desc, number)
            if ret == 0 and min(dims["dims"], default=0) >= 0:
                result.array = np.empty(dims["dims"], result.array.dtype)
                result.bytes = result.array.nbytes
        for dataset, buffers in ((in_set, ins), (out_set, outs)):
            for buffer in buffers:
                acl.destroy_data_buffer(buffer)
            acl.mdl.destroy_dataset(dataset)
        if extra:
            acl.rt.free(extra)
        for tensor in held:
            tensor.free()
        names = [d.name for d in self.get_outputs()]
        return [results[names.index(n)] for n in out_names] if out_names else results

    def _dataset(self, memory: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
        dataset = acl.mdl.create_dataset()
        buffers = [acl.create_data_buffer(address, size) for address, size in memory]
        for buffer in buffers:
            acl.mdl.add_dataset_buffer(dataset, buffer)
        return buffers, dataset

    def _outputs(self) -> tuple[list[int], int, list[Tensor]]:
        results = []
        for number, desc in enumerate(self.get_outputs()):
            size = self._sizes[number] if number < len(self._sizes) else desc.realsize
            if size == 0:
                raise RuntimeError(f"output {desc.name} is of open shape: set_custom_outsize says how many bytes to keep for it")
            kind = np.dtype(NAMES[desc.datatype])
            tensor = Tensor(np.empty(-(-size // kind.itemsize), kind))
            tensor.device, ret = acl.rt.malloc(size, 0)
            _checked("aclrtMalloc", ret)
            tensor.bytes = size
            results.append(tensor)
        buffers, dataset = self._dataset([(t.device, t.bytes) for t in results])
        return buffers, dataset, results

    def _choose(self, buffers: list[int], dataset: int, tensors: Sequence[Tensor], inputs: Sequence[tensor_desc]) -> int:
        """Tell the model which shape this run has; memory to free afterwards, 0 for none."""
        if self._gear is None:
            for number, tensor in enumerate(tensors):
                if -1 in inputs[number].shape:
                    desc = acl.create_tensor_desc(int(inputs[number].datatype), tensor.shape, inputs[number].format)
                    acl.mdl.set_dataset_tensor_desc(dataset, desc, number)
            return 0
        index, ret = acl.mdl.get_input_index_by_name(self._desc, "ascend_mbatch_shape_data")
        _checked("aclmdlGetInputIndexByName", ret)
        size = acl.mdl.get_input_size_by_index(self._desc, index)
        memory, ret = acl.rt.malloc(size, 0)
        _checked("aclrtMalloc", ret)
        buffers.append(acl.create_data_buffer(memory, size))
        acl.mdl.add_dataset_buffer(dataset, buffers[-1])
        kind, values = self._gear
        if kind == "batch":
            ret = acl.mdl.set_dynamic_batch_size(self._id, dataset, index, *values)
        elif kind == "hw":
            ret = acl.mdl.set_dynamic_hw_size(self._id, dataset, index, *values)
        else:
            ret = acl.mdl.set_input_dynamic_dims(self._id, dataset, index, {"dimCount": len(values), "dims": list(values)})
        _checked("choosing the shape", ret)
        return int(memory)

    def finalize(self) -> None:
        """Unload the model; a second call does nothing."""
        if self._id:
            acl.mdl.destroy_desc(self._desc)
            acl.mdl.unload(self._id)
            self._id = 0


def _taken(memory: BaseTensor, desc: tensor_desc) -> Tensor:
    """The bytes of somebody else's memory as a tensor of that input."""
    data = acl.util.ptr_to_bytes(memory.address, memory.size)
    return Tensor(np.frombuffer(data, NAMES[desc.datatype]).reshape(desc.shape))


def _shapes(text: str) -> dict[str, list[int]]:
    return {n.strip(): [int(d) for d in s.split(",")] for n, _, s in (p.rpartition(":") for p in text.split(";"))}


def model(path: str, deviceId: int, options: session_options | None = None) -> InferenceSession:
    """An InferenceSession under the module's other name."""
    return InferenceSession(path, deviceId, options)


def batch(inputs: Sequence[Any], keep_dims: bool = False) -> Tensor:
    """Tensors as one along the first axis; keep_dims: as a new first axis."""
    arrays = [np.array(i) for i in inputs]
    return Tensor(np.stack(arrays) if keep_dims else np.concatenate(arrays))
