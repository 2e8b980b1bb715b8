"""Hand-made steps with collectives: a rank computes, then meets its peers, on one stream. Times in us."""

from __future__ import annotations

from npu.units import MIB
from tests.made import Made

TRANSFER, RECORD, WAIT, REDUCE = range(4)


class Steps:
    """What one rank does; the host issues everything ahead of the device and waits at the end of each step."""

    def __init__(self, rank: int = 0) -> None:
        self.made = Made()
        self.made.meta |= {"rank": rank, "world_size": 4, "ranks": [rank]}
        self.rank, self.now, self.host, self.begin = rank, 0.0, 0.0, 0.0
        self.count = self.ops = 0

    def step(self, compute: float, late: dict[int, float], transfer: float = 10, size: int = 4 * MIB) -> None:
        """late: by peer, how long after this rank it comes (0: it was there). All move `transfer` once the last has come."""
        self.kernel(compute)
        self.collective(late, transfer, size=size)
        self.mark()

    def mark(self) -> None:
        """The host waits for the device and begins the next step."""
        self.made.api("aclrtSynchronizeStream", self.host, self.now + 1, stream=1, blocking=1)
        self.made.marker("step", f"step {self.count}", self.begin, self.now + 2)
        self.host = self.begin = self.now + 2
        self.count += 1

    def issue(self, name: str) -> int:
        """A call of the host, which runs ahead of the device; gives its correlation."""
        self.ops += 1
        self.made.api(name, self.host, self.host + 1, correlation=self.ops, stream=1, blocking=0)
        self.host += 1
        self.now = max(self.now, self.host)
        return self.ops

    def kernel(self, length: float, op_type: str = "MatMulV2") -> None:
        number = self.issue("aclopExecuteV2")
        self.made.task("kernel", self.now, self.now + length, correlation=number, op_type=op_type, name=op_type)
        self.now += length

    def collective(
        self,
        late: dict[int, float],
        transfer: float = 10,
        name: str = "hcom_allReduce_",
        size: int = 4 * MIB,
        local: float = 0.0,
        transport: str = "SDMA",
        speed: dict[int, float] | None = None,
    ) -> None:
        """local: a copy inside the device before anything else. speed: by peer, how many times as long its transfer takes."""
        number = self.issue("HcclAllReduce")
        start = self.now
        last = start + local + max(late.values())
        own = {"rank": self.rank, "op": number, "stream": 1, "transport": transport, "link": "HCCS", "group": "world"}
        end = last
        if local:
            self.made.comm("part", "", start, start + local, part=TRANSFER, src=self.rank, dst=self.rank, bytes=size, **own)
        for plane, (peer, lag) in enumerate(late.items()):
            if lag:
                self.made.comm(
                    "part", "", start + local, start + local + lag, part=WAIT, src=peer, dst=self.rank, plane=plane, **own
                )
            until = last + transfer * (speed or {}).get(peer, 1)
            self.made.comm("part", "", last, until, part=TRANSFER, src=self.rank, dst=peer, bytes=size, plane=plane, **own)
            end = max(end, until)
        self.made.task("other", start, end, correlation=number, name="Notify_Wait")  # the device's side of it
        self.made.comm("op", f"{name}{number}", start, end, bytes=size, correlation=number, **own)
        self.now = end


def waiting_for(peer: int, lag: float, steps: int = 5, compute: float = 500) -> Steps:
    """Steps in which that peer comes `lag` after this rank; the others are there."""
    made = Steps()
    for _ in range(steps):
        made.step(compute, {1: 0, 2: 0, 3: 0} | {peer: lag})
    return made


def transfers(length: float) -> Steps:
    """Five steps in which nobody waits and all move data for that long."""
    made = Steps()
    for _ in range(5):
        made.step(500, {1: 0, 2: 0, 3: 0}, transfer=length)
    return made
