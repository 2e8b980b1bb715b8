"""The network of the scripts, and requests that bring 1 to 32 rows each."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

WIDTH, LAYERS = 256, 12


def network() -> nn.Module:
    torch.manual_seed(0)
    hidden = (m for _ in range(LAYERS) for m in (nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU()))
    return nn.Sequential(*hidden, nn.Linear(WIDTH, 10)).eval()


def requests(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        rows = int(torch.randint(1, 33, (), generator=generator))
        yield torch.randn(rows, WIDTH, generator=generator)
