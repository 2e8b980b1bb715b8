"""Models on the device: load, describe, execute. A static model is one launch; its kernels run as a program on the stream and
its arithmetic is one session run when the last of them ends."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npu import om
from npu.cost import kernel as kernel_cost
from npu.device.task import AICPU, KERNEL, Row, Step, Task
from npu.errors import NpuError
from npu.om import Tensor as Tensor
from npu.runtime import host
from npu.runtime.context import Context, current
from npu.runtime.memory import Side, free, malloc
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait
from npu.soc import find

if TYPE_CHECKING:
    from npu.ops.compute import Session

TOLERANCE = 64  # a buffer may fall short of the model's size by so many bytes


class LoadedModel:
    """A model in device memory: weights and workspace are held until it is unloaded."""

    def __init__(self, process: Process, context: Context, path: str, model: om.Model, held: Sequence[int]) -> None:
        self.id = process.ordinal("model") + 1
        self.path, self.model, self.context = path, model, context
        self.held = list(held)
        self.session: Session | None = None
        recording = process.recording
        name = Path(path).stem
        self.name = name
        self.program: list[Step] = []
        state = "dynamic" if model.dynamic else "static"
        for planned in model.kernels:
            cost = kernel_cost(planned.work, process.machine.chip)
            vector = cost.task_type in ("AI_VECTOR_CORE", "MIX_AIV")
            aicpu = cost.task_type == "AI_CPU"
            chip = process.machine.chip
            blocks = max(1, cost.block_dim)
            aic = 0 if vector or aicpu else min(blocks, chip.aic)
            aiv = min(blocks if vector else cost.mix_block_dim, chip.vector_cores) if not aicpu else 0
            self.program.append(
                Step(
                    cost.duration,
                    aic,
                    aiv,
                    cost.hbm_share,
                    AICPU if aicpu else KERNEL,
                    recording.text(planned.name),
                    recording.text(cost.task_type),
                    recording.kernel(planned, cost, name, state),
                )
            )


class Description:
    """What a model description handle shows; empty until it is filled."""

    def __init__(self) -> None:
        self.model: om.Model | None = None

    def filled(self) -> om.Model:
        if self.model is None:
            raise NpuError("invalid_param", reason="the description was not filled by get_desc")
        return self.model


class DataBuffer:
    """A pointer and a size; owns nothing."""

    def __init__(self, data: int, size: int) -> None:
        self.data, self.size = data, size


class DataSet:
    """Data buffers in the order of a model's inputs or outputs, by handle."""

    def __init__(self) -> None:
        self.buffers: list[int] = []
        self.descs: dict[int, int] = {}


def tensors(process: Process, handle: int, which: str) -> tuple[Tensor, ...]:
    """The inputs or outputs (which: input | output) that a filled description shows."""
    filled = process.get(handle, Description).filled()
    return filled.inputs if which == "input" else filled.outputs


def tensor(process: Process, handle: int, index: int, which: str) -> Tensor:
    """One of them by index. NpuError invalid_param beyond the last."""
    found = tensors(process, handle, which)
    if index >= len(found):
        raise NpuError("invalid_param", index=index, count=len(found))
    return found[index]


def index_of(process: Process, handle: int, name: str, which: str) -> int:
    """The index of one by name. NpuError invalid_param for an unknown name."""
    for number, found in enumerate(tensors(process, handle, which)):
        if found.name == name:
            return number
    raise NpuError("invalid_param", name=name)


def models(process: Process) -> dict[int, LoadedModel]:
    """Loaded models by id."""
    return {m.id: m for m in process.objects.values() if isinstance(m, LoadedModel)}


def of(process: Process, model_id: int) -> LoadedModel:
    found = process.objects.get(-1000 - model_id)
    if not isinstance(found, LoadedModel):
        raise NpuError("model_id", model=model_id)
    return found


def read(process: Process, path: str) -> om.Model:
    """The model of a file. NpuError model_path when it cannot be read, model_data when it is damaged."""
    try:
        return om.load(path)
    except OSError as error:
        raise NpuError("model_path", path=path, reason=error.strerror or str(error)) from error
    except om.BadModel as error:
        raise NpuError("model_data", path=path, reason=error.reason) from error


def load(process: Process, thread: HostThread, path: str) -> int:
    """Load a model file; its id. NpuError model_path, model_data, model_wrong_chip, no_memory, no_context."""
    context = current(thread)
    model = read(process, path)
    here = process.machine.chip
    try:
        target = find(model.soc)
    except KeyError as error:
        raise NpuError("model_data", path=path, reason=f"unknown chip {model.soc}") from error
    if target.family != here.family:
        raise NpuError("model_wrong_chip", path=path, model_chip=model.soc, device_chip=here.name)
    held = [
        malloc(process, thread, model.memory[part], 0)
        for part in ("weights", "workspace", "feature_map")
        if model.memory.get(part, 0) > 0
    ]
    loaded = LoadedModel(process, context, path, model, held)
    process.objects[-1000 - loaded.id] = loaded
    process.recording.sink.meta(
        **{
            f"model_{loaded.id}": {
                "name": loaded.name,
                "path": path,
                "soc": model.soc,
                "kernels": len(model.kernels),
                "build": model.build,
                "memory": model.memory,
            }
        }
    )
    return loaded.id


