"""Running a loaded model. A static one is one launch: its kernels run as a program on the stream, and its arithmetic is one
session run when the last of them ends. A model of open shapes is launched kernel by kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npu.device.task import KERNEL, PLAIN, Task
from npu.driver.door import DriverError
from npu.dtypes import DTYPES, from_bytes, to_bytes
from npu.errors import NpuError
from npu.events import LEVELS
from npu.om import Tensor
from npu.runtime import aipp
from npu.runtime.binding import Binding, Bound, bind
from npu.runtime.context import current
from npu.runtime.dataset import AIPP_INPUT, GEAR_INPUT, DataSet, inputs_of
from npu.runtime.model import LoadedModel, of
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream, report
from npu.runtime.sunk import Lanes
from npu.runtime.tensor_desc import TensorDesc
from npu.runtime.thread import HostThread
from npu.runtime.wait import wait

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BOUND = 64  # checked pairs of data sets a model remembers
# Host time of one kernel of a model of open shapes: shape, tiling, memory, launch (294 kernels take 5.3-5.4 ms on 910_9382)
NODE_LAUNCH_NS = 18_200
NODE = LEVELS.index("node")


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
    from npu.ops.compute import Session
    from npu.ops.compute_limits import ComputeError

    if loaded.session is None:
        loaded.session = Session(loaded.path)
    feeds = {}
    pictures = {a.input: a for a in loaded.model.aipp if a.settings is None}
    for given, tensor in zip(bound.ins, inputs_of(loaded.model), strict=True):
        if tensor.name == GEAR_INPUT or tensor.name.startswith(AIPP_INPUT):
            continue
        if tensor.name in pictures and given.side is not None:
            data = given.side.read(min(given.size, given.buffer.size))
            feeds[tensor.name] = aipp.planes(pictures[tensor.name], data, bound.input_set.aipp.get(tensor.name), given.dims)
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
