"""torch.distributed over the backend hccl: what ranks exchange, how it lies on the device, and what is refused by its name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profiler
from npu import events

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
from torch import nn  # noqa: E402 - needs torch

from tests.torch.conftest import run_recorded  # noqa: E402

ROOT = Path(__file__).parents[2]
BEGIN = """
import json, os, sys, torch, torch_npu, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
local = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(local)
dist.init_process_group("hccl")
rank, size = dist.get_rank(), dist.get_world_size()
def full(value, n=2): return torch.full((n,), float(value), device="npu")
found = {}
"""
END = """
with open(sys.argv[1] + f"/rank{rank}.json", "w") as file: json.dump(found, file)
dist.destroy_process_group()
"""
EXCHANGES = """
x = torch.arange(3.0, device="npu") + rank
work = dist.all_reduce(x, async_op=True)
found["before wait"] = x.tolist()
work.wait()
found["all_reduce"] = x.tolist()
y = torch.tensor([rank + 2, rank + 3], device="npu")
dist.all_reduce(y, op=dist.ReduceOp.PRODUCT); found["product"] = y.tolist()
into = [full(0) for _ in range(size)]
dist.all_gather(into, full(rank)); found["all_gather"] = [t.tolist() for t in into]
flat = full(0, 2 * size); dist.all_gather_into_tensor(flat, full(rank)); found["all_gather_into_tensor"] = flat.tolist()
z = full(rank + 5); dist.broadcast(z, 1); found["broadcast"] = z.tolist()
part = full(0, 1); dist.reduce_scatter_tensor(part, torch.arange(2.0, device="npu")); found["reduce_scatter_tensor"] = part.tolist()
dist.reduce_scatter(part, [full(10 * rank + i, 1) for i in range(size)]); found["reduce_scatter"] = part.tolist()
out = full(0, 4)
dist.all_to_all_single(out, torch.arange(4.0, device="npu") + 10 * rank); found["all_to_all_single"] = out.tolist()
uneven = full(0, 3 if rank == 0 else 1)
dist.all_to_all_single(uneven, torch.arange(2.0, device="npu") + 10 * rank, [1, 2] if rank == 0 else [1, 0], [1, 1] if rank == 0 else [2, 0])
found["uneven"] = uneven.tolist()
dist.reduce(z := full(rank + 1), 0); found["reduce"] = z.tolist()
gathered = [full(0, 1) for _ in range(size)] if rank == 0 else None
dist.gather(full(rank, 1), gathered, dst=0); found["gather"] = gathered and [t.item() for t in gathered]
s = full(0, 1); dist.scatter(s, [full(3 * i, 1) for i in range(size)] if rank == 0 else None, src=0); found["scatter"] = s.tolist()
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank}); found["objects"] = objects
message = full(0)
dist.send(full(7), 1) if rank == 0 else dist.recv(message, 0)
found["recv"] = message.tolist()
ring = full(0)
for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, full(rank + 50), 1 - rank), dist.P2POp(dist.irecv, ring, 1 - rank)]):
    request.wait()
found["ring"] = ring.tolist()
late = full(0)
requests = [dist.irecv(late, 1 - rank), dist.isend(full(rank + 60), 1 - rank)]
for request in requests: request.wait()
found["irecv"] = late.tolist()
sub = dist.new_group([1])
if rank == 1:
    dist.all_reduce(full(1), group=sub)
    found["world of the group"] = dist.get_process_group_ranks(sub)
dist.barrier()
"""
REFUSED = """
def told(call):
    try: call()
    except Exception as error: return str(error)
