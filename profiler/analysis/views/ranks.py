"""Ranks (view V15): what this rank did with its steps, and how late the others came as seen from here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiler.analysis.views.basis import Basis
from profiler.analysis.views.collectives import Collectives, Exposed
from profiler.analysis.views.gap_classes import GapClasses
from profiler.findings import Breakdown


class RankTime(NamedTuple):
    """This rank and one device, sums over the judged steps, ns. None: the parts of its collectives were not recorded."""

    rank: int
    device: int
    steps: int
    computing: int
    host_late: int
    exposed_transfer: int | None
    exposed_waiting: int | None


class Peer(NamedTuple):
    """A rank as this one saw it arrive. last: collectives in which it came last, of `collectives`; lags behind the own start.
    charged: time waited that ended with it."""

    rank: int
    own: bool
    collectives: int
    last: int
    last_share: float
    mean_lag_ns: int
    max_lag_ns: int
    charged_ns: int


def rank_times(
    basis: Basis, breakdown: tuple[Breakdown, ...], exposed: dict[int, Exposed | None], gaps: dict[int, GapClasses]
) -> tuple[RankTime, ...]:
    """One record per device."""
    made = []
    for device in sorted({b.device for b in breakdown}):
        records = [b for b in breakdown if b.device == device]
        split = exposed.get(device)
        made.append(
            RankTime(
                own_rank(basis),
                device,
                len(records),
                sum(b.computing for b in records),
                gaps[device].host if device in gaps else 0,
                split.exposed_transfer if split is not None else None,
                split.exposed_waiting if split is not None else None,
            )
        )
    return tuple(made)


def own_rank(basis: Basis) -> int:
    """The rank of the trace; 0 where it does not say."""
    rank = basis.trace.meta.get("rank", 0)
    return rank if isinstance(rank, int) else 0


def peers(basis: Basis, found: Collectives) -> tuple[Peer, ...]:
    """All ranks whose notifies this rank waited for in collectives of the window, and itself; by the time waited for them."""
    if not len(found.row):
        return ()
    start = basis.trace.comm["start"][found.row]
    inside = found.known & (start >= basis.window[0]) & (start < basis.window[1])
    seen = int(inside.sum())
    pair = inside[found.pair_op] if len(found.pair_op) else np.zeros(0, bool)
    ranks = np.unique(np.concatenate((found.pair_peer[pair], found.last[inside]))).tolist()
    mine = own_rank(basis)
    made = []
    for rank in ranks:
        here = pair & (found.pair_peer == rank)
        last = int((found.last[inside] == rank).sum())
        lags = found.pair_lag[here]
        made.append(
            Peer(
                int(rank),
                rank == mine,
                int(here.sum()) if rank != mine else seen,
                last,
                last / max(1, seen),
                int(lags.mean()) if len(lags) else 0,
                int(lags.max(initial=0)),
                int(found.pair_charged[here].sum()),
            )
        )
    return tuple(sorted(made, key=lambda p: (-p.charged_ns, p.rank)))
