"""Batch normalisation over the batches of all ranks (torch.nn.SyncBatchNorm): the operators its forward and backward pass are
made of, which torch has for devices only. Statistics are kept in float32 for halves.

With x of shape (batch, channel, ...), m elements a channel, and N over all ranks: y = (x - mean) * invstd * weight + bias, and

dx = (dy - sum(dy) / N - (x - mean) * invstd^2 * sum(dy * (x - mean)) / N) * invstd * weight
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch import library as torch_library

from npu.torch_npu.special import run

KEY = "PrivateUse1"


def _wide(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _over(channels: Tensor, like: Tensor) -> Tensor:
    """Values of channels beside a tensor that has them in its second dimension."""
    return _wide(channels).reshape(1, -1, *[1] * (like.dim() - 2))


def _sum(tensor: Tensor) -> Tensor:
    """Over all but the second dimension."""
    return tensor.sum([d for d in range(tensor.dim()) if d != 1])


def stats(data: Tensor, eps: float) -> Any:
    """aten::batch_norm_stats: mean and 1 / sqrt(variance + eps) of each channel."""

    def compute(x: Tensor) -> Any:
        wide = _wide(x)
        count = x.numel() // x.shape[1]
        mean = _sum(wide) / count
        return mean, torch.rsqrt(_sum((wide - _over(mean, x)) ** 2) / count + eps)

    return run("batch_norm_stats", "aten::batch_norm_stats", (data,), compute)


def gather_stats(
    data: Tensor, mean: Tensor, invstd: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float,
    eps: float, counts: Tensor,
) -> Any:  # fmt: skip
    """aten::batch_norm_gather_stats_with_counts: mean and invstd of all ranks' elements from those of each; the running ones
    move on, with the unbiased variance."""
    running = () if running_mean is None or running_var is None else (running_mean, running_var)

    def compute(means: Tensor, invstds: Tensor, counted: Tensor, *kept: Tensor) -> Any:
        n = counted.reshape(-1, 1).to(means.dtype)
        total = n.sum()
        whole = (means * n).sum(0) / total
        spread = ((invstds**-2 - eps + (means - whole) ** 2) * n).sum(0)
        for into, value in zip(kept, (whole, spread / (total - 1)), strict=False):
            into.mul_(1 - momentum).add_(value.to(into.dtype), alpha=momentum)
        return whole, torch.rsqrt(spread / total + eps)

    shown = "aten::batch_norm_gather_stats_with_counts"
    return run("batch_norm_gather_stats_with_counts", shown, (mean, invstd, counts, *running), compute)


def elements(data: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float) -> Any:
    """aten::batch_norm_elemt."""
    scale = () if weight is None or bias is None else (weight, bias)

    def compute(x: Tensor, m: Tensor, s: Tensor, *affine: Tensor) -> Tensor:
        made = (_wide(x) - _over(m, x)) * _over(s, x)
        if affine:
            made = made * _over(affine[0], x) + _over(affine[1], x)
        return made.to(x.dtype)

    return run("batch_norm_elemt", "aten::batch_norm_elemt", (data, mean, invstd, *scale), compute)


def backward_reduce(
    gradient: Tensor, data: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, for_input: bool, for_weight: bool,
    for_bias: bool,
) -> Any:  # fmt: skip
    """aten::batch_norm_backward_reduce: sum(dy), sum(dy * (x - mean)), and the gradients of weight and bias."""

    def compute(g: Tensor, x: Tensor, m: Tensor, s: Tensor) -> Any:
        total = _sum(_wide(g))
        product = _sum(_wide(g) * (_wide(x) - _over(m, x)))
        own = weight.dtype if weight is not None else total.dtype
        return (
            total if for_input else None, product if for_input else None,
            (product * s).to(own) if for_weight else None, total.to(own, copy=True) if for_bias else None,
        )  # fmt: skip

    shown = "aten::batch_norm_backward_reduce"
    return run("batch_norm_backward_reduce", shown, (gradient, data, mean, invstd), compute)


def backward_elements(
    gradient: Tensor, data: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor | None, sum_dy: Tensor, sum_dy_xmu: Tensor,
    count: Tensor,
) -> Any:  # fmt: skip
    """aten::batch_norm_backward_elemt: the gradient of the input. count: elements of each rank."""
    scale = () if weight is None else (weight,)

    def compute(g: Tensor, x: Tensor, m: Tensor, s: Tensor, dy: Tensor, product: Tensor, counts: Tensor, *w: Tensor) -> Tensor:
        total = counts.sum().to(m.dtype)
        factor = _over(s, x) * (_over(w[0], x) if w else 1)
        part = (_wide(x) - _over(m, x)) * _over(s * s * product / total, x)
        return ((_wide(g) - _over(dy / total, x) - part) * factor).to(x.dtype)

    shown = "aten::batch_norm_backward_elemt"
    return run("batch_norm_backward_elemt", shown, (gradient, data, mean, invstd, sum_dy, sum_dy_xmu, count, *scale), compute)


KERNELS = {
    "batch_norm_stats": stats, "batch_norm_gather_stats_with_counts": gather_stats, "batch_norm_elemt": elements,
    "batch_norm_backward_reduce": backward_reduce, "batch_norm_backward_elemt": backward_elements,
}  # fmt: skip
kept: list[torch_library.Library] = []  # a library that is collected takes its kernels with it


def register() -> None:
    library = torch_library.Library("aten", "IMPL")
    kept.append(library)
    for name, kernel in KERNELS.items():
        library.impl(name, kernel, KEY)
