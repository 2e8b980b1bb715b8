"""A small machine: host threads with clocks of their own, streams that are FIFOs, a copy engine for each direction. Scripts run
on it leave a trace and an end, so that a planted cause and its cure can be compared without the simulator. Times in us."""

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
        self.thread = 0
        self.clocks: dict[int, float] = {0: 0.0}
        self.free: dict[int, float] = {}
        self.engines: dict[str, float] = {}
        self.events: dict[int, float] = {}
        self.correlation = 0

    @property
    def now(self) -> float:
        return self.clocks.setdefault(self.thread, 0.0)

    @now.setter
    def now(self, us: float) -> None:
        self.clocks[self.thread] = us

    @property
    def end(self) -> float:
        return max([*self.clocks.values(), *self.free.values()])

    def step(self, number: int, start: float) -> None:
        """A marked step from start to now."""
        self.made.marker("step", f"step {number}", start, self.now)

    def marked(self, kind: str, us: float) -> None:
        """The user's own code inside a marker."""
        self.made.marker(kind, kind, self.now, self.now + us, thread=self.thread)
        self.work(us)

    def call(self, name: str, us: float | None = None, site: str = "loop.py:3") -> None:
        """A call that launches nothing and waits for nothing; its modelled cost unless said."""
        start = self.now
        self.now += cost.call_ns(name) / US if us is None else us
        self.made.api(name, start, self.now, thread=self.thread, blocking=0, site=site)

    def work(self, us: float) -> None:
        """The user's own code."""
        self.now += us

    def _call(self, name: str, until: float = 0.0, **more: object) -> None:
        start = self.now
        self.now = max(start + cost.call_ns(name) / US, until)
        self.made.api(name, start, self.now, thread=self.thread, **more)

    def copy(
        self,
        count: int,
        direction: str = "h2d",
        pinned: bool = False,
        stream: int = -1,
        site: str = "loop.py:5",
        slower: float = 1,
        touches: str = "",
    ) -> None:
        """A copy: through the blocking call, or on a stream. Blocking copies have a stream of their own (0)."""
        self.correlation += 1
        kind = "pinned" if pinned else "pageable"
        made = cost.copy_ns(count, direction, kind, CHIP)
        start = max(self.now + 1, self.free.get(max(stream, 0), 0.0), self.engines.get(direction, 0.0))
        end = start + made.latency_ns / US + slower * count / made.bytes_per_ns / US
        self.free[max(stream, 0)] = self.engines[direction] = end
        facts = {"correlation": self.correlation, "bytes": count, "direction": direction, "host_kind": kind}
        side = {"writes" if direction == "h2d" else "reads": touches}
        self.made.task("copy", start, end, stream=max(stream, 0), **facts, **side)
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
        self,
        kernels: list[tuple[str, float]],
        stream: int = 1,
        shape: str = "1,64,56,56",
        site: str = "loop.py:7",
        model: int = 1,
        blocks: int = 20,
        touches: tuple[str, str] = ("", ""),
        blocking: bool = False,
    ) -> None:
        """A model: (operator, us) one after the other. touches: the buffers it reads and writes."""
        self.correlation += 1
        start = max(self.now + LAUNCH, self.free.get(stream, 0.0) + GAP)
        for number, (op, us) in enumerate(kernels):
            self.made.task(
                "kernel",
                start,
                start + us,
                stream=stream,
                correlation=self.correlation,
                model=model,
                op_type=op,
                name=f"{op}_{number}",
                task_type="AI_CORE",
                block_dim=blocks,
                in_shapes=f"{shape};64,64,3,3",
                in_dtypes="FLOAT16;FLOAT16",
                in_formats="NCHW;NCHW",
                out_shapes=shape,
                out_dtypes="FLOAT16",
                out_formats="NCHW",
                reads=touches[0],
                writes=touches[1],
            )
            self.free[stream] = start + us
            start += us + GAP
        name, until = ("aclmdlExecute", self.free[stream]) if blocking else ("aclmdlExecuteAsync", 0.0)
        self._call(name, until, stream=stream, correlation=self.correlation, blocking=int(blocking), site=site)

    def fill(self, count: int, us: float, stream: int = -1) -> None:
        """Fill device memory: through the blocking call, or on a stream."""
        self.correlation += 1
        place, blocking = max(stream, 0), stream < 0
        start = max(self.now + 1, self.free.get(place, 0.0))
        self.free[place] = start + us
        facts = {"correlation": self.correlation, "bytes": count}
        self.made.task("memset", start, start + us, stream=place, **facts)
        name, until = ("aclrtMemset", start + us) if blocking else ("aclrtMemsetAsync", 0.0)
        self._call(name, until, blocking=int(blocking), site="loop.py:4", **facts)

    def move(self, count: int, gbps: float, stream: int = 1) -> None:
        """A copy inside the device."""
        self.correlation += 1
        start = max(self.now + 1, self.free.get(stream, 0.0))
        end = self.free[stream] = start + count / gbps / 1000
        facts = {"correlation": self.correlation, "bytes": count, "direction": "d2d"}
        self.made.task("copy", start, end, stream=stream, **facts)
        self._call("aclrtMemcpyAsync", blocking=0, stream=stream, site="loop.py:6", **facts)

    def sync_device(self, site: str = "loop.py:8") -> None:
        self._call("aclrtSynchronizeDevice", max(self.free.values()), blocking=1, site=site)

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
