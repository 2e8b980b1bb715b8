"""Steps on a net: equal to the closed formulas where nothing is shared, shared fairly where something is."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.hccl import (
    bruck,
    formula,
    halving_doubling,
    mesh,
    nhr,
    pairwise,
    parameter_server,
    pipeline,
    ring,
    star,
    timing,
    topology,
)
from npu.hccl.formula import FORMS, Net
from npu.hccl.topology import Link, Topology
from npu.hccl.transfer import Transfer

A, GBPS, G = 1000.0, 10.0, 0.02
NET = Net(A, 1 / GBPS, G)
MODULES = {"ring": ring, "mesh": mesh, "H-D_R": halving_doubling, "NHR": nhr, "NB": bruck, "star": star,
           "parameter_server": parameter_server}  # fmt: skip


class Own(Topology):
    """Every pair has a wire of its own."""

    def link(self, src: int, dst: int) -> Link:
        return Link("wire", "HCCS", "SDMA", A, ((("wire", src, dst), GBPS),))


class Port(Topology):
    """Every rank has one port out and one in."""

    def link(self, src: int, dst: int) -> Link:
        return Link("port", "HCCS", "SDMA", A, ((("out", src, 0), GBPS), (("in", dst, 0), GBPS)))


def net(kind: type[Topology], ranks: int) -> Topology:
    return kind("910B", tuple((0, n) for n in range(ranks)))


def cases() -> list[tuple[str, str, int]]:
    found = []
    for op, algorithm in FORMS:
        if op == "all_to_all" or algorithm == "parameter_server":
            continue
        for p in (2, 3, 4, 5, 8, 9, 16, 17):
            if algorithm == "H-D_R" and op in ("all_gather", "reduce_scatter") and p & (p - 1):
                continue
            found.append((op, algorithm, p))
    return found


@pytest.mark.parametrize(("op", "algorithm", "p"), cases())
def test_stepping_equals_the_closed_formula(op, algorithm, p):
    n = p * 100_000
    steps = getattr(MODULES[algorithm], op)(list(range(p)), 0, n)
    assert timing.duration(steps, net(Own, p), 1, G) == pytest.approx(formula.duration(op, algorithm, p, n, NET), rel=0.01)


@pytest.mark.parametrize("p", [2, 4, 7, 8])
def test_pairwise_and_the_parameter_servers_port(p):
    n = p * 100_000
    steps = pairwise.pairwise(range(p), [[n // p] * p] * p)
    assert timing.duration(steps, net(Own, p)) == pytest.approx(formula.duration("all_to_all", "pairwise", p, n, NET), rel=0.01)
    served = parameter_server.all_reduce(range(p), 0, n)  # one port carries (p - 1) n in and out
    wanted = formula.duration("all_reduce", "parameter_server", p, n, NET)
    assert timing.duration(served, net(Port, p), 1, G) == pytest.approx(wanted, rel=0.02)


def test_a_mesh_through_one_port_takes_p_minus_1_times_the_bytes():
    p, n = 8, 800_000
    steps = mesh.all_gather(range(p), 0, n)
    assert timing.duration(steps, net(Port, p)) == pytest.approx(A + (p - 1) * (n / p) / GBPS, rel=0.001)


def test_nine_ranks_cost_more_than_eight_and_sixteen_under_halving_doubling_only():
    n = 16 * 9 * 1000
    took = {
        (m, p): timing.duration(MODULES[m].all_reduce(range(p), 0, n), net(Own, p)) for m in ("H-D_R", "NHR") for p in (8, 9, 16)
    }
    assert took["H-D_R", 9] > took["H-D_R", 16] > took["H-D_R", 8]
    assert took["NHR", 9] <= took["NHR", 16]


def test_ring_and_halving_doubling_cross_where_the_formulas_do():
    """p = 9: ring pays 16 a, H-D_R 8 a and (2 * 7/8 + 2 - 16/9) n b more, so they meet at n = 8 a / (71/36 b)."""
    meet = 8 * A * GBPS / (2 * 7 / 8 + 2 - 16 / 9)
    for n, faster in ((meet * 0.8, halving_doubling), (meet * 1.2, ring)):
        size = round(n / 72) * 72
        both = {m: timing.duration(m.all_reduce(range(9), 0, size), net(Own, 9)) for m in (ring, halving_doubling)}
        assert min(both, key=lambda m: both[m]) is faster


def test_pipeline_hides_the_mesh_behind_the_ring_between_servers():
    """4 servers of 4 on A2: 3 ring steps of RoCE, then one mesh step."""
    servers = topology.of("910B", 16, 4)
    size = 16 * 100_000
    far, near = servers.link(0, 4), servers.link(0, 1)
    between, inside = Net(far.latency, 1 / far.resources[0][1]), Net(near.latency, 1 / near.resources[0][1])
    wanted = formula.pipeline(16, 4, size, between, inside)
    assert timing.duration(pipeline.all_gather(servers.servers, 0, size), servers) == pytest.approx(wanted, rel=0.01)


def test_unequal_users_of_a_port_share_it_max_min_fair():
    """Two transfers leave rank 0 (5 each); rank 2's inbound port also takes one of rank 3, which gets the other 5."""
    step = [Transfer(0, 1, 0, 0, 50_000), Transfer(0, 2, 0, 0, 50_000), Transfer(3, 2, 0, 0, 50_000)]
    timed = {(t.src, t.dst): t for t in timing.play(timing.pieces([step]), net(Port, 4))}
    assert all(t.end == pytest.approx(A + 10_000) for t in timed.values())
    longer = [*step[:2], Transfer(3, 2, 0, 0, 100_000)]
    timed = {(t.src, t.dst): t for t in timing.play(timing.pieces([longer]), net(Port, 4))}
    assert timed[3, 2].end == pytest.approx(A + 15_000)  # 50,000 at 5, then alone at 10


