"""What goes wrong between ranks, and when things end: late ones, missing ones, different calls; all in simulated time."""

from __future__ import annotations

import json
import socket

import numpy as np
import pytest

from npu.cost import call_ns
from npu.hccl import cost, topology
from npu.runtime import process as processes
from tests.unit.npu.ranks import Rank, modules, play

TIMED_OUT = 507048


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    monkeypatch.setenv("NPU_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("NPU_CLOCK", "model")
    monkeypatch.setenv("NPU_DEVICES", "8")
    monkeypatch.setenv("HCCL_BUFFSIZE", "1")
    for name in ("NPU_SINK", "HCCL_ALGO", "HCCL_EXEC_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


def now(me: Rank) -> int:
    return processes.current().thread().clock.now


def pass_time(ns: int) -> None:
    """The script's own work."""
    processes.current().thread().clock.now += ns


def reduce_once(me: Rank, count: int = 1024, dtype: int = 4, op: int = 0) -> int:
    source = me.put(np.zeros(2 * count, np.float32))
    code = me.hccl.HcclAllReduce(source, source, count, dtype, op, me.comm, me.stream)
    return code or me.sync()


def test_all_leave_when_the_last_has_come_plus_the_cost():
    """Rank 2 works 5 ms longer. All ends are one moment: its call plus the modelled time of a mesh of four."""

    def body(me: Rank):
        source = me.put(np.zeros(1024, np.float32))
        if me.rank == 2:
            pass_time(5_000_000)
        before = now(me)
        assert me.hccl.HcclAllReduce(source, source, 1024, 4, 0, me.comm, me.stream) == 0
        assert me.sync() == 0
        return before, now(me) - call_ns("aclrtSynchronizeStream")

    answers = play(4, body)
    price = cost.collective("all_reduce", topology.of("910B", 4, 8), 4096).duration
    arrived = answers[2][0] + call_ns("HcclAllReduce")
    ends = {end for _, end in answers}
    assert max(ends) - (arrived + price) < 2 + call_ns("aclrtSynchronizeStream")
    assert max(before for before, _ in answers) == answers[2][0]


def test_communication_runs_beside_computation_of_another_stream():
    """The host works 3 ms while the exchange runs: it is over long before, as its event's time says."""

    def body(me: Rank):
        source = me.put(np.zeros(1 << 20, np.float32))
        first, _ = me.acl.rt.create_event()
        second, _ = me.acl.rt.create_event()
        me.acl.rt.record_event(first, me.stream)
        assert me.hccl.HcclAllReduce(source, source, 1 << 20, 4, 0, me.comm, me.stream) == 0
        me.acl.rt.record_event(second, me.stream)
        pass_time(30_000_000)
        assert me.sync() == 0
        return me.acl.rt.event_elapsed_time(first, second)[0]

    price = cost.collective("all_reduce", topology.of("910B", 2, 8), 4 << 20).duration / 1e6
    for took in play(2, body):
        assert price <= took < price + 1


def test_two_runs_under_the_model_clock_take_the_same_time():
    """From the first exchange on; when threads begin is the system's choice."""

    def body(me: Rank):
        times = []
        for n in range(6):
            assert reduce_once(me, 100 * (n + 1)) == 0
            times.append(now(me))
        return [t - times[0] for t in times]

    assert play(4, body) == play(4, body)


def test_a_rank_that_ends_makes_the_others_time_out_at_once_in_simulated_time(monkeypatch):
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "200")

    def body(me: Rank):
        if me.rank == 1:
            return None
        before = now(me)
        code = reduce_once(me)
        return code, me.said, now(me) - before, me.hccl.HcclGetCommAsyncError(me.comm)

    answers = play(3, body)
    for code, said, took, error in (answers[0], answers[2]):
        assert code == TIMED_OUT
        assert "EI0002" in said and "remote rank: [1]" in said
        assert 200e9 <= took < 201e9
        assert error == (21, 0)  # E_REMOTE


def test_a_rank_that_comes_after_the_time_out_is_named_by_the_early_one(monkeypatch):
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "100")

    def body(me: Rank):
        if me.rank == 1:
            pass_time(150 * 10**9)
        return reduce_once(me), me.said

    (code, said), (late_code, late_said) = play(2, body)
    assert code == TIMED_OUT and "remote rank: [1]" in said and "within 100 s" in said
    assert late_code == TIMED_OUT and "remote rank: [0]" in late_said  # which has left


@pytest.mark.parametrize(
    ("change", "parameter", "local", "remote"),
    [({"count": 512}, "count", "1024", "512"), ({"dtype": 3}, "dataType", "4", "3"), ({"op": 2}, "reduceOp", "0", "2")],
)
def test_ranks_that_call_differently_are_told_what_differs(change, parameter, local, remote):
    def body(me: Rank):
        return reduce_once(me, **(change if me.rank == 1 else {})), me.said

    first, second = play(2, body)
    assert first[0] == second[0] == TIMED_OUT
    assert "EI0005: CMD information check fail" in first[1]
    assert f"parameter [{parameter}], local rank [0] has [{local}], remote rank [1] has [{remote}]" in first[1]
    assert f"local rank [1] has [{remote}], remote rank [0] has [{local}]" in second[1]


def test_another_operation_is_named():
    def body(me: Rank):
        source = me.put(np.zeros(8, np.float32))
        if me.rank:
            me.hccl.HcclBroadcast(source, 8, 4, 0, me.comm, me.stream)
        else:
            me.hccl.HcclAllReduce(source, source, 8, 4, 0, me.comm, me.stream)
        return me.sync(), me.said

    for code, said in play(2, body):
        assert code == TIMED_OUT and "parameter [op]" in said and "all_reduce" in said and "broadcast" in said


