"""Small programs in the usual style, each as a function of the device that gives its losses (or other figures)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as functional
import torch.utils.checkpoint
from torch import nn

STEPS = 3


def train(
    net: nn.Module, batches: Iterable[tuple[Any, Any]], loss: Callable[..., Any], optimizer: Callable[..., Any], device: str
) -> list[float]:
    net = net.to(device)
    step = optimizer(net.parameters())
    losses = []
    for x, y in batches:
        step.zero_grad()
        found = loss(net(x.to(device)), y.to(device))
        found.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        step.step()
        losses.append(found.item())
    return losses


def images() -> list[tuple[Any, Any]]:
    return [(torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))) for _ in range(STEPS)]


def cnn(device: str, optimizer: Callable[..., Any] = partial(torch.optim.SGD, lr=0.1, momentum=0.9)) -> list[float]:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.GELU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(16), nn.Dropout(0.1), nn.Linear(16, 10),
    )  # fmt: skip
    return train(net, images(), functional.cross_entropy, optimizer, device)


def transformer(device: str) -> list[float]:
    torch.manual_seed(0)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), 2)
    batches = [(torch.randn(2, 10, 32), torch.randn(2, 10, 32)) for _ in range(STEPS)]
    return train(net, batches, functional.mse_loss, partial(torch.optim.AdamW, lr=1e-3), device)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.layers, self.head = kind(8, 16, 2, batch_first=True, bidirectional=True), nn.Linear(32, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.layers(x)[0][:, -1])


def recurrent(device: str, kind: type[nn.RNNBase]) -> list[float]:
    torch.manual_seed(0)
    batches = [(torch.randn(4, 7, 8), torch.randint(0, 2, (4,))) for _ in range(STEPS)]
    return train(Recurrent(kind), batches, functional.cross_entropy, partial(torch.optim.SGD, lr=0.1), device)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


def custom_function(device: str) -> list[float]:
    torch.manual_seed(0)
    weight = torch.randn(5, 5).to(device).requires_grad_()
    losses = []
    for _ in range(STEPS):
        loss = Square.apply(weight).sum()
        (gradient,) = torch.autograd.grad(loss, weight)
        with torch.no_grad():
            weight -= 0.1 * gradient
        losses.append(loss.item())
    return losses


def dynamic_shapes(device: str) -> list[float]:
    torch.manual_seed(0)
    net = nn.Linear(8, 8).to(device)
    found = []
    for rows in (1, 5, 3, 9):
        y = net(torch.randn(rows, 8).to(device))
        found += [y[y > 0].sum().item(), float(len((y > 0).nonzero())), y.topk(2)[0].sum().item()]
    return found


def loader(device: str) -> list[float]:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(32, 8), torch.randint(0, 3, (32,)))
    batches = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, pin_memory=device != "cpu")
    return train(nn.Linear(8, 3), batches, functional.cross_entropy, torch.optim.Adam, device)


def inference(device: str) -> list[float]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.SiLU(), nn.Flatten(), nn.Linear(1568, 10)).to(device).eval()
    with torch.inference_mode():
        return [net(x.to(device)).argmax(1)[0].item() for x, _ in images()]


def two_optimizers(device: str) -> list[float]:
    """Adversarial training: transposed convolutions, two networks, a gradient of a gradient."""
    torch.manual_seed(0)
    maker = nn.Sequential(nn.ConvTranspose2d(4, 8, 4), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))
    maker, judge = maker.to(device), judge.to(device)
    steps = [torch.optim.Adam(net.parameters(), 1e-3, betas=(0.5, 0.999)) for net in (maker, judge)]
    found = []
    for _ in range(STEPS):
        real, noise = torch.randn(4, 1, 8, 8).to(device), torch.randn(4, 4, 1, 1).to(device)
        fake = maker(noise)
        mixed = (0.5 * real + 0.5 * fake.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
        lost = judge(fake.detach()).mean() - judge(real).mean() + (slope.flatten(1).norm(2, 1) - 1).pow(2).mean()
        for step, loss in ((steps[1], lost), (steps[0], None)):
            loss = -judge(fake).mean() if loss is None else loss
            step.zero_grad()
            loss.backward()
            step.step()
            found.append(loss.item())
    return found


def accumulated(device: str) -> list[float]:
    """Gradients of two batches a step, activations computed again in the backward pass, an average of the weights."""
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.GELU()) for _ in range(3))).to(device)
    average = torch.optim.swa_utils.AveragedModel(net, avg_fn=lambda old, new, _count: old + (new - old) / 2)
    step = torch.optim.AdamW(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(step, STEPS)
    found = []
    for number in range(2 * STEPS):
        x = torch.randn(4, 16).to(device)
        loss = torch.utils.checkpoint.checkpoint_sequential(net, 3, x, use_reentrant=False).pow(2).mean() / 2
        loss.backward()
        if number % 2:
            step.step()
            schedule.step()
            step.zero_grad()
            average.update_parameters(net)
        found.append(loss.item())
    return [*found, average(x).sum().item()]


def workers(device: str) -> list[float]:
    """A data set read by processes of their own into pinned memory."""
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(24, 8), torch.randint(0, 3, (24,)))
    batches = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=device != "cpu")
    return train(nn.Linear(8, 3), batches, functional.cross_entropy, torch.optim.SGD, device)


PROGRAMS: dict[str, Callable[[str], list[float]]] = {
    "cnn, SGD": cnn,
    "cnn, Adam": partial(cnn, optimizer=torch.optim.Adam),
    "cnn, AdamW foreach": partial(cnn, optimizer=partial(torch.optim.AdamW, foreach=True)),
    "cnn, AdamW fused": partial(cnn, optimizer=partial(torch.optim.AdamW, fused=True)),
    "cnn, RMSprop": partial(cnn, optimizer=torch.optim.RMSprop),
    "transformer": transformer,
    "LSTM": partial(recurrent, kind=nn.LSTM),
    "GRU": partial(recurrent, kind=nn.GRU),
    "custom autograd function": custom_function,
    "dynamic shapes": dynamic_shapes,
    "data loader": loader,
    "data loader with workers": workers,
    "two optimizers": two_optimizers,
    "accumulated gradients": accumulated,
    "inference with item": inference,
}
