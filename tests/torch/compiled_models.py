"""Models whose eager inference is bound by the host, for tests of graph mode; as a script: what compiling each of them gains.

    compiled_models.py NAME ...    a profile of the eager loop in NAME_pt/, and {NAME: [eager, compiled]} in us a step
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

STEPS = 6


class Residual(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.one, self.two = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.two(self.second(torch.relu(self.one(self.first(x))))))


class Gated(nn.Module):
    """A gated layer behind a normalisation that is written out."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Any:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def mlp() -> nn.Module:
    return nn.Sequential(*(m for _ in range(100) for m in (nn.Linear(64, 64), nn.ReLU())), nn.Linear(64, 10))


def cnn() -> nn.Module:
    stem = (nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(*stem, *(Residual() for _ in range(16)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def gated() -> nn.Module:
    return nn.Sequential(*(Gated() for _ in range(18)), nn.Linear(128, 10))


# name -> (model, shape of its input)
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (mlp, (16, 64)),
    "cnn": (cnn, (2, 3, 32, 32)),
    "gated": (gated, (4, 16, 128)),
}


def seconds(model: Callable[[Tensor], Tensor], x: Tensor, between: Callable[[], None] = lambda: None) -> float:
    """Of one step that reads its answer, in the mean. between: called between two steps."""
    begun = time.perf_counter()
    for number in range(STEPS):
        if number:
            between()
        model(x).argmax(-1).cpu()
    return (time.perf_counter() - begun) / STEPS


def main(names: list[str]) -> None:
    from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

    found, level = {}, _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    for name in names:
        build, shape = MODELS[name]
        model, x = build().npu().eval(), torch.randn(shape).npu()
        with torch.no_grad():
            seconds(model, x)
            with profile(on_trace_ready=tensorboard_trace_handler(f"{name}_pt"), experimental_config=level) as recorder:
                eager = seconds(model, x, recorder.step)
            torch._dynamo.reset()  # else the sizes of the model before count as sizes that change
            compiled = torch.compile(model, backend="npu")
            compiled(x)
            found[name] = [eager * 1e6, seconds(compiled, x) * 1e6]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
