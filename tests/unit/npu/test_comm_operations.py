"""Collectives of ranks in threads: the data equals numpy's, for 1 to 17 ranks, all operations, random sizes and types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.runtime.comm import meeting
from tests.unit.npu.ranks import DTYPES, Rank, play

REDUCTIONS = {0: np.add, 1: np.multiply, 2: np.maximum, 3: np.minimum}
FEW = settings(max_examples=12, deadline=None)
sizes = st.integers(1, 17)
counts = st.integers(0, 300)
dtypes = st.sampled_from(sorted(DTYPES))


@pytest.fixture(autouse=True, scope="module")
def machine(tmp_path_factory):
    """Sixteen devices, a seventeenth rank on a second server; a state folder of its own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NPU_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    patch.setenv("NPU_CLOCK", "model")
    patch.setenv("NPU_DEVICES", "16")
    patch.setenv("HCCL_BUFFSIZE", "1")
    patch.delenv("NPU_SINK", raising=False)
    plain = meeting.myself
    patch.setattr(meeting, "myself", lambda p, t, rank, device: plain(p, t, rank, device)._replace(server=rank // 16))
    yield
    patch.undo()


def data(rank: int, count: int, dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed * 100 + rank).integers(-9, 9, count).astype(dtype)


def total(parts: list[np.ndarray], op: int) -> np.ndarray:
    result = parts[0].copy()
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            REDUCTIONS[op](result, part, out=result)
    return result


@FEW
@given(p=sizes, n=counts, dtype=dtypes, op=st.sampled_from([0, 1, 2, 3]), seed=st.integers(0, 99))
def test_all_reduce(p, n, dtype, op, seed):
    op = 0 if dtype == "int16" and op == 1 else op  # not on A2
    parts = [data(r, n, dtype, seed) for r in range(p)]

    def body(me: Rank):
        source, target = me.put(parts[me.rank]), me.put(np.zeros(n, dtype))
        assert me.hccl.HcclAllReduce(source, target, n, DTYPES[dtype], op, me.comm, me.stream) == 0, me.said
        assert me.sync() == 0, me.said
        return me.get(target, n, dtype)

    wanted = total(parts, op)
    assert all(np.array_equal(got, wanted, equal_nan=dtype.startswith("f")) for got in play(p, body))


@FEW
@given(p=sizes, n=counts, dtype=dtypes, root=st.integers(0, 16), seed=st.integers(0, 99))
def test_rooted_operations(p, n, dtype, root, seed):
    root %= p
    parts = [data(r, n, dtype, seed) for r in range(p)]
    whole = [data(r, n * p, dtype, seed + 1) for r in range(p)]

    def body(me: Rank):
        number = DTYPES[dtype]
        buffer, source, target = me.put(parts[me.rank]), me.put(parts[me.rank]), me.put(np.zeros(n, dtype))
        wide, piece = me.put(whole[me.rank]), me.put(np.zeros(n, dtype))
        assert me.hccl.HcclBroadcast(buffer, n, number, root, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclReduce(source, target, n, number, 2, root, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclScatter(wide, piece, n, number, root, me.comm, me.stream) == 0, me.said
        assert me.sync() == 0, me.said
        return me.get(buffer, n, dtype), me.get(target, n, dtype), me.get(piece, n, dtype)

    answers = play(p, body)
    assert all(np.array_equal(a[0], parts[root]) for a in answers)
    assert np.array_equal(answers[root][1], total(parts, 2))
    assert all(not a[1].any() for r, a in enumerate(answers) if r != root)
    assert all(np.array_equal(a[2], whole[root][r * n : (r + 1) * n]) for r, a in enumerate(answers))


@FEW
@given(p=sizes, seed=st.integers(0, 999), dtype=dtypes)
def test_gather_and_reduce_scatter_even_and_uneven(p, seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    each = [int(c) for c in rng.integers(0, 20, p)]
    places = np.concatenate(([0], np.cumsum(np.array(each) + 1)))[:p].astype(int).tolist()  # one element of gap
    wide = sum(each) + p
    parts = [data(r, n, dtype, seed) for r in range(p)]
    whole = [data(r, n * p, dtype, seed) for r in range(p)]
    uneven = [data(r, each[r], dtype, seed) for r in range(p)]
    send = [data(r, wide, dtype, seed + 1) for r in range(p)]

    def body(me: Rank):
        number, own = DTYPES[dtype], each[me.rank]
        a, b, c, d = (me.put(np.zeros(k, dtype)) for k in (n * p, n, wide, own))
        assert me.hccl.HcclAllGather(me.put(parts[me.rank]), a, n, number, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclReduceScatter(me.put(whole[me.rank]), b, n, number, 0, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclAllGatherV(me.put(uneven[me.rank]), own, c, each, places, number, me.comm, me.stream) == 0, me.said
        code = me.hccl.HcclReduceScatterV(me.put(send[me.rank]), each, places, d, own, number, 0, me.comm, me.stream)
        assert code == 0, me.said
        assert me.sync() == 0, me.said
        return me.get(a, n * p, dtype), me.get(b, n, dtype), me.get(c, wide, dtype), me.get(d, own, dtype)

    summed = total(send, 0)
    for rank, (a, b, c, d) in enumerate(play(p, body)):
        assert np.array_equal(a, np.concatenate(parts))
        assert np.array_equal(b, total(whole, 0)[rank * n : (rank + 1) * n])
        assert all(np.array_equal(c[places[r] : places[r] + each[r]], uneven[r]) for r in range(p))
        assert np.array_equal(d, summed[places[rank] : places[rank] + each[rank]])


@FEW
@given(p=sizes, seed=st.integers(0, 999))
def test_all_to_all_in_three_forms(p, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40))
    table = rng.integers(0, 6, (p, p))
    even = [data(r, n * p, "int32", seed) for r in range(p)]
    send = [data(r, int(table[r].sum()), "int32", seed) for r in range(p)]
    starts = np.concatenate((np.zeros((p, 1), int), np.cumsum(table, axis=1)), axis=1)

    def body(me: Rank):
        r = me.rank
        into = [int(c) for c in table[:, r]]
        # received back to front, so that displacements matter
        back = [sum(into[k + 1 :]) for k in range(p)]
        a, b, c = (me.put(np.zeros(k, np.int32)) for k in (n * p, sum(into), sum(into)))
        out, places = table[r].tolist(), starts[r, :p].tolist()
        assert me.hccl.HcclAlltoAll(me.put(even[r]), n, 2, a, n, 2, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclAlltoAllV(me.put(send[r]), out, places, 2, b, into, back, 2, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclAlltoAllVC(me.put(send[r]), table.ravel().tolist(), 2, c, 2, me.comm, me.stream) == 0, me.said
        assert me.sync() == 0, me.said
        return me.get(a, n * p, np.int32), me.get(b, sum(into), np.int32), me.get(c, sum(into), np.int32)

    for r, (a, b, c) in enumerate(play(p, body)):
        assert np.array_equal(a, np.concatenate([even[s][r * n : (r + 1) * n] for s in range(p)]))
        pieces = [send[s][starts[s, r] : starts[s, r + 1]] for s in range(p)]
        assert np.array_equal(c, np.concatenate(pieces))
        assert np.array_equal(b, np.concatenate(pieces[::-1]))


@FEW
@given(p=st.integers(2, 9), n=counts, seed=st.integers(0, 99))
def test_send_receive_and_batches(p, n, seed):
    parts = [data(r, n, "float16", seed) for r in range(p)]

    def body(me: Rank):
        after, before = (me.rank + 1) % p, (me.rank - 1) % p
        target, both = me.put(np.zeros(n, np.float16)), me.put(np.zeros(n, np.float16))
        items = [(0, me.put(parts[me.rank]), n, 3, after), (1, target, n, 3, before)]
        assert me.hccl.HcclBatchSendRecv(items, 2, me.comm, me.stream) == 0, me.said
        if me.rank % 2 == 0 and after:  # even ranks send to the next odd one
            assert me.hccl.HcclSend(me.put(parts[me.rank]), n, 3, me.rank + 1, me.comm, me.stream) == 0, me.said
        elif me.rank % 2:
            assert me.hccl.HcclRecv(both, n, 3, me.rank - 1, me.comm, me.stream) == 0, me.said
        assert me.hccl.HcclBarrier(me.comm, me.stream) == 0
        assert me.sync() == 0, me.said
        return me.get(target, n, np.float16), me.get(both, n, np.float16)

    for rank, (ring, pair) in enumerate(play(p, body)):
        assert np.array_equal(ring, parts[(rank - 1) % p])
        assert np.array_equal(pair, parts[rank - 1]) if rank % 2 else not pair.any()


@FEW
@given(p=st.integers(2, 9), each=st.integers(1, 3), n=st.integers(0, 40))
def test_a_batch_with_all_others_at_once(p, each, n):
    """2 * (p - 1) * each notes lie on the board at once; none is dropped before its reader has come."""

    def body(me: Rank):
        others = [r for r in range(p) if r != me.rank for _ in range(each)]
        targets = [me.put(np.zeros(n, np.int32)) for _ in others]
        sends = [(0, me.put(np.full(n, 100 * me.rank + i % each, np.int32)), n, 2, r) for i, r in enumerate(others)]
        items = sends + [(1, target, n, 2, r) for target, r in zip(targets, others, strict=True)]
        assert me.hccl.HcclBatchSendRecv(items, len(items), me.comm, me.stream) == 0, me.said
        assert me.sync() == 0, me.said
        return [me.get(target, n, np.int32).tolist() for target in targets]

    for rank, got in enumerate(play(p, body)):
        assert got == [[100 * r + i] * n for r in range(p) if r != rank for i in range(each)]


def test_bfloat16_rounds_to_nearest_even_at_every_addition():
    def body(me: Rank):
        value = np.array([1.0, 256.0, 3.0], np.float32) if me.rank == 0 else np.array([2.0, 1.0, np.nan], np.float32)
        bits = (value.view(np.uint32) >> 16).astype(np.uint16)
        target = me.put(np.zeros(3, np.uint16))
        assert me.hccl.HcclAllReduce(me.put(bits), target, 3, 11, 0, me.comm, me.stream) == 0, me.said
        assert me.sync() == 0
        return (me.get(target, 3, np.uint16).astype(np.uint32) << 16).view(np.float32)

    for got in play(2, body):
        assert got[0] == 3.0
        assert got[1] == 256.0  # 257 lies between 256 and 258 and goes to the even one
        assert np.isnan(got[2])


def test_one_thread_drives_all_ranks():
    acl, hccl = Rank.__init__.__globals__["modules"]()
    from npu.runtime import process as processes

    processes._forget()
    comms, code = hccl.HcclCommInitAll(4, [0, 1, 2, 3])
    assert code == 0
    lanes = []
    for rank, comm in enumerate(comms):
        acl.rt.set_device(rank)
        stream, _ = acl.rt.create_stream()
        source, _ = acl.rt.malloc(16, 0)
        value = np.full(4, rank + 1, np.int32)
        acl.rt.memcpy(source, 16, value.ctypes.data, 16, 1)
        assert hccl.HcclAllReduce(source, source, 4, 2, 0, comm, stream) == 0
        lanes.append((source, stream))
    for rank, (source, stream) in enumerate(lanes):
        acl.rt.set_device(rank)  # a stream is used in its own context only
        assert acl.rt.synchronize_stream(stream) == 0
        got = np.zeros(4, np.int32)
        acl.rt.memcpy(got.ctypes.data, 16, source, 16, 2)
        assert got.tolist() == [10] * 4


def test_messages_and_collectives_of_two_ranks_lie_on_different_streams():
    """Rank 1 comes to the sum only after six messages on another stream: what rank 0 left for the sum is still there then."""

    def body(me: Rank):
        other, _ = me.acl.rt.create_stream()
        source, target = me.put(np.full(2, me.rank + 1, np.int32)), me.put(np.zeros(2, np.int32))
        word = me.put(np.full(1, 7, np.int32))

        def add_up() -> None:
            assert me.hccl.HcclAllReduce(source, target, 2, 2, 0, me.comm, me.stream) == 0, me.said

        if me.rank == 0:
            add_up()
        for _ in range(6):
            call = me.hccl.HcclSend if me.rank == 0 else me.hccl.HcclRecv
            assert call(word, 1, 2, 1 - me.rank, me.comm, other) == 0, me.said
        assert me.acl.rt.synchronize_stream(other) == 0, me.said
        if me.rank == 1:
            add_up()
        assert me.sync() == 0, me.said
        return me.get(target, 2, np.int32).tolist()

    assert play(2, body) == [[3, 3], [3, 3]]
