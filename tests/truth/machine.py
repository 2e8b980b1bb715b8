"""A machine in thirty lines: one host thread, streams that are FIFOs, one copy engine. Scripts run on it leave a trace and an
end, so that a planted cause and its cure can be compared without the simulator. Times in us."""

from __future__ import annotations

from npu import cost, soc
from npu.cost import Work
from npu.units import US
from tests.made import Made

CHIP = soc.find(soc.DEFAULT)
GAP = 0.55  # between kernels of one launch
LAUNCH = 2.0  # from the start of an execute call to its first kernel


class Machine:
    def __init__(self) -> None:
        self.made = Made()
        self.now = 0.0
        self.free: dict[int, float] = {}
        self.engine = 0.0
        self.events: dict[int, float] = {}
        self.correlation = 0

    @property
    def end(self) -> float:
        return max([self.now, *self.free.values()])

    def work(self, us: float) -> None:
        """The user's own code."""
        self.now += us

    def _call(self, name: str, until: float = 0.0, **more: object) -> None:
        start = self.now
        self.now = max(start + cost.call_ns(name) / US, until)
        self.made.api(name, start, self.now, **more)

    def copy(self, count: int, direction: str = "h2d", pinned: bool = False, stream: int = -1, site: str = "loop.py:5") -> None:
        """A copy: through the blocking call, or on a stream. Blocking copies have a stream of their own (0)."""
        self.correlation += 1
        kind = "pinned" if pinned else "pageable"
        made = cost.copy_ns(count, direction, kind, CHIP)
        start = max(self.now + 1, self.free.get(max(stream, 0), 0.0), self.engine)
        end = start + made.latency_ns / US + count / made.bytes_per_ns / US
        self.free[max(stream, 0)] = self.engine = end
        facts = {"correlation": self.correlation, "bytes": count, "direction": direction, "host_kind": kind}
        self.made.task("copy", start, end, stream=max(stream, 0), **facts)
        blocking = stream < 0
        self._call(
            "aclrtMemcpy" if blocking else "aclrtMemcpyAsync",
            end if blocking else 0.0,
            blocking=int(blocking),
            site=site,
            stream=stream,
            **facts,
        )

    def execute(
        self, kernels: list[tuple[str, float]], stream: int = 1, shape: str = "1,64,56,56", site: str = "loop.py:7"
    ) -> None:
        """A model: (operator, us) one after the other."""
        self.correlation += 1
        start = max(self.now + LAUNCH, self.free.get(stream, 0.0) + GAP)
        for number, (op, us) in enumerate(kernels):
            self.made.task(
                "kernel",
                start,
                start + us,
                stream=stream,
                correlation=self.correlation,
                model=1,
                op_type=op,
                name=f"{op}_{number}",
                task_type="AI_CORE",
                block_dim=20,
                in_shapes=f"{shape};64,64,3,3",
                in_dtypes="FLOAT16;FLOAT16",
                in_formats="NCHW;NCHW",
                out_shapes=shape,
                out_dtypes="FLOAT16",
                out_formats="NCHW",
            )
            self.free[stream] = start + us
            start += us + GAP
        self._call("aclmdlExecuteAsync", stream=stream, correlation=self.correlation, blocking=0, site=site)

    def record(self, event: int, stream: int) -> None:
        self.correlation += 1
        at = max(self.now, self.free.get(stream, 0.0))
        self.free[stream] = self.events[event] = at
        self.made.task("record", at, at, stream=stream, event=event, correlation=self.correlation)
        self._call("aclrtRecordEvent", stream=stream, event=event, correlation=self.correlation, blocking=0)

    def wait(self, event: int, stream: int) -> None:
        self.correlation += 1
        start = max(self.now, self.free.get(stream, 0.0))
        self.free[stream] = max(start, self.events[event])
        self.made.task("wait", start, self.free[stream], stream=stream, event=event, correlation=self.correlation)
        self._call("aclrtStreamWaitEvent", stream=stream, event=event, correlation=self.correlation, blocking=0)

    def sync(self, stream: int = 1, site: str = "loop.py:8") -> None:
        self._call("aclrtSynchronizeStream", self.free.get(stream, 0.0), stream=stream, blocking=1, site=site)


def conv_us(epilogue: int = 0) -> float:
    """Modelled time of the convolution that `execute` describes by default."""
    elements = 56 * 56 * 64
    return (
        cost.kernel(
            Work(
                "conv",
                "Conv2D",
                "float16",
                (1, 56, 56, 64, 64, 3, 3, 1),
                2 * (elements + 64 * 64 * 9),
                2 * elements,
                epilogue * elements,
            ),
            CHIP,
        ).duration
        / US
    )


def unfused(blocks: int) -> list[tuple[str, float]]:
    return [("Conv2D", conv_us()), ("BNInfer", 4.0), ("Relu", 3.0)] * blocks


def fused(blocks: int) -> list[tuple[str, float]]:
    return [("Conv2D", conv_us(2))] * blocks
