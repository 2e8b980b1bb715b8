"""Graph mode: what is compiled gives the eager results bit by bit, is one launch of fused kernels, and gains what was foretold."""

from __future__ import annotations

import copy
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import profiler
from profiler.analysis import analyze

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
pytest.importorskip("onnx_ir", reason="the graph engine is not installed: pip install 'npuscope[sim]'")
nn, functional = torch.nn, torch.nn.functional
from npu.torch_npu import fused  # noqa: E402 - needs torch
from tests.torch import compiled_models  # noqa: E402
from tests.torch.programs import cnn, transformer  # noqa: E402

PREDICTED_WITHIN = 0.15


@pytest.fixture(autouse=True)
def fresh(device):
    torch._dynamo.reset()


def compiled_program(program, device, monkeypatch):
    """A training program whose network is compiled when it arrives on the device."""
    moved = nn.Module.to

    def to(self, *args, **named):
        made = moved(self, *args, **named)
        return torch.compile(made, backend="npu")

    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "to", to)
        return program(device)


@pytest.mark.parametrize("program", [cnn, transformer])
def test_losses_of_a_compiled_training_are_those_of_the_cpu(device, program, monkeypatch):
    assert compiled_program(program, device, monkeypatch) == program("cpu")


OPERATORS = {
    "activations": lambda x: sum(f(x) for f in (functional.gelu, functional.silu, functional.elu, functional.hardswish,
                                                functional.leaky_relu, functional.softplus, functional.mish, functional.relu6)),
    "arithmetic": lambda x: (x + 2) * x - 1 / (x.abs() + 1) + x.pow(2).sqrt() + x.clamp(-1, 1) + torch.rsqrt(x * x + 1),
    "choices": lambda x: torch.where(x > 0, x, -x) + x.masked_fill(x.le(0), 3.0) + x.maximum(x.T) * (x != 0),
    "views": lambda x: torch.cat([x.T[:4], x.view(4, 16)[:, 1:9].flip(0), x[0].expand(2, 8), x.chunk(2, 1)[1].reshape(-1, 8)]),
    "reductions": lambda x: x.mean(-1) + x.sum(0) + x.amax(1) + x.softmax(-1).log_softmax(0)[1] + x.std() + x.argmax(0),
    "products": lambda x: x @ x.T + torch.bmm(x.view(2, 4, 8), x.view(2, 4, 8).transpose(1, 2)).sum() + torch.addmm(x, x, x.T),
    "normalised": lambda x: functional.layer_norm(x, (8,), x[0], x[1]) + fused.npu_rms_norm(x, x[2])[0] + fused.npu_swiglu(x, 1).sum(),
    "indices": lambda x: x[torch.arange(8, device=x.device).clamp(max=2)] + functional.embedding(torch.tensor([[1, 2]], device=x.device), x).sum(),
    "no arguments that are tensors": lambda x: torch.zeros(8, 8, device=x.device) + torch.full((2000, 1, 8), 2.0, device=x.device).sum(0) + x,
    "one without a counterpart": lambda x: torch.cumsum(x, 1) + torch.linalg.inv(x + 9 * torch.eye(8, device=x.device)),
    "results that are inputs": lambda x: (x, x.T, x + 1),
    "written in place": lambda x: x.clone().add_(1).mul_(x).relu_(),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_one_graph_give_the_eager_results(device, name):
    torch.manual_seed(0)
    x, function = torch.randn(8, 8, device=device), OPERATORS[name]
    wanted, found = function(x), torch.compile(function, backend="npu", fullgraph=True)(x)
    for one, other in zip(wanted, found, strict=True) if isinstance(wanted, tuple) else ((wanted, found),):
        assert other.device.type == "npu"
        assert torch.equal(one.cpu(), other.cpu())


def test_inputs_that_the_graph_writes_change(device):
    @partial(torch.compile, backend="npu")
    def count(total, x):
        total.add_(x)
        return total * 2

    total = torch.ones(3, device=device)
    assert count(total, torch.full((3,), 4.0, device=device)).tolist() == [10.0] * 3
    assert total.tolist() == [5.0] * 3


def test_autocast_inside_and_around_a_graph(device):
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).to(device), torch.randn(8, 16, device=device)
    with torch.autocast(device, dtype=torch.float16), torch.no_grad():
        wanted, found = net(x), torch.compile(net, backend="npu")(x)
    assert found.dtype == torch.float16 and torch.equal(wanted.cpu(), found.cpu())