found["avg"] = told(lambda: dist.all_reduce(full(1), op=dist.ReduceOp.AVG))
found["double"] = told(lambda: dist.all_reduce(full(1).double()))
found["cpu"] = told(lambda: dist.all_reduce(torch.ones(2)))
found["coalesced"] = told(lambda: dist.all_reduce_coalesced([full(1)]))
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
found["fsdp"] = told(lambda: FSDP(nn.Linear(4, 4).npu(), device_id=local))
other = dist.new_group(backend="gloo")
dist.barrier(group=other)
found["other size"] = told(lambda: dist.all_reduce(full(1, 2 + rank)))
"""
OPTIONS = """
import torch.distributed.algorithms.ddp_comm_hooks.default_hooks as hooks
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.always, self.sometimes, self.never = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(2, 2)
    def forward(self, x):
        return self.always(x) + self.sometimes(x) if rank == 1 else self.always(x)
net = DDP(Branches().npu(), device_ids=[local], find_unused_parameters=True)
for _ in range(2):
    net.zero_grad()
    net(full(1, 4)[None]).sum().backward()
found["unused"] = [net.module.always.bias.grad.tolist(), net.module.sometimes.bias.grad.tolist(), net.module.never.bias.grad is None]
net = DDP(nn.Linear(4, 2).npu(), device_ids=[local])
net.register_comm_hook(None, hooks.fp16_compress_hook)
(net(full(rank, 4)[None]) ** 2).sum().backward()
whole = nn.Linear(4, 2).npu(); whole.load_state_dict(net.module.state_dict())
(whole(torch.tensor([[0.0] * 4, [1.0] * 4], device="npu")) ** 2).sum().div(2).backward()
found["hook"] = (net.module.weight.grad - whole.weight.grad).abs().max().item()
torch.manual_seed(1)
images = torch.randn(2 * size, 3, 4, 4)
def normalised(layer, x):
    x = x.npu().requires_grad_()
    y = layer(x)
    (y ** 3).sum().backward()
    return y.detach().cpu(), x.grad.cpu(), layer.running_mean.cpu(), layer.running_var.cpu()
