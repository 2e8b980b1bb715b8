"""One operator of the framework as the device sees it: host time of the call, its kernels on the current stream, its records."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from npu.cost import call_ns
from npu.device.task import PLAIN, Row, Task
from npu.events import MARKERS
from npu.runtime.model import step_of
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import place
from npu.torch_npu.operators import Operator, api_name
from npu.torch_npu.work import Seen, kernels

DISPATCH, ACLNN = "aten", "aclnn"  # rows of host_costs.csv: the framework's part of a call and the library's
CPU_OP = MARKERS.index("cpu_op")
MOST_QUEUED = 512  # submissions after which the device is simulated up to the present, so that its queue stays short
MOST_PROGRAMS = 100_000  # distinct shapes of operators that are remembered
NAMES = {getattr(torch, n): n for n in ("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8",
                                        "uint16", "uint32", "uint64", "bool", "complex64", "complex128")}  # fmt: skip


class Launch(NamedTuple):
    """One kernel ready to be queued."""

    kind: int
    duration: int
    row: Row
    aic: int
    aiv: int
    hbm: float


class Programs:
    """What is launched for an operator at its shapes; rebuilt when another recorder listens. unlisted: names and counts of
    operators the table does not have."""

    def __init__(self) -> None:
        self.by_key: dict[object, tuple[str, list[Launch]]] = {}
        self.sink: object = None
        self.numbers = 0
        self.since = 0
        self.unlisted: dict[str, int] = {}
        self.shown: dict[str, int] = {}


def key_of(tensor: torch.Tensor) -> object:
    """What tells two calls apart for their cost: shape, type, and strides where they matter."""
    return (tensor.shape, tensor.dtype) if tensor.is_contiguous() else (tensor.shape, tensor.dtype, tensor.stride())


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
    key = (shown, operator.name, *map(key_of, ins), -1, *map(key_of, outs))
    found = mine.by_key.get(key)
    if found is None:
        if len(mine.by_key) > MOST_PROGRAMS:
            mine.by_key.clear()
        found = mine.by_key[key] = (api_name(operator, in_place), _built(process, mine, operator, shown, ins, outs))
    api, launches = found
    with process.lock:
        clock = thread.clock
        clock.now += call_ns(DISPATCH)
        start = clock.now
        clock.now += call_ns(ACLNN)
        correlation = -1
        if recording.on:
            correlation = recording.correlation()
            thread.clear()
            thread.correlation, thread.stream, thread.device = correlation, where.ordinal, where.context.device
            thread.site = place.script_site(process, sys._getframe())
            place.row(process, thread, api, start, place.ACL)
            _marked(process, thread, shown, begun, correlation)
        now = clock.now
        for one in launches:
            task = Task(one.kind, one.duration, one.row, aic=one.aic, aiv=one.aiv, hbm=one.hbm)
            task.correlation = correlation
            where.dev.submit(where.ordinal, task, now)
            where.last = task
        if process.waiters:
            process.changed.notify_all()
        mine.since += 1
        if mine.since >= MOST_QUEUED:
            mine.since = 0
            process.advance(min(now, process.slowest(thread)))


def _marked(process: Process, thread: HostThread, shown: str, begun: int, correlation: int) -> None:
    """The framework's own row of the call."""
    recording = process.recording
    recording.marker(begun, thread.clock.now, thread.ordinal, thread.device, recording.text(shown), -1, -1, correlation, CPU_OP)


def marked(process: Process, thread: HostThread, shown: str, begun: int) -> None:
    """The framework's row of a call that launches nothing of its own."""
    if process.recording.on:
        _marked(process, thread, shown, begun, -1)


def _built(
    process: Process, mine: Programs, operator: Operator, shown: str, ins: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]
) -> list[Launch]:
    made = []
    inputs, outputs = [seen(t) for t in ins], [seen(t) for t in outs]
    if not operator.listed:
        _tell_unlisted(process, mine, shown)
    for planned in kernels(operator, inputs, outputs, mine.numbers):
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
