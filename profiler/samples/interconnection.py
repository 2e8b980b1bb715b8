"""Samples of the links of a device, as --sys-interconnection-profiling takes them: PCIe to the host, HCCS to other devices.

PCIe counts by the kind of packet. A copy to the device is fetched: read requests go out (non-posted, no bytes of the copy) and
completions bring the data; a copy to the host goes out as posted writes. Latency of requests is not simulated.
HCCS counts what transfers carry. A rank's profile holds what it sends; in an exchange in which all do the same it receives as
much, elsewhere (broadcast, scatter, receive) the operation's bytes come in over the time of the operation.
"""

from __future__ import annotations

import numpy as np

from npu import events
from profiler.samples import rates
from profiler.trace import Array, Trace

PCIE_SENT, PCIE_FETCHED = "PCIe_post/Tx", "PCIe_cpl/Rx"
PCIE_IDLE = ("PCIe_post/Rx", "PCIe_nonpost/Tx", "PCIe_nonpost/Rx", "PCIe_cpl/Tx", "PCIe_nonpost_latency/Tx")
HCCS_SENT, HCCS_RECEIVED = "HCCS/Tx", "HCCS/Rx"
LINK = "HCCS"
MUTUAL = ("allreduce", "allgather", "reducescatter", "alltoall")  # each rank receives as much as it sends


def series(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    """(name, times, MB/s since the time before) of a device; the links to other devices only where it has sent or received."""
    return [*_pcie(trace, device, times), *_hccs(trace, device, times)]


def _pcie(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    task = trace.task
    if not task:
        return []
    copies = trace.tasks_of("copy") & (task["device"] == device)
    bytes_ = np.maximum(task.filled("bytes"), 0)
    made = []
    for name, direction in ((PCIE_SENT, "d2h"), (PCIE_FETCHED, "h2d")):
        mine = copies & (task.filled("direction") == events.DIRECTIONS.index(direction))
        made.append((name, times[1:], rates.rate(task["start"], task["end"], np.where(mine, bytes_, 0), times)))
    return made + [(name, times[1:], np.zeros(len(times) - 1)) for name in PCIE_IDLE]


def _hccs(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    comm = trace.comm
    if not comm or trace.strings.find(LINK) < 0:
        return []
    mine = comm["device"] == device
    over = mine & (comm.filled("link") == trace.strings.find(LINK)) & (comm["level"] == events.COMM_LEVELS.index("part"))
    if not over.any():
        return []
    bytes_ = np.maximum(comm.filled("bytes"), 0)
    rank, source = comm.filled("rank"), comm.filled("src")
    sent = np.where(over & (source == rank), bytes_, 0)
    received = np.where(over & (source != rank), bytes_, 0)
    # The operation of each row, as a number; what its name and its parts say of it.
    of = np.unique(np.stack((comm.filled("group"), comm.filled("op"))).astype(np.int64), axis=1, return_inverse=True)[1].ravel()
    is_op = mine & (comm["level"] == events.COMM_LEVELS.index("op"))
    all_alike = trace.strings.flags(lambda name: any(kind in name.lower() for kind in MUTUAL))[comm.filled("name")]
    mutual = _marked(of, is_op & all_alike)
    received += np.where(mutual, sent, 0)
    silent = is_op & ~mutual & _marked(of, over) & ~_marked(of, (sent > 0) | (received > 0))
    received += np.where(silent, bytes_, 0)
    both = ((HCCS_SENT, sent), (HCCS_RECEIVED, received))
    return [(name, times[1:], rates.rate(comm["start"], comm["end"], moved, times)) for name, moved in both]


def _marked(of: Array, rows: Array) -> Array:
    """For each row whether its operation has one of the rows marked."""
    some = np.zeros(int(of.max()) + 1, bool)
    some[of[rows]] = True
    found: Array = some[of]
    return found