def load_from_memory(process: Process, thread: HostThread, pointer: int, size: int) -> int:
    """Load a model that lies in host memory, by way of a temporary file: its arithmetic is opened from a path."""
    staged = host.Staged(size)
    host.read(staged.address, pointer, size)
    number, path = tempfile.mkstemp(suffix=om.SUFFIX, prefix="npu-model-")
    with os.fdopen(number, "wb") as file:
        file.write(ctypes.string_at(staged.address, size))
    process.temporary.append(path)
    return load(process, thread, path)


def unload(process: Process, thread: HostThread, model_id: int) -> None:
    loaded = of(process, model_id)
    for address in loaded.held:
        free(process, thread, address)
    del process.objects[-1000 - model_id]


def _sides(process: Process, handle: int, tensors: Sequence[Tensor], what: str) -> list[Side]:
    """Check a dataset against a model's inputs or outputs; its buffers as device sides."""
    dataset = process.get(handle, DataSet, "invalid_param")
    if len(dataset.buffers) != len(tensors):
        raise NpuError(
            "model_input_mismatch", which=what, wanted=len(tensors), given=len(dataset.buffers), reason="number of buffers"
        )
    sides = []
    for number, (buffer_handle, tensor) in enumerate(zip(dataset.buffers, tensors, strict=True)):
        buffer = process.get(buffer_handle, DataBuffer, "invalid_param")
        if buffer.size + TOLERANCE < tensor.bytes:
            raise NpuError(
                "model_input_mismatch",
                which=what,
                index=number,
                name=tensor.name,
                wanted=tensor.bytes,
                given=buffer.size,
                reason="size of a buffer",
            )
        sides.append(Side(process, buffer.data, min(buffer.size, tensor.bytes), on_device=True))
    return sides


def execute(process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, stream: Stream | None) -> None:
    """Run a model on a stream; without a stream on the default one, waiting for its end."""
    loaded = of(process, model_id)
    model = loaded.model
    ins = _sides(process, inputs, model.inputs, "input")
    outs = _sides(process, outputs, model.outputs, "output")
    recording = process.recording
    thread.correlation = recording.correlation()
    where = stream if stream is not None else current(thread).default
    thread.stream, thread.device = where.ordinal, where.context.device
    text = recording.text
    row = Row(
        thread.correlation, model=loaded.id, reads=text(_ranges(ins, model.inputs)), writes=text(_ranges(outs, model.outputs))
    )

    def finish(_time: int) -> None:
        _compute(process, loaded, ins, outs)

    program = loaded.program
    task = Task(KERNEL, 0, row, on_done=finish, program=program) if program else Task(KERNEL, 0, row, on_done=finish)
    where.submit(process, thread, task)
    if stream is None:
        thread.blocking = 1
        wait(process, thread, lambda: task.done_at)
        failure = where.error()
        if failure is not None:
            raise failure


def _ranges(sides: Sequence[Side], tensors: Sequence[Tensor]) -> str:
    return ";".join(f"{s.text}:{t.bytes}" for s, t in zip(sides, tensors, strict=True))


def _compute(process: Process, loaded: LoadedModel, ins: Sequence[Side], outs: Sequence[Side]) -> None:
    """The arithmetic of a whole model: read the inputs as they are now, run, write the outputs."""
    for side in outs:
        if side.block is not None:
            side.block.written = True
    if not process.knobs.compute:
        return
    import numpy as np

    from npu.ops.compute import ComputeError, Session

    if loaded.session is None:
        loaded.session = Session(loaded.path)
    feeds = {}
    for side, tensor in zip(ins, loaded.model.inputs, strict=True):
        raw = ctypes.string_at(side.place(), tensor.bytes)
        feeds[tensor.name] = np.frombuffer(raw, dtype=tensor.dtype).reshape(tensor.dims)
    try:
        results = loaded.session.run(feeds)
    except ComputeError as error:
        raise NpuError("aicore_exception", model=loaded.name, reason=str(error)) from error
    for side, tensor, value in zip(outs, loaded.model.outputs, results, strict=True):
        data = np.ascontiguousarray(value, dtype=tensor.dtype).tobytes()
        ctypes.memmove(side.place(), data, min(len(data), tensor.bytes))
