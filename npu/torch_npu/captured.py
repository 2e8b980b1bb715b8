"""torch.npu.NPUGraph: what operators did inside a block, done again by one launch.

1. Inside the block operators are worked out as ever, so that their results have shapes and memory; what they write in place is
   put back at its end, for on the device a capture computes nothing. Kernels are not queued but noted, as is the arithmetic.
2. A replay does the arithmetic again over the same bytes, in the same order, and queues all kernels as one task list: the host
   calls once, and the kernels follow each other on the device as those of a sunk model do.
A read by the host inside the block ends it with an error, as on the device.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from npu.device.task import KERNEL, PLAIN, Step, Task
from npu.runtime.process import Process
from npu.runtime.thread import HostThread
from npu.torch_npu import launch, place, waiting
from npu.torch_npu.streams import Stream, current_stream, set_stream

EXECUTE = "aclmdlRIExecuteAsync"
COST = "aclmdlExecuteAsync"  # its row of host_costs.csv: both launch a task list that lies on the device
SHOWN = "npu::NPUGraph.replay"
_pools = iter(range(1, sys.maxsize))


class Capture:
    """A block being noted. work: calls with arguments and results, all on the CPU; saved: bytes that were written in place."""

    def __init__(self) -> None:
        self.work: list[tuple[Callable[..., Any], Sequence[Any], dict[str, Any], Any]] = []
        self.queued: list[launch.Queued] = []
        self.saved: dict[int, tuple[Tensor, Tensor]] = {}

    def writes(self, tensor: Tensor) -> None:
        """A CPU form of an npu tensor is about to be written."""
        if tensor.data_ptr() not in self.saved:
            self.saved[tensor.data_ptr()] = tensor, tensor.clone()

    def did(self, compute: Callable[..., Any], given: Sequence[Any], options: dict[str, Any], results: Any) -> None:
        self.work.append((compute, given, options, results))

    def restore(self) -> None:
        with torch.inference_mode():
            for tensor, before in self.saved.values():
                tensor.copy_(before)
        self.saved.clear()


class NPUGraph:
    """capture_begin() and capture_end(), or the block torch.npu.graph; then replay() as often as wanted."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: Capture | None = None
        self._steps: list[Step] = []
        self._sink: object = None
        self._pool = (0, next(_pools))

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_more: Any) -> None:
        if launch.capture is not None:
            raise RuntimeError("NPUGraph: another graph is being captured; captures cannot be nested")
        self._pool = self._pool if pool is None else pool
        launch.capture = self._capture = Capture()

    def capture_end(self) -> None:
        if self._capture is None or launch.capture is not self._capture:
            raise RuntimeError("NPUGraph: capture_end() without capture_begin()")
        launch.capture = None
        self._capture.restore()

    def replay(self) -> None:
        """Do it all again. RuntimeError before a capture."""
        made = self._capture
        if made is None or launch.capture is made:
            raise RuntimeError("NPUGraph: nothing was captured; run operators inside `with torch.npu.graph(g):` first")
        process, thread = place.enter()
        try:
            with torch.inference_mode():
                for compute, given, options, results in made.work:
                    _again(results, compute(*given, **options))
            begun = thread.clock.now
            where = place.stream(process, thread, place.seats.mine.device)
            if self._sink is not process.recording.sink or not self._steps:
                self._sink = process.recording.sink
                self._steps = [_step(one) for call in made.queued for one in launch.built(process, call)]
            with process.lock:
                place.called(process, thread, EXECUTE, lambda: self._submit(process, thread, where), COST)
                launch.marked(process, thread, SHOWN, begun)
        finally:
            thread.clock.leave()

    def _submit(self, process: Process, thread: HostThread, where: Any) -> None:
        thread.stream, thread.device = where.ordinal, where.context.device
        if not self._steps:
            return
        task = Task(KERNEL, 0, PLAIN, program=self._steps)
        if process.recording.on:
            task.correlation = thread.correlation = process.recording.correlation()
        where.submit(process, thread, task)
        process.advance(min(thread.clock.now, process.slowest(thread)))

    def reset(self) -> None:
        self._capture, self._steps = None, []

    def pool(self) -> Any:
        return self._pool

    def update(self, *_args: Any, **_named: Any) -> None:
        raise RuntimeError("NPUGraph.update (other host values in captured operators) is not simulated; capture one for each")

    def enable_debug_mode(self) -> None:
        """Nothing is dumped here."""

    def debug_dump(self, debug_path: str) -> None:
        raise RuntimeError("NPUGraph.debug_dump is not simulated; look at the profile of a replay")


def _again(results: Any, fresh: Any) -> None:
    """New values into the bytes of the captured results."""
    if isinstance(results, list | tuple):
        for old, new in zip(results, fresh, strict=True):
            _again(old, new)
    elif isinstance(results, Tensor) and results.data_ptr() != fresh.data_ptr():
        results.copy_(fresh)


def _step(one: launch.Launch) -> Step:
    return Step(one.duration, one.aic, one.aiv, one.hbm, one.kind, one.row.name, one.row.task_type, one.row.kernel)


class graph:
    """A block whose operators become a graph, on a stream of its own or the one given."""

    def __init__(
        self, npu_graph: NPUGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global",
        **_more: Any,
    ) -> None:  # fmt: skip
        self._graph, self._pool, self._stream, self._mode = npu_graph, pool, stream, capture_error_mode

    def __enter__(self) -> None:
        with place.inside() as (process, thread):
            waiting.synchronize_device(process, thread, place.seats.mine.device)
        gc.collect()
        self._former = current_stream()
        set_stream(self._stream or Stream())
        self._graph.capture_begin(pool=self._pool, capture_error_mode=self._mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._graph.capture_end()
        set_stream(self._former)


def graph_pool_handle() -> tuple[int, int]:
    """A name under which graphs share memory; here each tensor keeps its own."""
    return 0, next(_pools)


def is_current_stream_capturing() -> bool:
    return launch.capture is not None


def refused(name: str) -> Callable[..., Any]:
    def call(*_args: Any, **_named: Any) -> Any:
        raise RuntimeError(f"torch.npu.{name} is not simulated; capture with torch.npu.graph(torch.npu.NPUGraph())")

    return call


NAMES: dict[str, Any] = {
    "NPUGraph": NPUGraph, "graph": graph, "graph_pool_handle": graph_pool_handle,
    "is_current_stream_capturing": is_current_stream_capturing,
    **{name: refused(name) for name in ("make_graphed_callables", "graph_task_group_begin", "graph_task_group_end",
                                        "graph_task_update_begin", "graph_task_update_end")},
}  # fmt: skip
