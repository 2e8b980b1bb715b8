"""Models on the device: load and execute. A static model is one launch; its kernels run as a program on the stream and its
arithmetic is one session run when the last of them ends. A model of open shapes is launched kernel by kernel."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu import om
from npu.cost import kernel as kernel_cost
from npu.cost.work import Cost
from npu.device.task import AICPU, KERNEL, PLAIN, Step, Task
from npu.driver.door import DriverError
from npu.dtypes import DTYPES, from_bytes, to_bytes
from npu.errors import NpuError
from npu.events import LEVELS
from npu.host.versions import newer
from npu.om import Tensor
from npu.runtime import aipp, host
from npu.runtime.binding import Binding, Bound, bind
from npu.runtime.context import Context, current
from npu.runtime.dataset import AIPP_INPUT, GEAR_INPUT, DataSet, inputs_of
from npu.runtime.memory import free, malloc
from npu.runtime.process import Process
from npu.runtime.programs import Programs
from npu.runtime.side import Side
from npu.runtime.stream import Stream, report
from npu.runtime.sunk import Lanes
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait
from npu.soc import Soc, find

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from npu.ops.compute import Session

MOST_BOUND = 64  # checked pairs of data sets a model remembers
READ_BYTES_PER_NS = 2.0  # reading a model file and copying its weights to the device, GB/s (unverified)
# Host time of one kernel of a model of open shapes: shape, tiling, memory, launch (294 kernels take 5.3-5.4 ms on 910_9382)
NODE_LAUNCH_NS = 18_200
NODE = LEVELS.index("node")
GIVEN = ("workspace", "feature_map", "weights")  # parts of a model's memory that a script may bring itself
Heard = Callable[["LoadedModel", Sequence[tuple[int, int]]], None]


class LoadedModel:
    """A model in device memory: weights and workspace are held until it is unloaded. heard: told the times of the kernels after
    each run; output_dims: the outputs' dims of the last run."""

    def __init__(self, process: Process, context: Context, path: str, model: om.Model, held: Sequence[int]) -> None:
        self.id = process.ordinal("model") + 1
        self.path, self.model, self.context = path, model, context
        self.held = list(held)
        self.session: Session | None = None
        self.heard: Heard | None = None
        self.lanes: Lanes | None = None  # of a model on several streams, once it has run
        self.output_dims: tuple[tuple[int, ...], ...] = ()
        self.chosen = -1  # number of the gear that was chosen last
        self.bound: dict[tuple[int, int], Binding] = {}  # data sets (handles) that were checked before
        self.too_new = newer(str(model.build.get("cann", "")), process.machine.cann_version)
        self.name = Path(path).stem
        state = "dynamic" if model.dynamic else "static"
        self.programs = Programs(model, lambda planned: step_of(process, planned, self.name, state))
        if not model.gears and not model.dynamic:
            self.programs.of(-1, ())


def step_of(process: Process, planned: om.Kernel, model_name: str, state: str) -> Step:
    """A planned kernel as a step of a program on this process's chip."""
    chip = process.machine.chip
    cost = kernel_cost(planned.work, chip)
    aic, aiv = cores(cost, chip)
    recording = process.recording
    return Step(
        cost.duration,
        aic,
        aiv,
        cost.hbm_share,
        AICPU if cost.task_type == "AI_CPU" else KERNEL,
        recording.text(planned.name),
        recording.text(cost.task_type),
        recording.kernel(planned, cost, model_name, state),
        planned.name,
    )


def cores(cost: Cost, chip: Soc) -> tuple[int, int]:
    """Cube and vector cores a kernel holds while it runs; none on the AI CPU."""
    if cost.task_type == "AI_CPU":
        return 0, 0
    vector = cost.task_type in ("AI_VECTOR_CORE", "MIX_AIV")
    blocks = max(1, cost.block_dim)
    return 0 if vector else min(blocks, chip.aic), min(blocks if vector else cost.mix_block_dim, chip.vector_cores)


class Models:
    """The loaded models of a process, by id."""

    def __init__(self) -> None:
        self.by_id: dict[int, LoadedModel] = {}


def of(process: Process, model_id: int) -> LoadedModel:
    found = process.one(Models).by_id.get(model_id)
    if found is None:
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


