"""Captured graphs: replays compute anew from the same tensors, with one launch."""

from __future__ import annotations

import numpy as np
import pytest

import profiler

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
nn = torch.nn
REPLAYED = """
import torch, torch_npu
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).npu()
x = torch.zeros(4, 64, device="npu")
g = torch.npu.NPUGraph()
with torch.no_grad(), torch.npu.graph(g):
    y = net(x)
for _ in range(3):
    g.replay()
print(y.sum().item())
"""


@pytest.fixture
def npu(device):
    from npu.torch_npu import captured

    for name, value in captured.NAMES.items():  # as the package torch_npu does it
        setattr(torch.npu, name, value)
    return torch.npu


def test_a_replay_computes_from_what_its_inputs_hold_then(npu, device):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2)).to(device).eval()
    x, graph = torch.zeros(3, 8, device=device), npu.NPUGraph()
    with torch.no_grad(), npu.graph(graph):
        y = net(x)
    for _ in range(2):
        fresh = torch.randn(3, 8)
        x.copy_(fresh)
        graph.replay()
        with torch.no_grad():
            assert torch.equal(y.cpu(), net(fresh.to(device)).cpu())


def test_a_capture_itself_changes_nothing(npu, device):
    count, graph = torch.zeros(2, device=device), npu.NPUGraph()
    with npu.graph(graph):
        assert npu.is_current_stream_capturing()
        count.add_(1)
    assert count.tolist() == [0, 0]
    graph.replay()
    graph.replay()
    assert count.tolist() == [2, 2] and not npu.is_current_stream_capturing()


def test_a_read_inside_a_block_is_refused_and_the_block_is_over(npu, device):
    x = torch.ones(2, device=device)
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), npu.graph(npu.NPUGraph()):
        x.sum().item()
    assert x.sum().item() == 2.0
    with pytest.raises(RuntimeError, match="nothing was captured"):
        npu.NPUGraph().replay()


def test_a_replay_is_one_launch_of_all_kernels(recorded):
    out, _ = recorded(REPLAYED)
    trace = profiler.open(out)
    replays = np.flatnonzero(trace.api_named("aclmdlRIExecuteAsync"))
    assert len(replays) == 3
    for row in replays:
        mine = trace.task["correlation"] == trace.api["correlation"][row]
        types = [trace.strings[int(n)] for n in trace.task["op_type"][mine]]
        assert types == ["MatMulV2", "Gelu", "MatMulV2"]