alone = normalised(nn.BatchNorm2d(3).npu(), images)
shared = normalised(nn.SyncBatchNorm(3).npu(), images.chunk(size)[rank])
found["sync"] = max((a.chunk(size)[rank] if n < 2 else a).sub(b).abs().max().item() for n, (a, b) in enumerate(zip(alone, shared)))
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
data = TensorDataset(torch.arange(6))
found["sampler"] = sorted(int(i) for (batch,) in DataLoader(data, sampler=DistributedSampler(data, shuffle=False)) for i in batch)
"""
HIDDEN, CLASSES, BATCH, STEPS = 256, 10, 16, 3
TRAINING = f"""
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, {HIDDEN}), nn.ReLU(), nn.Linear({HIDDEN}, {HIDDEN}), nn.ReLU(), nn.Linear({HIDDEN}, {CLASSES}))
net = DDP(net.npu(), device_ids=[local], bucket_cap_mb=0.2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
generator = torch.Generator().manual_seed(1)
x, y = torch.randn({BATCH}, 64, generator=generator), torch.randint(0, {CLASSES}, ({BATCH},), generator=generator)
x, y = x.chunk(size)[rank].npu(), y.chunk(size)[rank].npu()
found["losses"] = []
for _ in range({STEPS}):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    found["losses"].append(mean.item() / size)
"""
SPAWNED = """
import os, time, torch, torch.distributed as dist, torch.multiprocessing as mp
import torch_npu
from torch_npu.contrib import transfer_to_npu
from torch.nn.parallel import DistributedDataParallel as DDP
def work(rank, size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("nccl", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    net = DDP(torch.nn.Linear(64, 64).cuda(), device_ids=[rank])
    x = torch.ones(8, 64).cuda()
    for _ in range(6):
        time.sleep(0.004 if rank == 1 else 0.002)
        net.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        loss.item()
    assert dist.get_backend() == "hccl" and net.module.weight.device == torch.device("npu", rank)
    dist.destroy_process_group()
if __name__ == "__main__":
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    mp.spawn(work, args=(2, port), nprocs=2)
"""


def of_ranks(folder: Path, ranks: int) -> list[dict[str, Any]]:
    return [json.loads((folder / f"rank{r}.json").read_text()) for r in range(ranks)]


def losses_of_one_process() -> list[float]:
    """The same training on the CPU with the whole batch."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(BATCH, 64, generator=generator), torch.randint(0, CLASSES, (BATCH,), generator=generator)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.fixture(scope="module")
def found_by_two(tmp_path_factory):
    """What two ranks found in one job of all these scripts."""
    folder = tmp_path_factory.mktemp("two")
    run_recorded(folder, BEGIN + EXCHANGES + OPTIONS + REFUSED + END, str(folder), ranks=2)
    return of_ranks(folder, 2)


def test_each_operation_gives_what_the_ranks_brought(found_by_two):
    zero, one = found_by_two
    assert (zero["before wait"], one["before wait"]) == ([0, 1, 2], [1, 2, 3])  # nobody waited for it yet
    for both, expected in {
        "all_reduce": [1, 3, 5], "product": [6, 12], "all_gather": [[0, 0], [1, 1]], "all_gather_into_tensor": [0, 0, 1, 1],
        "broadcast": [6, 6], "objects": [{"rank": 0}, {"rank": 1}],
    }.items():  # fmt: skip
        assert (zero[both], one[both]) == (expected, expected)
    for name, pair in {
        "reduce_scatter_tensor": ([0], [2]), "reduce_scatter": ([10], [12]), "all_to_all_single": ([0, 1, 10, 11], [2, 3, 12, 13]),
        "uneven": ([0, 10, 11], [1]), "reduce": ([3, 3], [2, 2]), "gather": ([0, 1], None), "scatter": ([0], [3]),
        "recv": ([0, 0], [7, 7]), "ring": ([51, 51], [50, 50]), "irecv": ([61, 61], [60, 60]),
    }.items():  # fmt: skip
        assert (zero[name], one[name]) == pair, name
    assert one["world of the group"] == [1]


@pytest.mark.parametrize("ranks", [2, 8])
def test_losses_of_data_parallel_training_are_those_of_one_process(recorded, tmp_path, ranks):
    out, _ = recorded(BEGIN + TRAINING + END, str(tmp_path), ranks=ranks)
    losses = [found["losses"] for found in of_ranks(tmp_path, ranks)]
    assert losses == [losses[0]] * ranks
    assert losses[0] == pytest.approx(losses_of_one_process(), rel=1e-6)
    traces = [profiler.open(p) for p in sorted(out.glob("PROF_*"))]
    assert sorted((t.meta["rank"], t.meta["world_size"]) for t in traces) == [(r, ranks) for r in range(ranks)]
    for trace in traces:
        check_overlap(trace)


def check_overlap(trace: profiler.Trace) -> None:
    """Of the last step: the buckets go out while the backward pass goes on, on a stream of their own, each behind an event, and
    the gradients are copied back after an event wait."""
    comm, task = trace.comm, trace.task
    ops = np.flatnonzero(comm["level"] == events.COMM_LEVELS.index("op"))
    names = [trace.strings[int(n)] for n in comm["name"][ops]]
    assert all(n.startswith("hcom_allReduce__") for n in names[-3:])
    buckets = [o for o in ops[-3:] if comm["bytes"][o] > 4]  # without the mean loss
    sizes = [HIDDEN * (CLASSES + HIDDEN + 1) + CLASSES, 64 * HIDDEN + HIDDEN]  # 0.2 MB and more: head and middle layer; the first
    assert [int(comm["bytes"][o]) for o in buckets] == [4 * n for n in sizes]
    first, last = int(comm["start"][buckets[0]]), int(comm["end"][buckets[-1]])
    kernels = [trace.strings[int(n)] if n >= 0 else "" for n in task["name"]]
    products = [i for i, n in enumerate(kernels) if n.startswith("aclnnMm_MatMul") and task["start"][i] > first]
    assert products and task["start"][products[-1]] < last  # products of the backward pass while gradients are on their way
    stream = {int(comm["stream"][o]) for o in buckets}
    assert len(stream) == 1 and stream.isdisjoint({int(task["stream"][i]) for i in products})
    kinds = [trace.strings[int(n)] for n in task["task_type"]]
    for bucket in buckets:  # its stream waited for an event of the other one just before
        waits = [i for i, k in enumerate(kinds) if k == "EVENT_WAIT" and task["stream"][i] in stream]
        assert any(task["end"][i] <= comm["start"][bucket] for i in waits)
    copies = [i for i, n in enumerate(kernels) if "TensorMove" in n and task["start"][i] > first]
    assert copies and task["start"][copies[0]] >= comm["end"][buckets[-1]]  # the gradients, once all sums are there
    calls = trace.api_named("HcclAllReduce")
    assert ((trace.api["end"] - trace.api["start"])[calls] == 60_000).all()  # no call waits for another rank
    marks = trace.marker["kind"] == events.MARKERS.index("cpu_op")
    shown = [trace.strings[int(n)] for n in trace.marker["name"][marks]]
    assert shown.count("HcclAllreduce") == shown.count("c10d::allreduce_") == int(np.count_nonzero(calls))


def test_options_of_data_parallel_modules_and_batch_norm_over_all_ranks(found_by_two):
    zero, one = found_by_two
    # a sum's gradient of a bias is 1: the mean over two ranks is 1, and 1/2 where only one of them used it
    assert zero["unused"] == one["unused"] == [[1, 1], [0.5, 0.5], True]
    for found in (zero, one):
        assert found["hook"] < 1e-2 and found["sync"] < 1e-4
    assert (zero["sampler"], one["sampler"]) == ([0, 2, 4], [1, 3, 5])


def test_what_is_not_there_is_refused_by_its_name(found_by_two):
    for found in found_by_two:
        for name, told in {
            "avg": "for AVG: SUM, then div_", "double": "Unsupported data type torch.float64", "cpu": "cpu:gloo,npu:hccl",
            "coalesced": "does not support allreduce_coalesced", "fsdp": "FSDP does this",
            "other size": "EI0005: CMD information check fail",
        }.items():  # fmt: skip
            assert told in found[name], name


def test_a_rank_that_is_gone_is_named_at_once(recorded, tmp_path):
    script = BEGIN + "dist.all_reduce(full(1))\nif rank == 1: os._exit(3)\ndist.all_reduce(full(1))\n"
    _, said = recorded(script, str(tmp_path), ranks=2, status=3)
    assert "EI0002" in said and "remote rank: [1]" in said


def joint(folder: Path) -> list[dict[str, Any]]:
    """What the analyzer says of the ranks in a folder together."""
    words = [sys.executable, "-c", "import sys; from cli.msprof import main; sys.exit(main())", "analyze", str(folder), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=100)
    found: list[dict[str, Any]] = json.loads(done.stdout)["job"]["findings"]
    return found


def test_spawned_ranks_of_a_script_for_nccl_are_one_job_whose_waiting_is_the_late_ranks(recorded, tmp_path):
    """Rank 1 prepares 4 ms in each step and rank 0 only 2: it waits 2 ms."""
    out, _ = recorded(SPAWNED)
    late = next(f for f in joint(out) if f["id"] == "late-rank-joint")
    assert late["facts"]["rank"] == "1"


def test_the_sample_names_the_rank_with_the_long_texts_and_its_fix_is_faster(recorded, tmp_path):
    times = []
    for script in ("main.py", "fixed.py"):
        out, said = recorded(ROOT / "samples" / "torch-slow-rank" / script, "5", ranks=2)
        times.append(float(next(line for line in said.splitlines() if line.endswith("ms a step")).split()[0]))
        if script == "main.py":
            late = next(f for f in joint(out) if f["id"] == "late-rank-joint")
            assert late["facts"]["rank"] == "1" and late["severity"] == "critical"
    assert times[1] < 0.85 * times[0]
