"""One operator of the framework as the device sees it: host time of the call, its kernels on the current stream, its records."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch

from npu.cost import call_ns
from npu.device.task import PLAIN, Row, Task
from npu.events import LEVELS, MARKERS
from npu.runtime.kernel_step import step_of
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import memory, place
from npu.torch_npu.operators import Operator, api_name
from npu.torch_npu.work import Seen, kernels

DISPATCH, ACLNN = "aten", "aclnn"  # rows of host_costs.csv: the framework's part of a call and the library's
# Of a call of the library: the launch of one kernel, ns, and what is around the launches (medians of 75 calls in a public profile
# of CNN training: 5.5 us, and 1.0 before and 3.0 after).
LAUNCH_NS, AROUND_NS = 5_500, 4_000
CPU_OP, NODE = MARKERS.index("cpu_op"), LEVELS.index("node")
MOST_QUEUED = 512  # submissions after which the device is simulated up to the present, so that its queue stays short
MOST_PROGRAMS = 100_000  # distinct shapes of operators that are remembered
NAMES = {getattr(torch, n): n for n in ("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8",
                                        "uint16", "uint32", "uint64", "bool", "complex64", "complex128")}  # fmt: skip


class Queued(NamedTuple):
    """A call whose kernels are queued: the operator, its name in the framework, what it reads and writes."""

    operator: Operator
    shown: str
    reads: list[Seen]
    writes: list[Seen]


class Capturing(Protocol):
    """A block of operators that is noted instead of queued (npu.torch_npu.captured). queued: what would have been."""

    queued: list[Queued]

    def writes(self, tensor: torch.Tensor) -> None:
        """A CPU form of an npu tensor is about to be written."""

    def did(self, compute: Callable[..., Any], given: Sequence[Any], options: dict[str, Any], results: Any) -> None:
        """Arithmetic that was done, over CPU forms of npu tensors."""


capture: Capturing | None = None  # the block being noted; there is one at a time


class Launch(NamedTuple):
    """One kernel ready to be queued."""

    kind: int
    duration: int
    row: Row
    aic: int
    aiv: int
    hbm: float


class Programs:
    """What is launched for an operator at its shapes; rebuilt when another recorder listens. dispatch, two_phase: host time of a
    call in the framework and at least in the library, ns; unlisted: names and counts of operators the table does not have."""

    def __init__(self) -> None:
        self.by_key: dict[object, tuple[str, list[Launch]]] = {}
        self.sink: object = None
        self.dispatch, self.two_phase = call_ns(DISPATCH), call_ns(ACLNN)
        self.rows: dict[tuple[int, ...], Row] = {}
        self.numbers = 0
        self.since = 0
        self.unlisted: dict[str, int] = {}

    def row(self, plain: Row, reads: int, writes: int) -> Row:
        """The row of a kernel with its buffers; those of tensors that come and go in a loop are used again."""
        key = plain.name, plain.kernel, plain.task_type, reads, writes
        found = self.rows.get(key)
        if found is None:
            if len(self.rows) > MOST_PROGRAMS:
                self.rows.clear()
            found = self.rows[key] = plain._replace(reads=reads, writes=writes)
        return found


def seen(tensor: torch.Tensor) -> Seen:
    strides = () if tensor.is_contiguous() else tuple(tensor.stride())
    return Seen(NAMES.get(tensor.dtype, "int8"), tuple(tensor.shape), strides)


def launch(
    process: Process, thread: HostThread, where: Stream, operator: Operator, shown: str, in_place: bool,
    ins: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], begun: int,
) -> None:  # fmt: skip
    """Queue an operator's kernels. shown: the framework's name; begun: when its call began, ns."""
    if operator.form == "none":
        thread.clock.now += call_ns(DISPATCH)
        return
    mine = process.one(Programs)
    recording = process.recording
    if mine.sink is not recording.sink:
        mine.by_key.clear()
        mine.sink = recording.sink
    parts: list[object] = [shown, operator.name, operator.window]  # shapes, types and strides tell two calls apart for their cost
    for tensor in ins:
        parts += tensor.shape, tensor.dtype, tensor.stride()
    parts.append(-1)
    for tensor in outs:
        parts += tensor.shape, tensor.dtype, tensor.stride()
    key = tuple(parts)
    found = mine.by_key.get(key)
    if found is None:
        if len(mine.by_key) > MOST_PROGRAMS:
            mine.by_key.clear()
        call = Queued(operator, shown, list(map(seen, ins)), list(map(seen, outs)))
        found = mine.by_key[key] = (api_name(operator, in_place), built(process, call))
    api, launches = found
    if capture is not None:
        capture.queued.append(Queued(operator, shown, list(map(seen, ins)), list(map(seen, outs))))
        thread.clock.now += mine.dispatch + mine.two_phase
        return
    with process.lock:
        clock = thread.clock
        start = clock.now + mine.dispatch
        now = clock.now = start + max(mine.two_phase, AROUND_NS + LAUNCH_NS * len(launches))
        submit, ordinal, recorded = where.dev.submit, where.ordinal, recording.on
        if recorded:
            thread.clear()
            thread.stream, thread.device = ordinal, where.context.device
            thread.site = place.script_site(process, sys._getframe())
            correlations = _launched(process, thread, len(launches), now)
            place.row(process, thread, api, start, place.ACL)
            _marked(process, thread, shown, begun, correlations[0])
            buffers = memory.named(process, ins), memory.named(process, outs)
        for number, one in enumerate(launches, 1 - len(launches)):
            task = Task(one.kind, one.duration, one.row, aic=one.aic, aiv=one.aiv, hbm=one.hbm)
            if recorded:
                task.correlation = correlations[number - 1]
                task.row = mine.row(one.row, *buffers)
            submit(ordinal, task, now + number * LAUNCH_NS)
            where.last = task
            thread.last_task = task.id
            if process.hazards is not None:
                process.hazards.submitted(where, task)
        if process.waiters:
            process.changed.notify_all()
        mine.since += 1
        if mine.since >= MOST_QUEUED:
            mine.since = 0
            process.advance(min(now, process.slowest(thread)))


def _launched(process: Process, thread: HostThread, count: int, ends: int) -> list[int]:
    """The rows of the launches inside a call of the library that ends at `ends`, one a kernel; what ties each to its kernel."""
    recording = process.recording
    name = recording.text("launch")
    made = []
    for number in range(count, 0, -1):
        made.append(recording.correlation())
        begins = ends - number * LAUNCH_NS
        where = thread.ordinal, thread.stream, thread.device
        recording.api(begins, begins + LAUNCH_NS, made[-1], -1, *where, name, -1, 0, thread.site, NODE, -1, -1, 0)
    return made


def _marked(process: Process, thread: HostThread, shown: str, begun: int, correlation: int) -> None:
    """The framework's own row of the call."""
    recording = process.recording
    recording.marker(begun, thread.clock.now, thread.ordinal, thread.device, recording.text(shown), -1, -1, correlation, CPU_OP)