def load(process: Process, thread: HostThread, path: str, given: Sequence[str] = ()) -> int:
    """Load a model file; its id. given: parts of its memory the script brings itself.

    NpuError not_initialized, model_path, model_data, model_wrong_chip, no_memory, no_context."""
    process.needs_init("loading a model")
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
        if model.memory.get(part, 0) > 0 and part not in given
    ]
    thread.clock.now += round(os.path.getsize(path) / READ_BYTES_PER_NS)
    loaded = LoadedModel(process, context, path, model, held)
    process.one(Models).by_id[loaded.id] = loaded
    process.recording.sink.meta(
        **{
            f"model_{loaded.id}": {
                "name": loaded.name,
                "path": path,
                "soc": model.soc,
                "kernels": len(model.kernels),
                "build": model.build,
                "memory": model.memory,
                "lifetimes": model.lifetimes,
            }
        }
    )
    return loaded.id


def given(process: Process, path: str, work: int, work_size: int, weight: int, weight_size: int) -> tuple[str, ...]:
    """Which parts of a model's memory the script brings; NULL and 0 leave a part to the loader. NpuError model_io."""
    need = read(process, path).memory
    parts: tuple[str, ...] = ()
    for address, size, names in ((work, work_size, GIVEN[:2]), (weight, weight_size, GIVEN[2:])):
        wanted = sum(need.get(n, 0) for n in names)
        if address == 0:
            continue
        if size < wanted:
            raise NpuError("model_io", part=names[-1], wanted=wanted, given=size)
        parts += names
    return parts


def staged_file(process: Process, pointer: int, size: int) -> str:
    """A temporary file with a model that lies in host memory: its arithmetic is opened from a path. NpuError invalid_param."""
    if pointer == 0 or size == 0:
        raise NpuError("invalid_param", pointer=pointer, size=size)
    staged = host.Staged(size)
    host.read(staged.address, pointer, size)
    number, path = tempfile.mkstemp(suffix=om.SUFFIX, prefix="npu-model-")
    with os.fdopen(number, "wb") as file:
        file.write(ctypes.string_at(staged.address, size))
    process.temporary.append(path)
    return path


def unload(process: Process, thread: HostThread, model_id: int) -> None:
    loaded = of(process, model_id)
    if loaded.context.alive:  # else its memory went with the device
        if loaded.lanes is not None:
            loaded.lanes.close(process)
        for address in loaded.held:
            free(process, thread, address)
    del process.one(Models).by_id[model_id]


def execute(
    process: Process, thread: HostThread, model_id: int, inputs: int, outputs: int, stream: Stream | None, timeout: int = -1
) -> None:
    """Run a model on a stream; without a stream on the default one, waiting for its end (timeout in ms, -1 endless)."""
    loaded = of(process, model_id)
    bound = loaded.bound.get((inputs, outputs))
    if bound is None or not bound.holds(process):
        bound = bind(process, loaded.model, inputs, outputs, loaded.context.dev)
        if len(loaded.bound) >= MOST_BOUND:
            loaded.bound.clear()
        loaded.bound[inputs, outputs] = bound
    where = stream if stream is not None else current(thread).default
    thread.stream, thread.device = where.ordinal, where.context.device
    task = launch(process, thread, loaded, bound, where)
    if stream is None:
        finish(process, thread, where, task, timeout)


def finish(process: Process, thread: HostThread, stream: Stream, task: Task, timeout: int = -1) -> None:
    """Wait for a launched model and report its failure. NpuError stream_timeout."""
    thread.blocking = 1
    wait(process, thread, lambda: task.done_at, timeout * 1_000_000 if timeout >= 0 else -1)
    if process.hazards is not None:
        process.hazards.joined(task)
    report(process, thread, stream)


def launch(process: Process, thread: HostThread, loaded: LoadedModel, bound: Binding, where: Stream) -> Task:
    """Queue a run; its last task."""
    recording = process.recording
    row = PLAIN
    if recording.on:
        thread.correlation = recording.correlation()
        row = bound.row(recording.text, loaded.id)
    if loaded.too_new:  # such a model loads, its execution fails: an asynchronous one at the synchronise
        task = Task(KERNEL, 0, row, on_done=lambda _time: _refuse(process, loaded))
        task.correlation = thread.correlation
        where.submit(process, thread, task)
        return task
    program = loaded.programs.only or loaded.programs.of(bound.gear, [b.dims for b in bound.ins])
    if loaded.model.events and loaded.heard is None:
        if loaded.lanes is None:
            loaded.lanes = Lanes(process, where, loaded.model)
        program = loaded.lanes.submit(process, thread, where, program, row)
    if loaded.model.dynamic and len(program) > 1:
        for step in program[:-1]:
            launch_node(process, thread, where, Task(KERNEL, 0, row, program=[step]))
        program = program[-1:]
    task = Task(KERNEL, 0, row, on_done=lambda _time: _compute(process, loaded, bound), program=program or None)
    task.correlation = thread.correlation
    if loaded.heard is not None and program:
        heard = loaded.heard
        times: list[tuple[int, int]] = []
        task.times = times

        def done(_time: int) -> None:
            _compute(process, loaded, bound)
            heard(loaded, times)

        task.on_done = done
    if loaded.model.dynamic and program:
        launch_node(process, thread, where, task)
    else:
        where.submit(process, thread, task)
    for out in bound.outs:
        if out.side is not None:
            out.side.written_by(task, out.size or out.buffer.size)
    return task


