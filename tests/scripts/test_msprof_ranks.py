"""`msprof run --nproc`: ranks as processes of a job, data exchanged between them, one capture each, ended together."""

from __future__ import annotations

import csv
import json
import socket

import numpy as np
import pytest

import profiler
from npu import events
from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow

HEAD = """
import os, sys, time
import acl, hccl
import numpy as np
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
acl.init()
acl.rt.set_device(int(os.environ["LOCAL_RANK"]))

def meet():
    path = os.path.join(os.environ["NPU_JOB_DIR"], "root")
    if rank == 0:
        info, _ = hccl.HcclGetRootInfo()
        open(path + ".new", "wb").write(info)
        os.rename(path + ".new", path)
    while not os.path.exists(path):
        time.sleep(0.001)
    return open(path, "rb").read()

info = meet()
comm, code = hccl.HcclCommInitRootInfo(world, info, rank)
assert code == 0, acl.get_recent_err_msg()
stream, _ = acl.rt.create_stream()
count = 1 << 16
data = np.full(count, rank + 1, np.float32)
device, _ = acl.rt.malloc(data.nbytes, 0)
acl.rt.memcpy(device, data.nbytes, data.ctypes.data, data.nbytes, 1)

def checked(code):
    if code:
        os.write(1, f"{rank} {code} {acl.get_recent_err_msg()}\\n".encode())
        sys.exit(code % 100)
"""
TRAIN = (
    HEAD
    + """
for step in range(8):
    if rank == 2:
        time.sleep(0.004)
    checked(hccl.HcclAllReduce(device, device, count, 4, 2, comm, stream))
    checked(acl.rt.synchronize_stream(stream))
acl.rt.memcpy(data.ctypes.data, data.nbytes, device, data.nbytes, 2)
assert (data == world).all(), data
said = f"{rank} {os.environ['LOCAL_RANK']} {os.environ['MASTER_ADDR']} {os.environ['MASTER_PORT'].isdigit()}"
os.write(1, said.encode() + bytes([10]))
hccl.HcclCommDestroy(comm)
"""
)


@pytest.fixture
def trained(start: Run):
    return start("msprof", "run", "--clock", "model", "--nproc", "4", "--no-summary", "script.py", script=TRAIN)


def test_ranks_exchange_and_leave_one_capture_each(trained) -> None:
    assert trained.code == 0, trained.err
    assert sorted(trained.out.splitlines()) == [f"{r} {r} 127.0.0.1 True" for r in range(4)]
    traces = [profiler.open(prof) for prof in trained.profs]
    assert sorted(t.meta["rank"] for t in traces) == [0, 1, 2, 3]
    assert {t.meta["world_size"] for t in traces} == {4}
    assert len({t.meta["unix_zero_ns"] for t in traces}) == 1
    assert not list(trained.folder.glob("npu-job-*"))


def test_every_transfer_is_recorded_with_its_waits(trained) -> None:
    trace = next(t for t in map(profiler.open, trained.profs) if t.meta["rank"] == 0)
    comm, strings = trace.comm, trace.strings
    ops = comm.take(comm["level"] == events.COMM_LEVELS.index("op"))
    assert len(ops) == 8
    assert strings[int(ops["name"][0])].startswith("hcom_allReduce__")
    assert strings[int(ops["algorithm"][0])] == "MESH-RING"
    assert strings[int(ops["dtype"][0])] == "FP32" and int(ops["count"][0]) == 1 << 16
    parts = comm.take((comm["level"] == events.COMM_LEVELS.index("part")) & (comm["op"] == ops["op"][3]))
    moving = parts.take(np.isin(parts["part"], [events.COMM_PARTS.index(p) for p in ("transfer", "reduce")]))
    own = moving.take(moving["src"] == moving["dst"])  # the quarter it keeps, into the communication buffer
    assert (own["bytes"].tolist(), own["dst"].tolist(), strings[int(own["link"][0])]) == ([1 << 16], [0], "ON_CHIP")
    assert own["start"].tolist() == [int(ops["start"][3])]
    assert int((own["end"] - own["start"])[0]) == 104  # 635 GB/s: half of what the memory attains
    moving = moving.take(moving["src"] != moving["dst"])
    # a mesh of four: to each of three peers a quarter to add up, then a quarter back
    assert sorted(zip(moving["src"].tolist(), moving["dst"].tolist(), moving["bytes"].tolist(), strict=True)) == [
        (0, peer, 1 << 16) for peer in (1, 2, 3) for _ in range(2)]  # fmt: skip
    assert {strings[i] for i in moving["link"].tolist()} == {"HCCS"} and {strings[i] for i in moving["transport"].tolist()} == {
        "SDMA"
    }
    rate = moving["bytes"] / (moving["end"] - moving["start"])
    assert ((rate > 10) & (rate < 28)).all()  # GB/s, below the wire's 28
    assert sorted(set(moving["plane"].tolist())) == [0, 1, 2]
    wait = parts.take(parts["part"] == events.COMM_PARTS.index("wait"))
    late = wait.take((wait["src"] == 2) & (wait["start"] == ops["start"][3]))
    assert 3.9e6 < int((late["end"] - late["start"])[0]) < 4.1e6  # rank 2 slept 4 ms
    numbers = {(int(s), int(d)): int(n) for s, d, n in zip(wait["src"], wait["dst"], wait["notify"], strict=True)}
    other = next(t for t in map(profiler.open, trained.profs) if t.meta["rank"] == 1)
    record = other.comm.take((other.comm["part"] == events.COMM_PARTS.index("record")) & (other.comm["dst"] == 0))
    assert numbers[1, 0] in record["notify"].tolist()