def marked(process: Process, thread: HostThread, shown: str, begun: int, correlation: int = -1) -> None:
    """The framework's row of a call that launches no operator of its own. correlation: of what it did launch."""
    if process.recording.on:
        _marked(process, thread, shown, begun, correlation)


def built(process: Process, call: Queued) -> list[Launch]:
    """The kernels of a call, with their rows where somebody records."""
    made, mine, operator = [], process.one(Programs), call.operator
    if not operator.listed:
        _tell_unlisted(process, mine, call.shown)
    for planned in kernels(operator, call.reads, call.writes, mine.numbers):
        step = step_of(process, planned, "", "dynamic")
        row = Row(name=step.name, task_type=step.task_type, kernel=step.kernel) if process.recording.on else PLAIN
        made.append(Launch(step.kind, step.duration, row, step.aic, step.aiv, step.hbm))
    mine.numbers += 8 if operator.form.startswith("conv") else 0
    return made


def _tell_unlisted(process: Process, mine: Programs, shown: str) -> None:
    """Once an operator: it runs, as a plain vector kernel, and the capture says which these were."""
    mine.unlisted[shown] = mine.unlisted.get(shown, 0) + 1
    if mine.unlisted[shown] == 1:
        process.recording.sink.meta(torch={"unlisted": sorted(mine.unlisted)})
        warnings.warn(f"{shown} has no entry in torch_ops.csv: its time is that of a plain vector kernel", stacklevel=4)


def unlisted(process: Process) -> dict[str, Any]:
    """Operators that ran without an entry in the table, with the number of shapes they had."""
    return dict(process.one(Programs).unlisted)