def test_dropout_and_attention_with_gradients_draw_the_eager_numbers(device):
    torch.manual_seed(0)
    net = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.2).to(device)
    other, x = copy.deepcopy(net), torch.randn(2, 10, 32, device=device)
    gradients = []
    for model, call in ((net, net), (other, torch.compile(other, backend="npu"))):
        torch.manual_seed(1)
        call(x).pow(2).mean().backward()
        gradients.append([p.grad.cpu() for p in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_open_shapes_are_one_graph(device):
    from npu.torch_npu.graph import backend

    torch.manual_seed(0)
    net, before = nn.Linear(8, 8).to(device), next(backend._numbers)
    call = torch.compile(net, backend="npu", dynamic=True)
    with torch.no_grad():
        for rows in (3, 5, 9, 5):
            x = torch.randn(rows, 8, device=device)
            assert torch.equal(call(x).cpu(), net(x).cpu())
    assert next(backend._numbers) == before + 2


def test_without_a_backend_graphs_on_the_device_are_ours(device):
    x = torch.randn(4, device=device)
    with pytest.warns(UserWarning, match="Inductor does not know the device npu"):
        assert torch.equal(torch.compile(lambda x: x.cos() + 1)(x).cpu(), (x.cos() + 1).cpu())


def test_a_graph_that_reads_the_host_runs_operator_by_operator(device):
    x, here = torch.randn(4, device=device), torch.ones(4)
    with pytest.warns(UserWarning, match="tensors of the host"):
        found = torch.compile(lambda x: x + here.to("npu"), backend="npu")(x)
    assert torch.equal(found.cpu(), x.cpu() + 1)


def test_settings_of_torchair_are_kept_or_refused_by_name():
    from npu.torch_npu.graph.config import CompilerConfig
    from npu.torch_npu.graph.torchair import get_npu_backend

    config = CompilerConfig()
    config.experimental_config.frozen_parameter = True
    with pytest.raises(RuntimeError, match="mode = 'fast' is not simulated; 'max-autotune' and 'reduce-overhead' are"):
        config.mode = "fast"
    with pytest.raises(AttributeError, match=r"ge_config\.streams"):
        config.ge_config.streams = 2
    with pytest.raises(RuntimeError, match="decompositions"):
        get_npu_backend(compiler_config=config, decompositions={1: 2})
    config.fusion_config.fusion_switch_file = "/nowhere.cfg"
    with pytest.raises(RuntimeError, match="E21001"):
        config.switches()


RECORDED = """
import torch, torch_npu, torchair
from torch_npu.dynamo import torchair as same
assert same is torchair
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.Hardtanh(-1, 1),
                          torch.nn.Flatten(), torch.nn.Linear(1568, 10)).npu()
x = torch.randn(2, 3, 16, 16).npu()
for mode, dynamic in (("max-autotune", False), ("reduce-overhead", False), ("max-autotune", True)):
    config = torchair.CompilerConfig()
    config.mode = mode
    config.ge_config.enable_single_stream = True
    call = torch.compile(net, backend=torchair.get_npu_backend(compiler_config=config), dynamic=dynamic)
    with torch.no_grad():
        for _ in range(3):
            call(x)
    torch._dynamo.reset()
torch.npu.synchronize()
"""


def kernels(trace, number):
    """Rows of the kernels of a model, by start."""
    mine = np.flatnonzero((trace.task["model"] == number) & (trace.task["op_type"] >= 0))
    return mine[np.argsort(trace.task["start"][mine], kind="stable")]


def test_compiled_graphs_in_a_capture(recorded):
    """Of the graph engine: one launch of fused kernels, 550 ns apart. Captured: one launch of the framework's own kernels. Of open
    shapes: kernel by kernel, 18.2 us each."""
    out, _ = recorded(RECORDED)
    trace = profiler.open(out)
    text, task, api = trace.strings, trace.task, trace.api

    def first_run(number):
        rows = kernels(trace, number)
        assert len(rows) % 3 == 0
        return rows[: len(rows) // 3], len(np.unique(task["correlation"][rows]))

    rows, launches = first_run(1)
    # each filter changes its format, the image once before and once behind; both activations are in the convolutions
    names = [text[int(n)] for n in task["name"][rows]]
    assert names == ["TransData0", "trans_TransData_0", "Conv_1Relu_1", "TransData8", "Conv_2Clip_1", "trans_TransData_1", "Gemm_1"]
    assert launches == 3
    assert (task["start"][rows[1:]] - task["end"][rows[:-1]] == 550).all()
    calls = [text[int(n)] for n in api["name"]]
    assert calls.count("aclmdlExecuteAsync") == 9 and calls.count("CompileGraph") == 3
    assert {text[int(s)].rpartition(":")[2] for s in api["site"][trace.api_named("aclmdlExecuteAsync")]} == {"15"}
    assert trace.meta["model_1"]["name"].startswith("npu_graph_") and trace.meta["model_1"]["build"]["unconverted"] == {}

    rows, launches = first_run(2)
    names = [text[int(n)] for n in task["name"][rows]]
    assert [n for n in names if "Relu" in n] == ["aclnnRelu_ReluAiCore_Relu"] and sum("Conv2D" in n for n in names) == 2
    assert launches == 3

    rows, launches = first_run(3)
    assert launches == 3 * len(rows)
    assert ((api["end"] - api["start"])[trace.api_named("launch")] == 18_200).sum() == 3 * len(rows)


def test_the_gain_of_compiling_is_foretold_within_15_percent(recorded, tmp_path):
    _, printed = recorded(Path(compiled_models.__file__), *compiled_models.MODELS)
    measured = json.loads(printed.splitlines()[0])
    assert set(measured) == set(compiled_models.MODELS)
    for name, (eager, compiled) in measured.items():
        (capture,) = (tmp_path / f"{name}_pt").glob("*_ascend_pt/PROF_*")
        report = analyze(profiler.open(capture))
        (finding,) = [f for f in report.findings if f.id == "single-op-mode"]
        assert finding.gain is not None
        begin, end = report.window
        foretold = finding.gain.ns / (end - begin)
        gained = (eager - compiled) / eager
        assert abs(foretold - gained) <= PREDICTED_WITHIN * gained, (name, foretold, gained)


@pytest.mark.parametrize("dynamo", [False, True])
def test_an_exported_module_of_the_device_is_taken_by_atc(device, dynamo, tmp_path):
    from npu.graph.compile import compile
    from npu.graph.options import Options

    if dynamo:
        pytest.importorskip("onnxscript", reason="torch.onnx.export(dynamo=True) needs onnxscript")
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(1568, 4)).to(device).eval()
    path, x = tmp_path / "net.onnx", torch.randn(1, 3, 16, 16, device=device)
    torch.onnx.export(net, (x,), path, dynamo=dynamo)
    made = compile(Options(path, tmp_path / "net.om", "Ascend910B3", {}, statistics=False))
    assert [k.op_type for k in made.model.kernels if k.op_type not in ("TransData", "Cast")] == ["Conv2D", "MatMulV2"]


def test_an_exported_program_runs_on_the_device(device):
    net, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(device), torch.randn(2, 8, device=device)
    assert torch.equal(torch.export.export(net, (x,)).module()(x).cpu(), net(x).cpu())