def test_arguments_are_refused_by_name_before_anything_is_queued():
    def body(me: Rank):
        a = me.put(np.zeros(4, np.float32))
        call = me.hccl.HcclAllReduce
        return [
            (call(a, a, 4, 99, 0, me.comm, me.stream), me.said),
            (call(a, a, 4, 4, 9, me.comm, me.stream), me.said),
            (call(0, a, 4, 4, 0, me.comm, me.stream), me.said),
            (call(a, a, 4, 4, 0, me.comm, 0), me.said),
            (call(a, a, 4, 4, 0, 12345, me.stream), me.said),
            (call(a, a, 4, 7, 0, me.comm, me.stream), me.said),
            (call(a, a, 1 << 30, 4, 0, me.comm, me.stream), me.said),
            (me.hccl.HcclBroadcast(a, 4, 4, 7, me.comm, me.stream), me.said),
            (me.sync(), ""),
        ]

    (answers,) = play(1, body)
    assert [code for code, _ in answers] == [1, 1, 2, 2, 2, 5, 2, 1, 0]
    assert "value [99] for parameter [dataType]" in answers[0][1]
    assert "value [9] for parameter [op]" in answers[1][1]
    assert "sendBuf is 0" in answers[2][1] and "stream is 0" in answers[3][1] and "comm is 12345" in answers[4][1]
    assert "data type UINT8 and reduction sum" in answers[5][1]
    assert "value [7] for parameter [root]" in answers[7][1]


def test_environment_variables_are_refused_by_name(monkeypatch):
    monkeypatch.setenv("HCCL_ALGO", "level0:NA;level1:zigzag")

    def body(me: Rank):
        return me.init, me.said

    ((code, said),) = play(1, body)
    assert code == 1 and "EI0001" in said and "[HCCL_ALGO]" in said and "level1:zigzag" in said


def test_sub_communicators_have_names_and_ranks_of_their_own():
    def body(me: Rank):
        group = [0, 2] if me.rank % 2 == 0 else [1, 3]
        sub, code = me.hccl.HcclCreateSubCommConfig(me.comm, 2, group, 7 + me.rank % 2, group.index(me.rank), {})
        assert code == 0, me.said
        value = me.put(np.full(3, 10**me.rank, np.int32))
        assert me.hccl.HcclAllReduce(value, value, 3, 2, 0, sub, me.stream) == 0
        assert me.sync() == 0
        return (me.hccl.HcclGetRankId(sub)[0], me.hccl.HcclGetRankSize(sub)[0], me.hccl.HcclGetCommName(sub)[0],
                me.get(value, 3, np.int32).tolist())  # fmt: skip

    answers = play(4, body, {"hcclCommName": "dp"})
    assert [a[:2] for a in answers] == [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert {a[2] for a in answers} == {"dp_sub_7", "dp_sub_8"}
    assert [a[3][0] for a in answers] == [101, 1010, 101, 1010]


def test_a_suspended_communicator_refuses_until_it_is_resumed():
    def body(me: Rank):
        me.hccl.HcclCommSuspend(me.comm)
        refused = reduce_once(me)
        me.hccl.HcclCommResume(me.comm)
        return refused, reduce_once(me)

    assert play(2, body) == [(22, 0), (22, 0)]


def table(count: int) -> dict[str, object]:
    devices = [{"device_id": str(n), "rank_id": str(n)} for n in range(count)]
    return {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "a", "device": devices}]}


def test_a_rank_table_makes_a_communicator(tmp_path):
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(table(2)))

    def body(me: Rank):
        comm, code = me.hccl.HcclCommInitClusterInfo(str(path), me.rank)
        assert code == 0, me.said
        value = me.put(np.full(2, me.rank + 1, np.int32))
        assert me.hccl.HcclAllReduce(value, value, 2, 2, 0, comm, me.stream) == 0
        return me.sync(), me.get(value, 2, np.int32).tolist(), me.hccl.HcclGetCommName(comm)[0]

    assert play(2, body) == [(0, [3, 3], "hccl_world_group")] * 2


def test_rank_table_mistakes_come_with_their_code(tmp_path):
    path = tmp_path / "ranks.json"
    wrong = table(2)
    wrong["server_list"][0]["device"][1]["rank_id"] = "x"
    path.write_text(json.dumps(wrong))

    def body(me: Rank):
        return [(me.hccl.HcclCommInitClusterInfo(where, 0)[1], me.said) for where in (str(tmp_path / "none"), str(path))]

    ((missing, bad),) = play(1, body)
    assert missing[0] == 10 and "EI0004" in missing[1] and "not a valid real path" in missing[1]
    assert bad[0] == 1 and "EI0014" in bad[1] and "server_list[0].device[1].rank_id" in bad[1] and "[x]" in bad[1]


def test_ranks_that_never_come_are_named(monkeypatch):
    monkeypatch.setenv("NPU_PATIENCE", "0.2")
    acl, hccl = modules()
    processes._forget()
    info, _ = hccl.HcclGetRootInfo()
    acl.rt.set_device(0)
    assert hccl.HcclCommInitRootInfo(3, info, 1) == (0, 9)
    said = acl.get_recent_err_msg()
    assert "EI0015" in said and "no sign of ranks [0, 2]" in said and "timeout[120 s]" in said


def test_a_busy_port_is_named(monkeypatch):
    acl, hccl = modules()
    processes._forget()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("HCCL_IF_BASE_PORT", str(taken.getsockname()[1]))
        info, code = hccl.HcclGetRootInfo()
        assert (info, code) == (None, 7)
        assert f"Port {taken.getsockname()[1]} of the host cannot be bound" in acl.get_recent_err_msg()
    assert hccl.HcclGetRootInfo()[1] == 0
    assert hccl.HcclGetErrorString(7) == "HCCL_E_UNAVAIL"
