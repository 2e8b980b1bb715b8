"""A host thread that launches kernels one by one onto a stream, in steps: rows for tests of the rules. Times in us."""

from __future__ import annotations

from tests.made import Made

LEAD = 2.0  # from the start of a launch to its kernel


class Eager:
    """now: where the host is; busy: when the stream is free again."""

    def __init__(self) -> None:
        self.made = Made()
        self.now = 0.0
        self.busy = 0.0
        self.count = 0
        self._step = 0
        self._begun = 0.0

    def begin(self) -> None:
        self._begun = self.now

    def end(self) -> None:
        """Wait for the stream and mark the step."""
        self.sync()
        self.made.marker("step", f"ProfilerStep#{self._step}", self._begun, self.now)
        self._step += 1

    def user(self, us: float) -> None:
        self.now += us

    def call(self, name: str, us: float, **more: object) -> None:
        self.made.api(name, self.now, self.now + us, **{"site": "train.py:3", **more})
        self.now += us

    def launch(self, op: str, us: float, host: float = 5, gap: float = 1, **facts: object) -> None:
        """One launch of `host`, one kernel of `us`, at least `gap` after the one before."""
        self.count += 1
        self.made.api("launch", self.now, self.now + host, level="node", correlation=self.count, blocking=0, site="train.py:7")
        start = max(self.now + LEAD, self.busy + gap)
        known = {"op_type": op, "name": f"{op}_{self.count}", "task_type": "AI_VECTOR_CORE", "block_dim": 40}
        self.made.task("kernel", start, start + us, correlation=self.count, **{**known, **facts})
        self.busy = start + us
        self.now += host

    def sync(self) -> None:
        end = max(self.now, self.busy) + 1
        self.made.api("aclrtSynchronizeStream", self.now, end, stream=1, blocking=1, site="train.py:9")
        self.now = end


def bare(kernels: list[tuple[str, float, dict[str, object]]], gap: float = 1) -> Made:
    """Kernels back to back on one stream without any host call, as a file of kernels has them."""
    made = Made()
    now = 0.0
    for number, (op, us, facts) in enumerate(kernels):
        known = {"op_type": op, "name": f"{op}_{number}", "task_type": "AI_VECTOR_CORE", "block_dim": 40}
        made.task("kernel", now, now + us, **{**known, **facts})
        now += us + gap
    return made
