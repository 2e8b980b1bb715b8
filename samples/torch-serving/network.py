"""The small transformer both scripts serve, and the requests."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, LAYERS = 64, 4, 21


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.behind = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.joint, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.joint(self.before(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.inner(self.behind(x))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(Layer() for _ in range(LAYERS)), nn.Linear(WIDTH, 10)).eval()


def requests(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randn(2, 32, WIDTH, generator=generator)
