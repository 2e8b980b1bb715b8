"""Programs give the same losses on the simulated device as on the CPU, bit by bit."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
nn, functional = torch.nn, torch.nn.functional
from tests.torch.programs import PROGRAMS  # noqa: E402 - needs torch


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_those_of_the_cpu(device, name):
    program = PROGRAMS[name]
    assert program(device) == program("cpu")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_computes_products_in_the_lower_precision_and_losses_in_float32(device, dtype):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    x = torch.randn(8, 16)
    lower = copy.deepcopy(net).to(dtype)(x.to(dtype))
    with torch.autocast(device, dtype=dtype):
        logits = net.to(device)(x.to(device))
        loss = functional.mse_loss(logits, torch.zeros(8, 4, device=device))
    assert logits.dtype == dtype
    assert torch.equal(logits.cpu(), lower)
    assert loss.dtype == torch.float32
    assert loss.item() == functional.mse_loss(lower.float(), torch.zeros(8, 4)).item()


def test_a_scaler_skips_the_step_whose_gradients_are_not_finite(device):
    weight = nn.Parameter(torch.ones(4, device=device))
    step, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler(device, init_scale=4.0, growth_interval=100)
    scaler.scale((weight * 2).sum()).backward()
    scaler.step(step)
    scaler.update()
    assert weight.tolist() == [0.0] * 4  # 1 - 0.5 * 2
    step.zero_grad()
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(step)
    scaler.update()
    assert weight.tolist() == [0.0] * 4
    assert scaler.get_scale() == 2.0


def test_an_optimizer_built_before_the_move_keeps_its_parameters(device):
    net = nn.Linear(3, 3)
    parameter = net.weight
    net.to(device)
    assert net.weight is parameter and parameter.device.type == "npu"
