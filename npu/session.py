"""A session as onnxruntime users know it, on the simulated NPU: InferenceSession(model).run(names, feeds).

    from npu.session import InferenceSession
    session = InferenceSession("model.onnx", input_shape="x:1,3,224,224")
    outputs = session.run(None, {"x": array})

An .onnx is converted on first use (options are those of atc, so the default precision is force_fp16), an .om is taken as it is.
Every step goes through `acl`, as in a script: under `msprof run` the capture shows the copies, the launch and the kernels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

PROVIDER = "NPUExecutionProvider"
H2D, D2H = 1, 2
# npu.dtypes names -> the words onnxruntime uses
WORDS = {"float32": "float", "float64": "double", "float16": "float16"}


class SessionError(RuntimeError):
    """A call failed: which, with what code, and acl's own message."""

    def __init__(self, call: str, code: int, told: str) -> None:
        super().__init__(f"{call}: {code}{': ' + told if told else ''}")
        self.call, self.code = call, code


class NodeArg(NamedTuple):
    """An input or output of a model. shape holds a name where a dim is open, as in onnxruntime."""

    name: str
    type: str
    shape: list[int | str]


class InferenceSession:
    """One model on one device. Keyword arguments are options of atc and count only for .onnx files."""

    def __init__(
        self, model: str | Path, sess_options: object = None, providers: Iterable[str] | None = None, device: int = 0, **atc: str
    ) -> None:
        if sess_options is not None:
            raise ValueError("sess_options are onnxruntime's and say nothing about this device; give options of atc by name")
        unknown = [p for p in providers or () if p not in (PROVIDER, "CPUExecutionProvider")]
        if unknown:
            raise ValueError(f"provider {unknown[0]!r} is not available here; there is {PROVIDER}")
        import acl

        self._acl = acl
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.path = self._converted(Path(model), atc)
        from npu import om

        self.model = om.load(self.path)
        if any(a.settings is None for a in self.model.aipp):
            raise ValueError(f"{model} has dynamic AIPP, and a session has no place for its settings: use acl.mdl.set_input_aipp")
        self._ok("init", acl.init(), (0, 100002))  # 100002: the script initialised already
        self._ok("rt.set_device", acl.rt.set_device(device))
        self._id = self._got("mdl.load_from_file", acl.mdl.load_from_file(str(self.path)))
        self._desc = acl.mdl.create_desc()
        self._ok("mdl.get_desc", acl.mdl.get_desc(self._desc, self._id))
        self._open = True

    def _converted(self, path: Path, atc: Mapping[str, str]) -> Path:
        if path.suffix == ".om":
            if atc:
                raise ValueError(f"{path} is converted already: {', '.join(atc)} cannot change it")
            return path
        from npu.driver.machine import Machine
        from npu.graph.compile import compile
        from npu.graph.options import conversion

        self._folder = tempfile.TemporaryDirectory(prefix="npu-session-")
        machine = Machine.of()
        flags = {
            "framework": "5",
            "model": str(path),
            "output": str(Path(self._folder.name) / path.stem),
            "soc_version": machine.soc,
            "export_compile_stat": "0",
            **atc,
        }
        return compile(conversion(flags, "npu.session"), machine.toolkit_version or machine.cann_version).path

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_inputs(self) -> list[NodeArg]:
        return [_arg(t) for t in self.model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [_arg(t) for t in self.model.outputs]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array], run_options: object = None) -> list[Array]:
        """The outputs by name, all for None. ValueError for names or shapes that do not fit, SessionError if the device refuses.

        A model with gears takes the gear whose shapes are those of the inputs.
        """
        import numpy as np

        from npu.dtypes import numpy_type, to_bytes

        if run_options is not None:
            raise ValueError("run_options are onnxruntime's and are not known here")
        self._check(output_names, input_feed)
        acl = self._acl
        arrays = [np.ascontiguousarray(input_feed[t.name], dtype=numpy_type(t.dtype)) for t in self.model.inputs]
        taken: list[int] = []
        data = [to_bytes(a, t.dtype) for a, t in zip(arrays, self.model.inputs, strict=True)]
        inputs = self._dataset([len(d) for d in data], taken, data)
        if self.model.gears:
            self._choose(inputs, arrays, taken)
        elif self.model.dynamic:
            self._describe(inputs, arrays)
        sizes = [max(acl.mdl.get_output_size_by_index(self._desc, i), 0) for i in range(len(self.model.outputs))]
        outputs = self._dataset(sizes, taken)
        self._ok("mdl.execute", acl.mdl.execute(self._id, inputs, outputs))
        results = [self._read(outputs, at) for at in range(len(self.model.outputs))]
        made = (acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(outputs, at)) for at in range(len(sizes)))
        taken += [a for a, size in zip(made, sizes, strict=True) if a and not size]  # memory that came with the run
        for dataset in (inputs, outputs):
            for at in range(acl.mdl.get_dataset_num_buffers(dataset)):
                acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, at))
            acl.mdl.destroy_dataset(dataset)
        for address in taken:
            acl.rt.free(address)
        names = [t.name for t in self.model.outputs]
        return results if output_names is None else [results[names.index(n)] for n in output_names]

    def _check(self, output_names: Sequence[str] | None, feed: Mapping[str, Array]) -> None:
        wanted = [t.name for t in self.model.inputs]
        if missing := [n for n in wanted if n not in feed]:
            raise ValueError(f"required inputs {missing} are missing from input feed {list(feed)}")
        if unknown := [n for n in feed if n not in wanted]:
            raise ValueError(f"{unknown[0]!r} is no input of the model; its inputs are {wanted}")
        outputs = [t.name for t in self.model.outputs]
        if output_names is not None and (unknown := [n for n in output_names if n not in outputs]):
            raise ValueError(f"{unknown[0]!r} is no output of the model; its outputs are {outputs}")
        for tensor in self.model.inputs:
            given = tuple(feed[tensor.name].shape)
            wanted_dims = tensor.laid(tensor.dims)
            if len(given) != len(wanted_dims) or any(d not in (-1, g) for d, g in zip(wanted_dims, given, strict=True)):
                raise ValueError(f"input {tensor.name} has shape {given}, the model takes {wanted_dims}")

    def _dataset(self, sizes: Sequence[int], taken: list[int], contents: Sequence[bytes] = ()) -> int:
        acl = self._acl
        made: int = acl.mdl.create_dataset()
        for at, size in enumerate(sizes):
            address = 0
            if size:
                address = self._got("rt.malloc", acl.rt.malloc(size, 0))
                taken.append(address)
            if contents and size:
                self._ok("rt.memcpy", acl.rt.memcpy(address, size, acl.util.bytes_to_ptr(contents[at]), size, H2D))
            acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(address, size))
        return made

    def _choose(self, inputs: int, arrays: Sequence[Array], taken: list[int]) -> None:
        """Add the buffer of the gear input and choose the gear that has these shapes."""
        acl = self._acl
        index = self._got("mdl.get_input_index_by_name", acl.mdl.get_input_index_by_name(self._desc, "ascend_mbatch_shape_data"))
        size = acl.mdl.get_input_size_by_index(self._desc, index)
        address = self._got("rt.malloc", acl.rt.malloc(size, 0))
        taken.append(address)
        acl.mdl.add_dataset_buffer(inputs, acl.create_data_buffer(address, size))
        shapes = [(a.shape[0], *t.dims[1:]) if t.picture else a.shape for a, t in zip(arrays, self.model.inputs, strict=True)]
        dims = [int(d) for shape in shapes for d in shape]
        code = acl.mdl.set_input_dynamic_dims(self._id, inputs, index, {"name": "", "dimCount": len(dims), "dims": dims})
        self._ok("mdl.set_input_dynamic_dims", code)

    def _describe(self, inputs: int, arrays: Sequence[Array]) -> None:
        acl = self._acl
        from npu.dtypes import DTYPES

        for at, (tensor, array) in enumerate(zip(self.model.inputs, arrays, strict=True)):
            desc = acl.create_tensor_desc(DTYPES[tensor.dtype][0], [int(d) for d in array.shape], 2)
            self._got("mdl.set_dataset_tensor_desc", acl.mdl.set_dataset_tensor_desc(inputs, desc, at))

    def _read(self, outputs: int, at: int) -> Array:
        from npu.dtypes import from_bytes, tensor_bytes

        acl, tensor = self._acl, self.model.outputs[at]
        dims: Sequence[int] = tensor.dims
        if self.model.gears:
            dims = self._got("mdl.get_cur_output_dims", acl.mdl.get_cur_output_dims(self._desc, at))["dims"]
        elif desc := acl.mdl.get_dataset_tensor_desc(outputs, at):  # there where the shape was open before the run
            dims = [acl.get_tensor_desc_dim_v2(desc, n)[0] for n in range(acl.get_tensor_desc_num_dims(desc))]
        buffer = acl.mdl.get_dataset_buffer(outputs, at)
        count = tensor_bytes(tuple(dims), tensor.dtype) or acl.get_data_buffer_size_v2(buffer)
        host = self._got("rt.malloc_host", acl.rt.malloc_host(max(count, 1)))
        self._ok("rt.memcpy", acl.rt.memcpy(host, count, acl.get_data_buffer_addr(buffer), count, D2H) if count else 0)
        made = from_bytes(acl.util.ptr_to_bytes(host, count), tensor.dtype, tuple(dims)).copy()
        acl.rt.free_host(host)
        return made

    def close(self) -> None:
        """Unload the model. A session that is left open is closed with the process."""
        if self._open:
            self._open = False
            self._acl.mdl.destroy_desc(self._desc)
            self._acl.mdl.unload(self._id)
            if self._folder is not None:
                self._folder.cleanup()

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ok(self, call: str, code: int, fine: Sequence[int] = (0,)) -> None:
        if code not in fine:
            raise SessionError(call, code, str(self._acl.get_recent_err_msg() or ""))

    def _got(self, call: str, answer: Any) -> Any:
        """The value of a call that answers (value, code)."""
        if isinstance(answer, tuple):
            value, code = answer
            self._ok(call, code)
            return value
        return answer


def _arg(tensor: Any) -> NodeArg:
    shape = [d if d >= 0 else f"{tensor.name}_{at}" for at, d in enumerate(tensor.laid(tensor.dims))]
    return NodeArg(tensor.name, f"tensor({WORDS.get(tensor.dtype, tensor.dtype)})", shape)
