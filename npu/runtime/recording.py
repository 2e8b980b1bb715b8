"""What the runtime tells a sink: writers for the tables, texts by id, ordinals in place of handles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, islice
from types import FrameType

from npu.cost import Cost
from npu.device.task import Row
from npu.events import TABLES, NullSink, Sink
from npu.om import Kernel

Writer = Callable[..., None]
MOST_ROWS = 4096  # remembered task rows
MOST_TEXTS = 1 << 16  # remembered texts: buffers of a run that allocates for each frame never come again
MOST_FRAMES = 128  # innermost frames of a stack
_UNITS = tuple(
    c.name for c in TABLES["kernel"] if c.code == "d" and c.name not in ("duration", "read_bytes", "write_bytes", "flops")
)


class Recording:
    """The writers of one process; `on` is False when nobody listens, and then nothing is interned or written."""

    def __init__(self, sink: Sink | None, stacks: bool = False) -> None:
        self.listen(sink)
        self.stacks = stacks  # whether a call site is recorded with the whole Python stack
        self._stacks: dict[tuple[int, ...], int] = {}
        self._kernels: dict[tuple[object, ...], int] = {}
        self._texts: dict[str, int] = {}
        self._said: dict[int, str] = {}  # the same the other way round, as of the last question
        self._turned = 0  # how many of them
        self.rows: dict[tuple[int, ...], Row] = {}
        self._sites: dict[int, int] = {}
        self._codes: dict[int, object] = {}  # keeps the code objects alive whose addresses are in the keys of _sites
        self.correlation = count(1).__next__  # a new id that ties a call to the tasks it launches

    def listen(self, sink: Sink | None) -> None:
        """Write to a sink from now on, or to one whose writers have changed; to nobody for None."""
        self.on = sink is not None
        self.sink: Sink = sink if sink is not None else NullSink()
        self.api: Writer = self.sink.writer("api")
        self.task: Writer | None = self.sink.writer("task") if self.on else None
        self.memory: Writer = self.sink.writer("memory")
        self.marker: Writer = self.sink.writer("marker")
        self.counter: Writer = self.sink.writer("counter")
        self._kernel: Writer = self.sink.writer("kernel")

    def text(self, text: str) -> int:
        """The id of a text, -1 for the empty one."""
        if not text or not self.on:
            return -1
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            found = self._texts[text] = self.sink.text(text)
        return found

    def said(self, number: int) -> str:
        """The text of an id, "" for -1. For those who ask now and then: texts that are new since the last time are looked at."""
        if self._turned > len(self._texts):  # they were forgotten meanwhile; ids stay
            self._turned = 0
        for text, id in islice(self._texts.items(), self._turned, None):
            self._said[id] = text
        self._turned = len(self._texts)
        return self._said.get(number, "")

    def site(self, frame: FrameType | None) -> int:
        """The id of the call site "file:line" of a frame, looked up by code and instruction: hashing a code object or asking for
        the line number would cost more than all the rest of recording a call. The instruction's offset lies within the memory of
        its code object, so that the sum of address and offset is one site's alone."""
        if frame is None or not self.on:
            return -1
        if self.stacks:
            return self._stack(frame)
        code = frame.f_code
        key = id(code) + frame.f_lasti
        found = self._sites.get(key)
        if found is None:
            self._codes[id(code)] = code
            found = self._sites[key] = self.text(f"{code.co_filename}:{frame.f_lineno}")
        return found

    def _stack(self, frame: FrameType) -> int:
        """The id of a call site with its frames: "file:line", then a line "file:line function" for each frame, the innermost
        first."""
        at: FrameType | None = frame
        places: list[int] = []
        while at is not None and len(places) < MOST_FRAMES:
            places.append(id(at.f_code) + at.f_lasti)
            at = at.f_back
        key = tuple(places)
        found = self._stacks.get(key)
        if found is None:
            if len(self._stacks) >= MOST_TEXTS:
                self._stacks.clear()
            lines = [f"{frame.f_code.co_filename}:{frame.f_lineno}"]
            at = frame
            while at is not None and len(lines) <= MOST_FRAMES:
                self._codes[id(at.f_code)] = at.f_code
                lines.append(f"{at.f_code.co_filename}:{at.f_lineno} {at.f_code.co_qualname}")
                at = at.f_back
            found = self._stacks[key] = self.text("\n".join(lines))
        return found

    def row(
        self,
        task_type: str,
        event: int = -1,
        reads: str = "",
        writes: str = "",
        count: int = -1,
        direction: int = -1,
        host_kind: int = -1,
    ) -> Row:
        """What is recorded of a task that is no kernel of a model."""
        text = self.text
        return Row(count, -1, text(task_type), -1, -1, event, text(reads), text(writes), direction, host_kind)

    def keep(self, key: tuple[int, ...], row: Row) -> Row:
        """Remember a row that is needed again and again in `rows`."""
        if len(self.rows) >= MOST_ROWS:
            self.rows.clear()
        self.rows[key] = row
        return row

    def kernel(self, kernel: Kernel, cost: Cost, model_name: str = "", op_state: str = "static") -> int:
        """The row of a compiled kernel in the kernel table, written when it is new; -1 when nobody listens."""
        if not self.on:
            return -1
        key = (kernel, cost, model_name, op_state)
        found = self._kernels.get(key)
        if found is None:
            t = self.text
            texts = (
                kernel.name,
                kernel.op_type,
                cost.task_type,
                op_state,
                "NO",
                kernel.in_shapes,
                kernel.in_dtypes,
                kernel.in_formats,
                kernel.out_shapes,
                kernel.out_dtypes,
                kernel.out_formats,
                kernel.origin,
                model_name,
            )
            self._kernel(
                *map(t, texts),
                cost.block_dim,
                cost.mix_block_dim,
                float(cost.duration),
                float(kernel.work.read_bytes),
                float(kernel.work.write_bytes),
                cost.flops,
                *(getattr(cost, n) for n in _UNITS),
            )
            found = self._kernels[key] = len(self._kernels)
        return found
