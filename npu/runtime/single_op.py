"""Single operators: found by type, shapes, types and attributes, prepared once, queued as one kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu import om
from npu.device.task import KERNEL, PLAIN, Row, Step, Task
from npu.dtypes import DTYPES
from npu.errors import NpuError
from npu.runtime.dataset import DataBuffer
from npu.runtime.kernel_step import step_of
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread

if TYPE_CHECKING:
    from npu.ops.compute import Built
    from npu.ops.single import Tensor, Value

HOST_PLACED = 1  # ACL_MEMTYPE_HOST
DEEPEST = 2  # folders below the one a script names that are looked into for operator models


class OpAttr:
    """Attributes by name."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}


@dataclass
class Prepared:
    """An operator ready to run: its kernel, its arithmetic, the dims of its output."""

    op: str
    step: Step
    engine: Built | None
    names: tuple[str | None, ...]  # of the inputs to feed, None where an input is constant
    in_types: tuple[tuple[str, tuple[int, ...]], ...]
    out_type: str
    out_dims: tuple[int, ...]


class Library:
    """What was prepared, by all that tells operators apart; folder: where the script's operator models are, None: built in."""

    def __init__(self) -> None:
        self.prepared: dict[object, Prepared] = {}
        self.folder: Path | None = None
        self.types: set[str] = set()


def set_folder(process: Process, path: str) -> None:
    """Look for operators in the models of a folder from now on. NpuError invalid_file, repeat, model_data."""
    mine = process.one(Library)
    if mine.folder is not None:
        raise NpuError("repeat", what="acl.op.set_model_dir")
    folder = Path(path)
    if not os.path.isdir(path):
        raise NpuError("invalid_file", path=path, reason="no such folder")
    for file in _model_files(folder):
        add_model(process, str(file))
    mine.folder = folder


def _model_files(folder: Path) -> list[Path]:
    """The model files in a folder and two levels below it, as deep as the stack looks; what cannot be listed is passed over."""
    found = []
    for at, inner, files in os.walk(folder):
        found += [Path(at) / name for name in files if name.endswith(om.SUFFIX)]
        if len(Path(at).parts) - len(folder.parts) == DEEPEST:
            inner.clear()
    return sorted(found)


def add_model(process: Process, path: str) -> None:
    """Take the operators of one more model file. NpuError model_path, model_data."""
    try:
        model = om.load(path)
    except OSError as error:
        raise NpuError("model_path", path=path, reason=error.strerror) from error
    except om.BadModel as error:
        raise NpuError("model_data", path=path, reason=error.reason) from error
    process.one(Library).types |= {kernel.op_type for kernel in model.kernels}


def _tensors(process: Process, handles: Sequence[int], letter: str) -> list[Tensor]:
    from npu.ops.single import Tensor

    made = []
    for number, handle in enumerate(handles):
        desc = process.get(handle, TensorDesc, "invalid_param")
        made.append(Tensor(f"{letter}{number}", desc.element_type, tuple(desc.dims), desc.constant))
    return made


def prepare(process: Process, op: str, inputs: Sequence[int], outputs: Sequence[int], attribute: int) -> Prepared:
    """The operator for these descriptions (handles). NpuError not_initialized, op_not_found, invalid_param."""
    process.needs_init("an operator")
    ins, outs = _tensors(process, inputs, "x"), _tensors(process, outputs, "y")
    values = process.get(attribute, OpAttr, "invalid_param").values if attribute else {}
    key = (
        op,
        tuple((t.dtype, t.dims, t.constant) for t in ins),
        tuple((t.dtype, t.dims) for t in outs),
        tuple((k, str(v)) for k, v in sorted(values.items())),
    )
    mine = process.one(Library)
    found = mine.prepared.get(key)
    if found is None:
        found = mine.prepared[key] = _prepare(process, mine, op, ins, outs, values)
    return found


