"""A job in which one rank goes wrong: real codes on the right ranks, in simulated time, and `npu-diag log` names the culprit."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.conftest import Ran, Run

RANKS, BAD = 3, 1
SCRIPT = """
import os, signal, sys, time
import acl, hccl
rank, world, kind = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["KIND"]
bad = rank == 1
acl.init()
acl.rt.set_device(int(os.environ["LOCAL_RANK"]))

def ok(code):
    if code:
        told = {"code": code, "text": acl.get_recent_err_msg(), "seconds": time.monotonic() - begun}
        open(f"said.{rank}", "w").write(repr(told))
        sys.exit(1)

def root():
    path = os.path.join(os.environ["NPU_JOB_DIR"], "root")
    if rank == 0:
        info, code = hccl.HcclGetRootInfo()
        ok(code)
        open(path + ".new", "wb").write(info)
        os.rename(path + ".new", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    return open(path, "rb").read()

begun = time.monotonic()
if kind in ("table", "device"):
    comm, code = hccl.HcclCommInitClusterInfo("table.json" if kind == "table" or bad else "right.json", rank)
else:
    info = root()
    if kind == "absent" and bad:
        sys.exit(0)
    begun = time.monotonic()
    comm, code = hccl.HcclCommInitRootInfo(world, info, rank)
ok(code)
stream, _ = acl.rt.create_stream()
device, _ = acl.rt.malloc(4096, 0)
for step in range(3):
    last = bad and step == 2
    if last and kind == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if last and kind == "late":
        time.sleep(300)
    begun = time.monotonic()
    if last and kind == "operation":
        ok(hccl.HcclBroadcast(device, 1024, 4, 0, comm, stream))
    else:
        count, dtype = 512 if last and kind == "count" else 1024, 3 if last and kind == "type" else 4
        ok(hccl.HcclAllReduce(device, device, count, dtype, 0, comm, stream))
    ok(acl.rt.synchronize_stream(stream))
"""


def play(start: Run, kind: str, **more: str) -> tuple[Ran, dict[int, dict[str, Any]], dict[str, Any]]:
    """What the job left, what each rank was answered (no entry: no failure), and the verdict on the folder of logs."""
    env = {"KIND": kind, "HCCL_EXEC_TIMEOUT": "200", "NPU_PATIENCE": "3", **more}
    ran = start("msprof", "run", "--clock", "model", "--no-summary", "--nproc", str(RANKS), "script.py", script=SCRIPT, env=env)
    said = {int(p.suffix[1:]): eval(p.read_text(), {}) for p in ran.folder.glob("said.*")}
    told = start("npu-diag", "log", str(ran.folder / "ascend" / "log"), "--json")
    assert told.code == 1, told.err
    return ran, said, json.loads(told.out)


def cause(verdict: dict[str, Any]) -> dict[str, Any]:
    (found,) = (f for f in verdict["findings"] if f["role"] == "cause")
    return found


def test_a_rank_that_dies(start: Run) -> None:
    ran, said, verdict = play(start, "dies")
    assert ran.code == 137 and f"rank {BAD} ended with 137" in ran.err
    assert {rank: facts["code"] for rank, facts in said.items()} == {0: 507048, 2: 507048}
    assert all("EI0002" in f["text"] and f"remote rank: [{BAD}]" in f["text"] and 200 <= f["seconds"] < 201 for f in said.values())
    assert cause(verdict)["id"] == "hccl_notify_timeout"
    assert (verdict["waited_for"], verdict["silent_ranks"]) == ([{"rank": BAD, "lines": 2}], [BAD])


@pytest.mark.slow
def test_a_rank_that_comes_too_late(start: Run) -> None:
    """It comes 100 s after the limit of the others, which have left: its own wait lasts as long as theirs."""
    _, said, verdict = play(start, "late")
    assert {rank: facts["code"] for rank, facts in said.items()} == dict.fromkeys(range(RANKS), 507048)
    assert [round(said[rank]["seconds"]) for rank in range(RANKS)] == [200, 200, 200]
    assert cause(verdict)["id"] == "hccl_notify_timeout"
    assert verdict["waited_for"][0] == {"rank": BAD, "lines": 2}


@pytest.mark.parametrize(
    ("kind", "parameter", "local", "remote"),
    [
        ("count", "count", "1024", "512"),
        pytest.param("type", "dataType", "4", "3", marks=pytest.mark.slow),
        pytest.param("operation", "op", "all_reduce", "broadcast", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_rank_that_calls_something_else(kind: str, parameter: str, local: str, remote: str, start: Run) -> None:
    _, said, verdict = play(start, kind)
    assert {rank: facts["code"] for rank, facts in said.items()} == dict.fromkeys(range(RANKS), 507048)
    assert all("EI0005" in facts["text"] and facts["seconds"] < 1 for facts in said.values())
    found = cause(verdict)
    assert (found["id"], found["facts"]["parameter"]) == ("hccl_ranks_disagree", parameter)
    assert f"parameter [{parameter}], local rank [0] has [{local}], remote rank [{BAD}] has [{remote}]" in said[0]["text"]
    assert verdict["differing_ranks"] == [{"rank": BAD, "lines": 2}, {"rank": 0, "lines": 1}]


@pytest.mark.slow
def test_a_rank_that_never_joins(start: Run) -> None:
    _, said, verdict = play(start, "absent")
    assert {rank: facts["code"] for rank, facts in said.items()} == {0: 9, 2: 9}
    assert all("EI0015" in facts["text"] and 120 <= facts["seconds"] < 125 for facts in said.values())
    assert cause(verdict)["id"] == "hccl_connect_timeout"
    assert (verdict["waited_for"], verdict["silent_ranks"]) == ([{"rank": BAD, "lines": 2}], [BAD])


@pytest.mark.slow
def test_a_busy_port(start: Run) -> None:
    """Rank 0 cannot listen and is the only one that fails; the others are ended, as they wait for its root information."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran, said, verdict = play(start, "none", HCCL_IF_BASE_PORT=port)
    assert ran.code == 1 and set(said) == {0}
    assert said[0]["code"] == 7 and f"EI0019: Port {port} of the host cannot be bound" in said[0]["text"]
    assert (cause(verdict)["id"], cause(verdict)["facts"]["port"]) == ("hccl_listen_port_in_use", port)


def table(folder: Path, name: str, devices: list[str], ids: list[str]) -> None:
    listed = [{"device_id": d, "rank_id": r} for d, r in zip(devices, ids, strict=True)]
    made = {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "a", "device": listed}]}
    (folder / name).write_text(json.dumps(made))


