"""A compiled graph when it is called: arithmetic on the CPU over the same bytes, one launch of its planned task list.

A graph of fixed shapes is sunk: its kernels follow each other on the device whatever the host does. One of open shapes is planned
anew for each set of sizes and launched kernel by kernel, as a model of open shapes is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx

from npu import om
from npu.cost import call_ns
from npu.device.task import KERNEL, PLAIN, Row, Step, Task
from npu.runtime.execution import launch_node
from npu.runtime.kernel_step import step_of
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.sunk import Lanes
from npu.runtime.thread import HostThread
from npu.torch_npu import launch, memory, place
from npu.torch_npu.flip import to_npu
from npu.torch_npu.graph.planning import Tasks, Wanted, tasks
from npu.torch_npu.graph.values import Watch, Watched, constants, on_cpu
from npu.torch_npu.kernels import plain_cpu
from npu.torch_npu.work import Seen

# Rows of host_costs.csv: what stands before the launch of a compiled graph; building one, and each of its kernels
CALL, BUILD, BUILD_KERNEL = "torch.compile:call", "CompileGraph", "CompileGraph:kernel"
EXECUTE = "aclmdlExecuteAsync"
MOST_QUEUED = 16  # runs after which the device is simulated up to the present, so that its queue stays short


def _key(argument: Any) -> object:
    return (argument.shape, argument.dtype, argument.stride()) if isinstance(argument, Tensor) else argument


class Ready(NamedTuple):
    """What is launched at one set of shapes. lanes: of a plan on several streams."""

    steps: list[Step]
    row: Row
    lanes: Lanes | None


class Compiled:
    """A graph of AOT autograd, called with its inputs in a list (a boxed function). name: as the capture shows it."""

    def __init__(self, module: fx.GraphModule, wanted: Wanted, name: str) -> None:
        self._boxed_call = True  # on the instance: wrappers of Dynamo copy its attributes
        self.graph, self.wanted, self.name = module.graph, wanted, name
        flipped = {n: plain_cpu(v) if isinstance(v, Tensor) and not v.is_cpu else v for n, v in constants(module)}
        self.code = on_cpu(module, flipped)
        self.ready: dict[object, Ready] = {}
        self.plans: dict[object, Tasks] = {}
        self.sink: object = None
        self.held: list[Tensor] = []
        self.since = 0

    def __call__(self, arguments: list[Any]) -> Any:
        if launch.capture is not None:
            raise RuntimeError("a compiled graph inside torch.npu.graph is not simulated; capture the module itself, uncompiled")
        process, thread = place.enter()
        try:
            begun = thread.clock.now
            given = list(arguments)
            arguments.clear()
            flipped = [plain_cpu(a) if isinstance(a, Tensor) and not a.is_cpu else a for a in given]
            sources = {id(f): g for f, g in zip(flipped, given, strict=True)}
            first = next((a for a in given if isinstance(a, Tensor) and not a.is_cpu), None)
            device = memory.device_of(process, first) if first is not None else place.seats.mine.device
            where = place.stream(process, thread, device)
            key = tuple(map(_key, given)) if self.wanted.open_shapes else ()
            with torch.no_grad():
                if key in self.plans:
                    results = self.code(*flipped)
                else:
                    results = self._first(process, thread, where, key, given, flipped)
            made = [self._result(process, thread, r, sources, device, where.ordinal) for r in results]
            self._launch(process, thread, where, key, begun)
            return made
        finally:
            thread.clock.leave()

    def _first(
        self, process: Process, thread: HostThread, where: Stream, key: object, given: Sequence[Any], flipped: Sequence[Any]
    ) -> Any:
        """The first run at these shapes: its values are watched and planned for."""
        watched = Watched(self.code)
        results = watched.run(*flipped, enable_io_processing=False)
        mine = dict(zip(self.code.graph.nodes, self.graph.nodes, strict=True))
        values = {mine[n]: v for n, v in watched.values.items()}
        inputs = [n for n in self.graph.nodes if n.op == "placeholder"]
        tensors = {n: launch.seen(v) for n, v in zip(inputs, given, strict=True) if isinstance(v, Tensor)}
        tensors |= {n: values[n] for n in self.graph.nodes if n.op == "get_attr" and isinstance(values[n], Seen)}
        watch = Watch(values, tensors, {mine[n]: v for n, v in watched.laid.items()})
        start = thread.clock.now
        plan = self.plans[key] = tasks(self.graph, watch, process.machine.chip, self.wanted)
        if len(self.plans) == 1:
            thread.clear()
            thread.site = place.script_site(process, sys._getframe())
            thread.clock.now += call_ns(BUILD) + call_ns(BUILD_KERNEL) * len(plan.kernels)
            place.row(process, thread, BUILD, start, place.ACL)
            if size := plan.memory.get("feature_map", 0) + plan.memory.get("workspace", 0):
                self.held.append(to_npu(torch.empty(size, dtype=torch.uint8)))
                memory.hold(process, thread, self.held[0], where.context.device, where.ordinal)
        return results

    def _result(
        self, process: Process, thread: HostThread, result: Any, sources: dict[int, Any], device: int, stream: int
    ) -> Any:
        """A result as the caller gets it: an input where it is one, else an npu tensor."""
        if not isinstance(result, Tensor):
            return result
        if id(result) in sources:
            return sources[id(result)]
        made = to_npu(result)
        memory.hold(process, thread, made, device, stream)
        return made

    def _launch(self, process: Process, thread: HostThread, where: Stream, key: object, begun: int) -> None:
        recording = process.recording
        if self.sink is not recording.sink:
            self.ready.clear()
            self.sink = recording.sink
        ready = self.ready.get(key)
        if ready is None:
            ready = self.ready[key] = self._made_ready(process, where, self.plans[key])
        with process.lock:
            clock = thread.clock
            clock.now += call_ns(CALL)
            start = clock.now
            thread.clear()
            thread.stream, thread.device = where.ordinal, where.context.device
            if recording.on:
                thread.correlation = recording.correlation()
                thread.site = place.script_site(process, sys._getframe())
            correlation = thread.correlation
            clock.now += call_ns(EXECUTE)
            self._submit(process, thread, where, ready)
            thread.correlation = correlation
            place.row(process, thread, EXECUTE, start, place.ACL)
            launch.marked(process, thread, self.name, begun, correlation)
            self.since += 1
            if self.since >= MOST_QUEUED:
                self.since = 0
                process.advance(min(clock.now, process.slowest(thread)))

    def _submit(self, process: Process, thread: HostThread, where: Stream, ready: Ready) -> None:
        if self.wanted.open_shapes:
            for step in ready.steps:
                launch_node(process, thread, where, Task(KERNEL, 0, ready.row, program=[step]))
            return
        steps = ready.steps
        if ready.lanes is not None:
            steps = ready.lanes.submit(process, thread, where, steps, ready.row)
        if steps:
            task = Task(KERNEL, 0, ready.row, program=steps)
            task.correlation = thread.correlation
            where.submit(process, thread, task)

    def _made_ready(self, process: Process, where: Stream, plan: Tasks) -> Ready:
        recording = process.recording
        state = "dynamic" if self.wanted.open_shapes else "static"
        steps = [step_of(process, kernel, self.name, state) for kernel in plan.kernels]
        model = om.Model(process.machine.chip.name, plan.build, (), (), plan.kernels, plan.memory, events=plan.events)
        lanes = Lanes(process, where, model) if plan.events else None
        if not recording.on:
            return Ready(steps, PLAIN, lanes)
        number = process.ordinal("model") + 1
        facts = {
            "name": self.name, "path": "", "soc": model.soc, "kernels": len(steps), "build": plan.build, "memory": plan.memory,
        }  # fmt: skip
        recording.sink.meta(**{f"model_{number}": facts})
        return Ready(steps, Row(model=number), lanes)
