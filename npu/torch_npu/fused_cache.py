"""Writes in place under their names in torch_npu: into the key and value caches of a model that generates text, by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from npu.torch_npu.whole import into


def npu_reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor) -> None:
    """key, value: (tokens, heads, depth), written to slots of the caches (blocks, block, heads, depth); -1 is passed over."""
    into("_npu_reshape_and_cache", "atb::_npu_reshape_and_cache", _stored, (key_cache, value_cache),
         (key, value, key_cache, value_cache, slot_indices), lambda given: list(given[:2]))  # fmt: skip


def npu_scatter_pa_kv_cache(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: Tensor, **more: Any
) -> None:
    """The same under its newer name."""
    into("npu_scatter_pa_kv_cache", "npu::npu_scatter_pa_kv_cache", _stored, (key_cache, value_cache),
         (key, value, key_cache, value_cache, slot_mapping), lambda given: list(given[:2]))  # fmt: skip


def _stored(key: Tensor, value: Tensor, keys: Tensor, values: Tensor, slots: Tensor) -> Any:
    kept = slots >= 0
    for source, cache in ((key, keys), (value, values)):
        flat = cache.view(cache.shape[0] * cache.shape[1], -1)
        flat[slots[kept].long()] = source[kept].flatten(1)
    return keys, values


def npu_scatter_nd_update_(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """x[indices] = updates, in place; the last axis of indices counts the axes of x."""

    def compute(a: Tensor, at: Tensor, new: Tensor) -> Tensor:
        a[tuple(at.long().unbind(-1))] = new
        return a

    def operands(given: Any) -> list[Tensor]:
        return [given[2]]

    return into("npu_scatter_nd_update", "npu::npu_scatter_nd_update_", compute, (x,), (x, indices, updates), operands)


def npu_scatter_nd_update(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return npu_scatter_nd_update_(x.clone(), indices, updates)


def npu_prefetch(x: Tensor, dependency: Tensor | None, max_size: int, offset: int = 0) -> None:
    """Weights into the L2 cache while something else computes: not simulated, and changes no result."""


def npu_clear_float_status(x: Tensor) -> Tensor:
    return torch.zeros_like(x)


def npu_get_float_status(x: Tensor) -> Tensor:
    """No overflow: arithmetic keeps IEEE rules."""
    return torch.zeros_like(x)


def npu_alloc_float_status(x: Tensor) -> Tensor:
    return torch.zeros(8, device=x.device)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        npu_scatter_pa_kv_cache, npu_scatter_nd_update_, npu_scatter_nd_update, npu_prefetch, npu_clear_float_status,
        npu_get_float_status, npu_alloc_float_status,
    )
}  # fmt: skip
FUNCTIONS["_npu_reshape_and_cache"] = npu_reshape_and_cache