def test_all_ranks_leave_at_one_moment(trained) -> None:
    ends = []
    for trace in map(profiler.open, trained.profs):
        ops = trace.comm.take(trace.comm["level"] == events.COMM_LEVELS.index("op"))
        ends.append(ops["end"].tolist())
    assert ends[0] == ends[1] == ends[2] == ends[3]


def test_files_of_communication_are_written(trained) -> None:
    for prof in trained.profs:
        (table,) = prof.glob("mindstudio_profiler_output/communication_statistic_*.csv")
        (row,) = csv.DictReader(table.open(encoding="utf-8"))
        assert row["OP Type"] == "hcom_allReduce_" and row["Count"] == "8"
        found = json.loads((prof / "analyze" / "communication.json").read_text())
        operators = [o for kinds in found.values() for o in kinds["collective"] if not o.startswith("Total")]
        assert len(operators) == 8
        (matrix,) = prof.glob("analyze/communication_matrix.json")
        assert json.loads(matrix.read_text())
        (timeline,) = prof.glob("mindstudio_profiler_output/msprof_*.json")
        names = {e["args"].get("name") for e in json.loads(timeline.read_text()) if e["ph"] == "M"}
        assert any(str(n).startswith("Group ") for n in names) and "Plane 0" in names


def test_the_first_failing_rank_gives_the_status_and_the_others_name_it(start: Run) -> None:
    """Rank 1 leaves; the others' wait times out at once, in simulated time, and they say for whom they waited."""
    body = (
        HEAD
        + """
if rank == 1:
    sys.exit(3)
checked(hccl.HcclAllReduce(device, device, count, 4, 0, comm, stream))
checked(acl.rt.synchronize_stream(stream))
"""
    )
    ran = start("msprof", "run", "--clock", "model", "--nproc", "3", "--no-summary", "script.py", script=body)
    assert ran.code == 3
    assert "msprof: rank 1 ended with 3" in ran.err
    lines = sorted(ran.out.splitlines())
    assert [line.split()[:2] for line in lines] == [["0", "507048"], ["2", "507048"]]
    assert all("EI0002" in line and "remote rank: [1]" in line for line in lines)


def test_the_log_of_all_ranks_names_the_culprit(start: Run) -> None:
    body = (
        HEAD
        + """
if rank == 1:
    sys.exit(3)
code = hccl.HcclAllReduce(device, device, count, 4, 0, comm, stream) or acl.rt.synchronize_stream(stream)
open(f"rank{rank}.log", "w").write(f"[ERROR] rank {rank}: {acl.get_recent_err_msg()}\\n")
"""
    )
    ran = start("msprof", "run", "--clock", "model", "--nproc", "3", "--no-summary", "script.py", script=body)
    logs = ran.folder / "logs"
    logs.mkdir()
    for path in ran.folder.glob("rank*.log"):
        path.rename(logs / path.name)
    told = start("npu-diag", "log", str(logs))
    assert told.code == 1
    assert "EI0002" in told.out and "waited for rank 1" in told.out.lower().replace("\n", " ")


@pytest.mark.slow
def test_ranks_that_hang_are_ended_after_a_failure(start: Run) -> None:
    body = (
        "import os, signal, sys\nif os.environ['RANK'] == '0':\n    sys.exit(5)\nimport select\nselect.select([], [], [], 300)\n"
    )
    ran = start("msprof", "run", "--nproc", "2", "--no-summary", "script.py", script=body, timeout=60)
    assert ran.code == 5 and "ranks 1 are ended" in ran.err


def test_mistakes_with_ranks_are_two_lines(start: Run) -> None:
    start("python", "-c", "pass", script="pass")
    many = start("msprof", "run", "--nproc", "99", "script.py")
    assert many.code == 2 and "this host has 8 devices" in many.err and len(many.err.splitlines()) == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = start("msprof", "run", "--nproc", "2", "--master-port", str(taken.getsockname()[1]), "script.py")
    assert busy.code == 2 and "cannot be used" in busy.err and len(busy.err.splitlines()) == 2


def test_ranks_of_multiprocessing_need_no_launcher(start: Run) -> None:
    """Spawned processes meet through the state folder and leave nothing behind; one never destroys its communicator."""
    body = """
    import multiprocessing as mp

    def work(rank, count, given, out):
        import acl, hccl
        import numpy as np
        acl.init()
        acl.rt.set_device(rank)
        if rank == 0:
            info, _ = hccl.HcclGetRootInfo()
            for _ in range(count - 1):
                given.put(info)
        else:
            info = given.get()
        comm, code = hccl.HcclCommInitRootInfo(count, info, rank)
        assert code == 0
        stream, _ = acl.rt.create_stream()
        device, _ = acl.rt.malloc(4, 0)
        value = np.array([rank + 1], np.int32)
        acl.rt.memcpy(device, 4, value.ctypes.data, 4, 1)
        for n in range(50):
            assert hccl.HcclAllReduce(device, device, 1, 2, 0 if n == 0 else 2, comm, stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0, acl.get_recent_err_msg()
        acl.rt.memcpy(value.ctypes.data, 4, device, 4, 2)
        out.put(int(value[0]))
        if rank != 1:
            hccl.HcclCommDestroy(comm)

    if __name__ == "__main__":
        spawn = mp.get_context("spawn")
        given, out = spawn.Queue(), spawn.Queue()
        ranks = [spawn.Process(target=work, args=(r, 4, given, out)) for r in range(4)]
        for rank in ranks:
            rank.start()
        print([out.get() for _ in ranks])
        for rank in ranks:
            rank.join()
        print([rank.exitcode for rank in ranks])
    """
    ran = start("python", "-m", "npu", "script.py", script=body)
    assert ran.out.splitlines() == ["[10, 10, 10, 10]", "[0, 0, 0, 0]"], ran.err
    assert not list((ran.folder / "state" / "jobs").iterdir())