def test_a_rank_that_is_done_goes_on_while_others_still_send():
    steps = [[Transfer(0, 1, 0, 0, 1000), Transfer(2, 3, 0, 0, 100_000)], [Transfer(1, 0, 0, 0, 1000)]]
    timed = {(t.src, t.dst): t for t in timing.play(timing.pieces(steps), net(Own, 4))}
    assert timed[1, 0].start == pytest.approx(A + 100)
    assert timed[2, 3].end == pytest.approx(A + 10_000)


@settings(max_examples=30, deadline=None)
@given(p=st.integers(2, 10), seed=st.integers(0, 99))
def test_no_port_carries_more_than_it_can(p, seed):
    """Bytes over the whole time never beat the port's bandwidth, and every byte arrives."""
    import numpy as np

    counts = np.random.default_rng(seed).integers(0, 50_000, (p, p)).tolist()
    timed = timing.play(timing.pieces(pairwise.mesh(range(p), counts)), net(Port, p))
    assert sum(t.bytes for t in timed) == sum(counts[i][j] for i in range(p) for j in range(p) if i != j)
    for rank in range(p):
        for mine in ([t for t in timed if t.src == rank], [t for t in timed if t.dst == rank]):
            if mine:
                assert sum(t.bytes for t in mine) <= GBPS * (max(t.end for t in mine) - A) * 1.0001


def test_links_are_what_the_products_have():
    a2, a3 = topology.of("910B", 16, 8), topology.of("910_93", 64, 16, 2)
    first, box = topology.of("910", 8, 8), topology.of("310P", 4, 4)
    kinds = [(n.link(a, b).link, n.link(a, b).transport) for n, a, b in
             ((a2, 0, 7), (a2, 0, 8), (a3, 0, 1), (a3, 0, 2), (a3, 0, 16), (a3, 0, 32), (first, 0, 3), (first, 0, 4), (box, 0, 1))]  # fmt: skip
    assert kinds == [("HCCS", "SDMA"), ("ROCE", "RDMA"), ("SIO", "SDMA"), ("HCCS_SW", "SDMA"), ("HCCS_SW", "SDMA"), ("ROCE", "RDMA"),
                     ("HCCS", "SDMA"), ("PCIE", "SDMA"), ("PCIE", "SDMA")]  # fmt: skip
    assert a3.link(0, 2).latency == 500 and a3.link(0, 16).latency == 5500
    assert a3.one_fabric is False and topology.of("910_93", 32, 16, 2).one_fabric is True
    with pytest.raises(ValueError, match="no link to itself"):
        a2.link(3, 3)


def test_a_slow_link_slows_its_pair_and_a_slow_rank_all_of_its_transfers():
    plain = topology.of("910B", 4, 4)
    link = dataclasses.replace(plain, slow_links=((0, 1, 4.0),))
    rank = dataclasses.replace(plain, slow_ranks=((2, 3.0),))
    steps = timing.pieces(mesh.all_gather(range(4), 0, 4_000_000))
    usual = {(t.src, t.dst): t.end for t in timing.play(steps, plain)}
    slow = {(t.src, t.dst): t.end for t in timing.play(steps, link)}
    assert slow[0, 1] == pytest.approx(4 * usual[0, 1]) and slow[1, 0] == pytest.approx(usual[1, 0])
    late = {(t.src, t.dst): t.end for t in timing.play(steps, rank)}
    assert all((late[pair] > 2 * usual[pair]) == (2 in pair) for pair in usual)


def test_the_page_has_what_the_model_predicts_for_a2() -> None:
    """By hand: an all-reduce of 1 MiB over a mesh of eight sends 128 KiB over each link twice, 1.5 us and 28 bytes a ns."""
    root = Path(__file__).parents[3]
    lines = runpy.run_path(str(root / "bench" / "predicted_collectives.py"))["lines"]()
    assert lines[0].startswith(f"| all_reduce | {2 * (1.5 + 131072 / 28000):.2f} us |")
    assert "\n".join(lines) in (root / "docs" / "hccl_test.md").read_text(encoding="utf-8")
