"""View V4: transfer, waiting and arrivals by hand. Times in us; parts: 0 transfer, 1 record, 2 wait, 3 reduce."""

from __future__ import annotations

from npu import events
from profiler.analysis.context import Context
from profiler.analysis.edits import Skip
from tests.made import Made

TRANSFER, RECORD, WAIT, REDUCE = range(4)
assert events.COMM_PARTS == ("transfer", "record", "wait", "reduce")


def part(made: Made, kind: int, start: float, end: float, peer: int, plane: int = 0, own: int = 0) -> None:
    made.comm("part", "", start, end, part=kind, src=own, dst=peer, plane=plane, rank=own)


def all_reduce() -> Made:
    """Rank 0 from 0 to 100: waits for rank 1 until 30 and for rank 2 until 60, a transfer beside the second wait from 50 to 70,
    a local copy from 70 to 75, a second wait for rank 2 from 80 to 90."""
    made = Made()
    made.comm("op", "allReduce", 0, 100)
    part(made, RECORD, 0, 1, 1)
    part(made, WAIT, 1, 30, 1)
    part(made, WAIT, 1, 60, 2, plane=1)
    part(made, REDUCE, 50, 70, 1)
    part(made, TRANSFER, 70, 75, 0)
    part(made, WAIT, 80, 90, 2, plane=1)
    return made


def test_one_collective() -> None:
    """Transfer 20 (the local copy is none), waiting [1, 50) and [80, 90) = 59, other 21; all waiting ends with rank 2."""
    found = Context(all_reduce().trace()).collectives
    assert (found.transfer.tolist(), found.waiting.tolist(), found.other.tolist()) == ([20_000], [59_000], [21_000])
    assert (found.last.tolist(), found.lag.tolist(), found.arrival.tolist()) == ([2], [60_000], [60_000])
    assert dict(zip(found.pair_peer.tolist(), found.pair_lag.tolist(), strict=True)) == {1: 30_000, 2: 60_000}
    assert dict(zip(found.pair_peer.tolist(), found.pair_charged.tolist(), strict=True)) == {1: 0, 2: 59_000}


def test_the_rank_itself_was_last() -> None:
    made = Made()
    made.meta["rank"] = 3
    made.comm("op", "allGather", 0, 100, rank=3)
    part(made, WAIT, 1, 1.5, 1, own=3)
    part(made, WAIT, 2, 26, 2, own=3)
    found = Context(made.trace()).collectives
    assert (found.last.tolist(), found.lag.tolist()) == ([3], [0])
    assert dict(zip(found.pair_peer.tolist(), found.pair_lag.tolist(), strict=True)) == {1: 0, 2: 26_000}


def test_a_collective_without_parts_is_unknown_and_not_zero() -> None:
    made = Made()
    made.comm("op", "allReduce", 0, 100)
    found = Context(made.trace()).collectives
    assert (found.known.tolist(), found.last.tolist()) == ([False], [-1])
    assert Context(made.trace()).views.exposed == {0: None}


def test_what_kernels_cover_is_not_exposed() -> None:
    """A kernel covers [0, 55): of the waiting [80, 90) stays, of the transfer [55, 70)."""
    made = all_reduce()
    made.task("kernel", 0, 55)
    split = Context(made.trace()).views.exposed[0]
    assert split is not None
    assert (split.exposed_transfer, split.exposed_waiting, split.exposed_other) == (15_000, 10_000, 20_000)
    assert (split.transfer, split.waiting, split.other) == (20_000, 59_000, 21_000)


def test_two_groups_at_one_time_keep_their_parts() -> None:
    made = Made()
    for group, shift in (("a", 0.0), ("b", 10.0)):
        made.comm("op", "allReduce", shift, shift + 50, group=group)
        made.comm("part", "", shift + 5, shift + 30, part=WAIT, src=0, dst=1, group=group)
    found = Context(made.trace()).collectives
    assert found.waiting.tolist() == [25_000, 25_000]


def test_peers_by_the_time_waited_for_them() -> None:
    peers = Context(all_reduce().trace()).views.peers
    assert [(p.rank, p.own, p.last, p.charged_ns) for p in peers] == [(2, False, 1, 59_000), (1, False, 0, 0)]
    assert (peers[0].mean_lag_ns, peers[0].last_share) == (60_000, 1.0)


def test_links_against_their_kind() -> None:
    """2 MiB to rank 1 in 100 (21 GB/s) and to rank 2 in 200; the median of both is 15.7, the ratios 4/3 and 2/3."""
    made = Made()
    made.comm("op", "allReduce", 0, 500)
    for peer, wide in ((1, 100), (2, 200)):
        made.comm("part", "", 0, wide, part=TRANSFER, src=0, dst=peer, bytes=2 << 20, link="HCCS")
    slow, fast = Context(made.trace()).views.links
    assert (slow.dst, fast.dst, slow.size_class) == (2, 1, 3)
    assert (round(slow.ratio, 3), round(fast.ratio, 3)) == (0.667, 1.333)
    assert round(fast.gbps, 2) == 20.97


def test_gains_here_and_on_all_ranks() -> None:
    """A collective that rank 1 holds until 1000 begins at 100 here. Starting it 60 earlier gains nothing here, and 60 on all."""
    made = Made()
    made.marker("step", "ProfilerStep#0", 0, 1200)
    made.api("aclrtMalloc", 10, 70)
    made.api("hcom_allReduce_", 90, 95, correlation=1)
    made.comm("op", "allReduce", 100, 1100, correlation=1)
    part(made, WAIT, 101, 1000, 1)
    part(made, TRANSFER, 1000, 1100, 1)
    context = Context(made.trace())
    assert context.held
    assert int(context.graph.waited[0]) == 900_000 and len(context.graph.external) == 1
    nodes = context.graph.chains.collective[:1]
    assert context.replay.times([Skip(context.calls_in_window(context.trace.api_named("aclrtMalloc")))])[nodes] == [1_100_000]
    rows = context.calls_in_window(context.trace.api_named("aclrtMalloc"))
    assert context.gain([Skip(rows)]) == 0
    assert context.gain([Skip(rows)], alike=True) == 60_000
    assert (context.replay.times() == context.graph.time).all()
    assert (context.replay.times(alike=True) == context.graph.time).all()