def _prepare(
    process: Process, mine: Library, op: str, ins: Sequence[Tensor], outs: Sequence[Tensor], values: dict[str, Value]
) -> Prepared:
    from npu.ops import single
    from npu.ops.compute import build
    from npu.ops.compute_limits import ComputeError

    try:
        proto, lowered = single.build(op, ins, outs, values)
        engine = build(proto, None) if process.knobs.compute else None
    except (single.Unknown, ComputeError) as error:
        raise NpuError("op_not_found", op=op, reason=error.reason) from error
    if mine.folder is not None and not {op, lowered.op_type} & mine.types:
        raise NpuError("op_not_found", op=op, reason=f"no model of it in {mine.folder}")
    kernel = om.Kernel(op, lowered.op_type, lowered.work, *_texts(ins), *_texts(outs))
    names = tuple(None if t.constant is not None else t.name for t in ins)
    types = tuple((t.dtype, t.dims) for t in ins)
    return Prepared(op, step_of(process, kernel, "", "static"), engine, names, types, outs[0].dtype, outs[0].dims)


def _texts(tensors: Sequence[Tensor]) -> tuple[str, str, str]:
    """Shapes, types and formats as profiles print them."""
    shapes = ";".join(",".join(map(str, t.dims)) for t in tensors)
    return shapes, ";".join(DTYPES[t.dtype][2] for t in tensors), ";".join("ND" for _ in tensors)


def shape(process: Process, op: str, inputs: Sequence[int], outputs: Sequence[int], attribute: int) -> None:
    """Fill the output descriptions with the shape the operator gives. NpuError op_not_found."""
    made = prepare(process, op, inputs, outputs, attribute)
    for handle in outputs:
        process.get(handle, TensorDesc).dims = list(made.out_dims)


def execute(
    process: Process,
    thread: HostThread,
    made: Prepared,
    inputs: Sequence[int],
    outputs: Sequence[int],
    placed: Sequence[int],
    stream: Stream,
) -> None:
    """Queue a run with data buffers (handles). placed: aclMemType of each input. NpuError op_input, op_output."""
    from npu.runtime.gears import size

    if len(inputs) != len(made.names) or len(outputs) != 1:
        raise NpuError("op_input", op=made.op, wanted=len(made.names), given=len(inputs))
    sides: list[tuple[Side | None, int]] = []
    for number, handle in enumerate(inputs):
        dtype, dims = made.in_types[number]
        need = size(dims, dtype)
        if made.names[number] is None:
            sides.append((None, 0))
            continue
        buffer = process.get(handle, DataBuffer, "invalid_param")
        if buffer.size < need:
            raise NpuError("op_input", op=made.op, index=number, wanted=need, given=buffer.size)
        on_host = number < len(placed) and placed[number] == HOST_PLACED
        sides.append((Side(process, buffer.data, need, not on_host, kernel=True), need))
    out = process.get(outputs[0], DataBuffer, "invalid_param")
    need = size(made.out_dims, made.out_type)
    if out.size < need:
        raise NpuError("op_output", op=made.op, wanted=need, given=out.size)
    target = Side(process, out.data, need, True, kernel=True)
    recording = process.recording
    thread.correlation = recording.correlation()
    row = PLAIN
    if recording.on:
        reads = recording.text(";".join(s.range(n) for s, n in sides if s is not None))
        row = Row(reads=reads, writes=recording.text(target.range(need)))
    task = Task(KERNEL, 0, row, on_done=lambda _time: _run(made, sides, target), program=[made.step])
    task.correlation = thread.correlation
    stream.submit(process, thread, task)
    target.written_by(task, need)


def _run(made: Prepared, sides: Sequence[tuple[Side | None, int]], target: Side) -> None:
    target.touched()
    if made.engine is None:
        return
    import numpy as np

    from npu.ops.compute_limits import TIME_LIMIT, ComputeError

    feeds: dict[str, Any] = {}
    for name, (side, count), (dtype, dims) in zip(made.names, sides, made.in_types, strict=True):
        if name is not None and side is not None:
            feeds[name] = np.frombuffer(side.read(count), dtype).reshape(dims)
    try:
        found = made.engine.run(feeds, TIME_LIMIT)[0]
    except ComputeError as error:
        raise NpuError("aicore_exception", model=made.op, reason=error.reason) from error
    target.write(np.ascontiguousarray(found, dtype=made.out_type).tobytes())