def _refuse(process: Process, loaded: LoadedModel) -> None:
    raise NpuError("model_too_new", model=loaded.name, built=loaded.model.build.get("cann"), host=process.machine.cann_version)


def launch_node(process: Process, thread: HostThread, stream: Stream, task: Task) -> None:
    """One kernel of a model of open shapes: the host works out its shape and tiling and launches it."""
    begun = thread.clock.now
    thread.clock.now += NODE_LAUNCH_NS
    recording = process.recording
    if recording.on:
        correlation = recording.correlation()
        task.correlation = correlation
        recording.api(
            begun, thread.clock.now, correlation, -1, thread.ordinal, stream.ordinal, thread.device, recording.text("launch"),
            -1, 0, thread.site, NODE, -1, -1, 0,
        )  # fmt: skip
    stream.submit(process, thread, task)


def _compute(process: Process, loaded: LoadedModel, bound: Binding) -> None:
    """The arithmetic of a whole model: read the inputs as they are now, run, write the outputs."""
    for out in bound.outs:
        if out.side is not None:
            out.side.touched()
    if not process.knobs.compute:
        return
    from npu.ops.compute import ComputeError, Session

    if loaded.session is None:
        loaded.session = Session(loaded.path)
    feeds = {}
    pictures = {a.input: a for a in loaded.model.aipp if a.settings is None}
    for given, tensor in zip(bound.ins, inputs_of(loaded.model), strict=True):
        if tensor.name == GEAR_INPUT or tensor.name.startswith(AIPP_INPUT):
            continue
        if tensor.name in pictures and given.side is not None:
            data = given.side.read(min(given.size, given.buffer.size))
            feeds[tensor.name] = aipp.planes(
                pictures[tensor.name], data, bound.input_set.aipp.get(tensor.name), given.dims
            )
        else:
            feeds[tensor.name] = _array(loaded, given, tensor)
    try:
        results = loaded.session.run(feeds)
    except ComputeError as error:
        raise NpuError("aicore_exception", model=loaded.name, reason=str(error)) from error
    loaded.output_dims = tuple(tuple(int(d) for d in value.shape) for value in results)
    for number, (out, tensor, value) in enumerate(zip(bound.outs, loaded.model.outputs, results, strict=True)):
        data = to_bytes(value, tensor.dtype)
        if out.side is not None:
            out.side.write(data[: out.buffer.size])
        if not out.size:
            _describe(process, loaded, out, tensor, bound.output_set, number, data)


def _array(loaded: LoadedModel, given: Bound, tensor: Tensor) -> NDArray[Any]:
    """An input as it is now; an empty tensor needs no buffer. NpuError model_input_mismatch for texts that are none."""
    data = given.side.read(given.size or given.buffer.size) if given.side is not None else b""
    try:
        return from_bytes(data, tensor.dtype, given.dims)
    except ValueError as error:
        raise NpuError("model_input_mismatch", model=loaded.name, name=tensor.name, reason=str(error)) from error


def _describe(
    process: Process, loaded: LoadedModel, out: Bound, tensor: Tensor, dataset: DataSet, number: int, data: bytes
) -> None:
    """Leave the shape of an output of open shape in its data set, and its memory where the script brought none."""
    if out.side is None:
        try:
            address = loaded.context.dev.alloc(max(32, len(data)), False)
        except DriverError as error:
            raise NpuError(error.situation, size=len(data), **error.facts) from error
        out.buffer.data, out.buffer.size = address, len(data)
        Side(process, address, len(data), True).write(data)
    known = process.objects.get(dataset.descs.get(number, 0))
    if isinstance(known, TensorDesc):
        known.dims = list(loaded.output_dims[number])
    else:
        dataset.descs[number] = process.register(TensorDesc(DTYPES[tensor.dtype][0], list(loaded.output_dims[number]), 2))
