"""Collective algorithms: the right data in every slice, steps and volumes as the formulas say, for any number of ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.hccl import bruck, halving_doubling, mesh, nhr, pairwise, parameter_server, ring
from npu.hccl.transfer import Steps, split

ranks = st.integers(1, 17)
sizes = st.integers(0, 70)
ALL_REDUCE = [
    ring.all_reduce,
    mesh.all_reduce,
    halving_doubling.all_reduce,
    nhr.all_reduce,
    bruck.all_reduce,
    parameter_server.all_reduce,
]


def play(steps: Steps, buffers: list[np.ndarray], into: list[np.ndarray] | None = None) -> list[np.ndarray]:
    """Carry the steps out: within a step everybody sends what it had before it."""
    target = buffers if into is None else into
    for step in steps:
        sent = [(t, buffers[t.src][t.src_at : t.src_at + t.size].copy()) for t in step]
        for t, piece in sent:
            place = target[t.dst][t.dst_at : t.dst_at + t.size]
            place[:] = place + piece if t.reduce else piece
    return target


def data(p: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(p * 1000 + n)
    return [rng.integers(-50, 50, n) for _ in range(p)]


@pytest.mark.parametrize("algorithm", ALL_REDUCE, ids=lambda f: f.__module__.rpartition(".")[2])
@settings(max_examples=60, deadline=None)
@given(p=ranks, n=sizes)
def test_all_reduce_gives_everybody_the_sum(algorithm, p, n):
    buffers = data(p, n)
    total = sum(buffers)
    assert all(np.array_equal(b, total) for b in play(algorithm(list(range(p)), 0, n), buffers))


@pytest.mark.parametrize("module", [ring, mesh, nhr, bruck, halving_doubling], ids=lambda m: m.__name__.rpartition(".")[2])
@settings(max_examples=40, deadline=None)
@given(p=ranks, n=sizes)
def test_reduce_scatter_and_all_gather(module, p, n):
    if module is halving_doubling:
        p = 1 << (p.bit_length() - 1)
    buffers = data(p, n)
    total = sum(buffers)
    play(module.reduce_scatter(list(range(p)), 0, n), buffers)
    for rank, (at, size) in enumerate(split(0, n, p)):
        assert np.array_equal(buffers[rank][at : at + size], total[at : at + size])
    alone = [np.zeros(n, int) for _ in range(p)]
    for rank, (at, size) in enumerate(split(0, n, p)):
        alone[rank][at : at + size] = total[at : at + size]
    assert all(np.array_equal(b, total) for b in play(module.all_gather(list(range(p)), 0, n), alone))


@pytest.mark.parametrize("module", [ring, mesh, halving_doubling, nhr], ids=lambda m: m.__name__.rpartition(".")[2])
@settings(max_examples=30, deadline=None)
@given(p=ranks, n=sizes, root=st.integers(0, 16))
def test_rooted_operations(module, p, n, root):
    order = [(root + i) % p for i in range(p)]  # the root stands first
    buffers = data(p, n)
    wanted = buffers[order[0]].copy()
    assert all(np.array_equal(b, wanted) for b in play(module.broadcast(order, 0, n), buffers))
    if hasattr(module, "reduce"):
        buffers = data(p, n)
        total = sum(buffers)
        assert np.array_equal(play(module.reduce(order, 0, n), buffers)[order[0]], total)
    if hasattr(module, "scatter"):
        buffers = data(p, n)
        whole = buffers[order[0]].copy()
        play(module.scatter(order, 0, n), buffers)
        for rank, (at, size) in zip(order, split(0, n, p), strict=True):
            assert np.array_equal(buffers[rank][at : at + size], whole[at : at + size])


@settings(max_examples=40, deadline=None)
@given(p=st.integers(1, 9), seed=st.integers(0, 99))
def test_all_to_all_with_uneven_counts(p, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, (p, p)).tolist()
    send = [
        np.concatenate([np.full(counts[i][j], 100 * i + j) for j in range(p)]) if sum(counts[i]) else np.zeros(0, int)
        for i in range(p)
    ]
    for algorithm in (pairwise.pairwise, pairwise.mesh):
        receive = [np.zeros(sum(counts[i][j] for i in range(p)), int) for j in range(p)]
        play(algorithm(list(range(p)), counts), send, receive)
        for j in range(p):
            assert receive[j].tolist() == [100 * i + j for i in range(p) for _ in range(counts[i][j])]


def sent_by(steps: Steps, rank: int) -> int:
    return sum(t.size for step in steps for t in step if t.src == rank)


@pytest.mark.parametrize("p", [2, 3, 4, 7, 8, 9, 16])
def test_steps_and_volumes_equal_the_formulas(p):
    n = p * 12
    group = list(range(p))
    log = (p - 1).bit_length()
    assert len(ring.all_reduce(group, 0, n)) == 2 * (p - 1)
    assert len(mesh.all_reduce(group, 0, n)) == 2
    assert len(nhr.all_reduce(group, 0, n)) == len(bruck.all_reduce(group, 0, n)) == 2 * log
    for algorithm in (ring.all_reduce, mesh.all_reduce, nhr.all_reduce, bruck.all_reduce):
        assert all(sent_by(algorithm(group, 0, n), rank) == 2 * (p - 1) * n // p for rank in group)
    assert len(halving_doubling.broadcast(group, 0, n)) == log
    assert len(nhr.scatter(group, 0, n)) == log and sent_by(nhr.scatter(group, 0, n), 0) == (p - 1) * n // p


def test_nine_ranks_are_dearer_than_eight_and_sixteen_under_halving_doubling_only():
    n = 9 * 16 * 8

    def longest(algorithm, p: int) -> int:
        """Sum over the steps of the most that one rank sends."""
        return sum(max(sum(t.size for t in step if t.src == r) for r in range(p)) for step in algorithm(list(range(p)), 0, n))

    assert longest(halving_doubling.all_reduce, 9) > max(longest(halving_doubling.all_reduce, p) for p in (8, 16))
    assert longest(halving_doubling.all_reduce, 9) == n * 7 // 4 + 2 * n  # 2 (P - 1)/P n + 2 n with P = 8
    assert longest(nhr.all_reduce, 8) <= longest(nhr.all_reduce, 9) <= longest(nhr.all_reduce, 16)


def test_a_parameter_servers_port_carries_the_tensor_for_every_rank():
    steps = parameter_server.all_reduce(list(range(8)), 0, 100)
    assert sum(t.size for t in steps[0] if t.dst == 0) == sum(t.size for t in steps[1] if t.src == 0) == 700