@pytest.mark.slow
def test_a_wrong_rank_table_fails_every_rank_that_reads_it(start: Run, tmp_path: Path) -> None:
    table(tmp_path, "table.json", ["0", "1", "2"], ["0", "1", "1"])
    _, said, verdict = play(start, "table")
    assert {rank: facts["code"] for rank, facts in said.items()} == dict.fromkeys(range(RANKS), 1)
    assert all("EI0014" in facts["text"] and "rank_id" in facts["text"] for facts in said.values())
    assert cause(verdict)["id"] == "hccl_rank_table"


@pytest.mark.slow
def test_a_table_that_differs_at_one_rank_fails_that_rank(start: Run, tmp_path: Path) -> None:
    """The others wait for it and are told so; the cause is its table."""
    table(tmp_path, "right.json", ["0", "1", "2"], ["0", "1", "2"])
    table(tmp_path, "table.json", ["0", "2", "1"], ["0", "1", "2"])
    _, said, verdict = play(start, "device")
    assert {rank: facts["code"] for rank, facts in said.items()} == {0: 9, 1: 1, 2: 9}
    assert "EI0014" in said[1]["text"] and "device_id of rank 1" in said[1]["text"]
    assert all(f"no sign of ranks [{BAD}]" in said[rank]["text"] for rank in (0, 2))
    assert cause(verdict)["id"] == "hccl_rank_table"
    assert verdict["waited_for"] == [{"rank": BAD, "lines": 2}]
