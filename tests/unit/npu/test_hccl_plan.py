"""Which algorithm is taken, that its steps are right on every product, and what whole clusters cost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from npu.hccl import check, cost, scale, scaling, select, topology
from npu.hccl.select import HAS, BadAlgorithm
from npu.units import MIB

NETS = [("910B", 8), ("910", 8), ("310P", 4), ("910_93", 16)]


@pytest.mark.parametrize(("family", "width"), NETS)
@pytest.mark.parametrize("op", sorted(HAS))
def test_every_algorithm_brings_the_right_data_everywhere(op, family, width):
    """Numbers of ranks that fill servers, that do not, and odd numbers of servers."""
    for ranks in (1, 2, 3, 5, 8, 12, 16, 24, 32):
        net = topology.of(family, ranks, width)
        for name in ("", *HAS[op]):
            for root in {0, ranks - 1, ranks // 2} if op in ("broadcast", "reduce", "scatter") else {0}:
                algo = f"level0:NA;level1:{name}" if name else ""
                assert check.right(op, net, algo, root), (ranks, name, root)


@pytest.mark.parametrize(
    ("family", "servers", "op", "algo", "profile", "log"),
    [
        ("910B", 1, "all_reduce", "", "MESH-RING", "AlgType(level 0-1-2):[fullmesh-NHR-NHR]"),
        ("910B", 3, "all_reduce", "", "MESH-NHR", "AlgType(level 0-1-2):[fullmesh-NHR-NHR]"),
        ("910B", 3, "all_reduce", "level0:NA;level1:ring", "MESH-ring", "AlgType(level 0-1-2):[fullmesh-ring-NHR]"),
        ("910B", 4, "all_gather", "allreduce=level0:NA;level1:ring/allgather=level0:NA;level1:H-D_R", "MESH-H-D_R", "H-D_R"),
        ("910B", 3, "all_gather", "level1:H-D_R", "MESH-NHR", "NHR"),  # no power of 2
        ("910B", 4, "reduce", "level1:NB", "MESH-H-D_R", "H-D_R"),  # reduce has no NB
        ("910", 4, "all_reduce", "", "RING-H-D_R", "[ring-H-D_R-NHR]"),
        ("910", 3, "all_reduce", "", "RING-ring", "[ring-ring-NHR]"),
        ("910B", 2, "all_to_all", "level1:ring", "MESH-pairwise", "pairwise"),
    ],
)
def test_the_choice(family, servers, op, algo, profile, log):
    choice = select.choose(op, topology.of(family, 8 * servers, 8), {"HCCL_ALGO": algo})
    assert choice.in_profile == profile
    assert log in choice.in_log


@pytest.mark.parametrize(
    ("text", "value"),
    [("level0:ring", "level0:ring"), ("level1:zigzag", "level1:zigzag"), ("sendrecv=level1:ring", "sendrecv"), ("ring", "ring"),
     ("level0:NA;level1:AHC", "level1:AHC"), ("level3:ring", "level3:ring")],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_by_name(text, value):
    with pytest.raises(BadAlgorithm) as caught:
        select.parse(text)
    assert caught.value.value == value
    assert value in str(caught.value)


def test_servers_of_different_size_are_taken_as_one_level():
    choice = select.choose("all_reduce", topology.of("910B", 12, 8), {})
    assert choice == ("mesh", "NHR", True)


@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "scatter", "all_to_all"])
@pytest.mark.parametrize("algo", ["", "level1:ring"])
def test_one_server_and_one_column_stand_for_the_whole_cluster(op, algo):
    """What scale computes stage by stage equals stepping through all ranks together."""
    for servers in (3, 4, 8):
        size = 8 * servers * 100_000
        together = cost.collective(op, topology.of("910B", 8 * servers, 8), size, 0, algo).duration
        assert scale.duration(op, "910B", servers, 8, size, algo) == pytest.approx(together, rel=0.01)


@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter"])
@pytest.mark.slow
def test_the_formula_for_long_columns_equals_stepping_up_to_512(op, monkeypatch):
    for servers in (16, 128, 512):
        column = topology.of("910B", servers, 1)
        stepped = scale.between(op, "NHR", column, 64 * MIB)
        with monkeypatch.context() as patch:
            patch.setattr(scale, "MOST_TRANSFERS", 0)
            assert scale.between(op, "NHR", column, 64 * MIB) == pytest.approx(stepped, rel=0.01)


def test_a_payload_larger_than_the_buffer_goes_in_loops():
    net = topology.of("910B", 8, 8)
    one, two = (cost.collective("all_reduce", net, n * cost.BUFFER).duration for n in (1, 2))
    assert two == 2 * one


@pytest.mark.slow
def test_scaling_pays_latency_for_small_buckets_and_exposes_the_last_one():
    slow = scaling.Training(10e6, 512 * MIB, MIB)
    fast = scaling.Training(100e6, 512 * MIB, 25 * MIB)
    small, usual = (scaling.point(t, "910B", 64, 8) for t in (slow, fast))
    assert small.exchange > 1.5 * usual.exchange
    assert usual.step == pytest.approx(100e6 + usual.exposed)
    last = scale.duration("all_reduce", "910B", 64, 8, 512 * MIB - 20 * 25 * MIB)
    assert usual.exposed == pytest.approx(last, rel=0.01)  # all others hide behind the backward pass
    points = scaling.curve(fast, "910B", 8)
    assert [p.ranks for p in points] == [8 << n for n in range(14)]
    assert all(a.exchange < b.exchange for a, b in pairwise(points))


def test_a_slow_rank_stretches_the_measured_time_of_the_fabric():
    plain = topology.of("910_93", 8, 16)
    slow = topology.Topology("910_93", plain.places, plain.servers_per_pod, (), ((3, 2.0),))
    usual, late = (cost.collective("all_reduce", n, 64 * MIB).duration for n in (plain, slow))
    assert usual == pytest.approx(661_750, rel=0.05)  # measured: 661.75 us
    assert 1.3 * usual < late <= 2.1 * usual
