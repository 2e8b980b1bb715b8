"""Mixtures of experts under their names in torch_npu: gating, routing of tokens to experts and back, products by expert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from npu.torch_npu.fused import npu_dynamic_quant, whole
from npu.torch_npu.kernels import plain_cpu


def _routed(expert_idx: Tensor) -> tuple[Tensor, Tensor]:
    """(experts in ascending order, where each of them stood): tokens of one expert keep their order."""
    made, order = torch.sort(expert_idx.reshape(-1), stable=True)
    return made, order


def npu_moe_gating_top_k_softmax(x: Tensor, finished: Tensor | None = None, k: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """x: (tokens, experts) -> (weights, experts, rows), each (tokens, k); rows count choice by choice."""
    if finished is not None:
        raise RuntimeError("npu_moe_gating_top_k_softmax: finished is not simulated")

    def compute(a: Tensor) -> Any:
        values, chosen = torch.softmax(a.float(), -1).topk(k, -1)
        rows = torch.arange(a.shape[0] * k, dtype=torch.int32).view(k, -1).t().contiguous()
        return values.to(a.dtype), chosen.int(), rows

    made: tuple[Tensor, Tensor, Tensor] = whole(
        "npu_moe_gating_top_k_softmax", "npu::npu_moe_gating_top_k_softmax", compute, (x,)
    )
    return made


def npu_moe_gating_top_k(
    x: Tensor, k: int, *, bias: Tensor | None = None, k_group: int = 1, group_count: int = 1, group_select_mode: int = 0,
    renorm: int = 0, norm_type: int = 0, out_flag: bool = False, routed_scaling_factor: float = 1.0, eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(weights, experts, scores). norm_type: 0 softmax, 1 sigmoid; groups are chosen by their best score (mode 0) or the sum of
    their two best (mode 1)."""
    tensors = (x,) if bias is None else (x, bias)

    def compute(a: Tensor, b: Tensor | None = None) -> Any:
        scores = torch.softmax(a.float(), -1) if norm_type == 0 else torch.sigmoid(a.float())
        ranked = scores if b is None else scores + b.float()
        if group_count > 1:
            groups = ranked.unflatten(-1, (group_count, -1))
            best = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1)[0].sum(-1)
            kept = torch.zeros_like(best, dtype=torch.bool).scatter_(-1, best.topk(k_group, -1)[1], True)
            ranked = groups.masked_fill(~kept.unsqueeze(-1), float("-inf")).flatten(-2)
        chosen = ranked.topk(k, -1)[1]
        weights = scores.gather(-1, chosen)
        if norm_type == 1 or renorm:
            weights = weights / (weights.sum(-1, keepdim=True) + eps)
        return (weights * routed_scaling_factor).to(a.dtype), chosen.int(), scores

    made: tuple[Tensor, Tensor, Tensor] = whole("npu_moe_gating_top_k", "npu::npu_moe_gating_top_k", compute, tensors)
    return made


def npu_moe_init_routing(x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int) -> tuple[Tensor, Tensor, Tensor]:
    """(tokens by expert, row of each choice among them, experts in order); choices are counted as row_idx says."""

    def compute(a: Tensor, rows: Tensor, experts: Tensor) -> Any:
        ordered, order = _routed(experts)
        source = rows.reshape(-1)[order].long()
        places = torch.empty_like(source).scatter_(0, source, torch.arange(len(source)))
        count = min(active_num, a.shape[0]) * experts.shape[1]
        return a[source % a.shape[0]][:count], places.int(), ordered.int()

    made: tuple[Tensor, Tensor, Tensor] = whole(
        "npu_moe_init_routing", "npu::npu_moe_init_routing", compute, (x, row_idx, expert_idx)
    )
    return made


def npu_moe_init_routing_v2(
    x: Tensor, expert_idx: Tensor, *, scale: Tensor | None = None, offset: Tensor | None = None, active_num: int = -1,
    expert_capacity: int = -1, expert_num: int = -1, drop_pad_mode: int = 0, expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False, quant_mode: int = -1, active_expert_range: Sequence[int] = (), row_idx_type: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(tokens by expert, rows, tokens of each expert, scales). rows: place of each choice (row_idx_type 0) or choice at each
    place (1); tokens of an expert: cumulative (expert_tokens_num_type 0) or counted (1); quant_mode: -1 none, 1 by token."""
    if drop_pad_mode or offset is not None or quant_mode not in (-1, 1):
        raise RuntimeError("npu_moe_init_routing_v2: drop_pad_mode, offset and static quantisation are not simulated")
    first, last = tuple(active_expert_range) or (0, expert_num)

    def compute(a: Tensor, experts: Tensor) -> Any:
        width = experts.shape[1]
        ordered, order = _routed(experts)
        mine = (ordered >= first) & (ordered < last)
        order, outside = order[mine], order[~mine]
        places = torch.full((a.shape[0] * width,), -1)
        places[order] = torch.arange(len(order))
        counts = torch.bincount(ordered[mine].long() - first, minlength=last - first)
        rows = places if row_idx_type == 0 else torch.cat((order, torch.full_like(outside, -1)))
        return a[order // width], rows.int(), counts if expert_tokens_num_type else counts.cumsum(0)

    made = whole("npu_moe_init_routing_v2", "npu::npu_moe_init_routing_v2", compute, (x, expert_idx))
    tokens, scales = npu_dynamic_quant(made[0]) if quant_mode == 1 else (made[0], x.new_empty(0, dtype=torch.float32))
    return tokens, made[1], made[2], scales


def npu_moe_compute_expert_tokens(sorted_experts: Tensor, num_expert: int) -> Tensor:
    """Cumulative number of tokens by expert, int32."""

    def compute(experts: Tensor) -> Tensor:
        return torch.bincount(experts.long(), minlength=num_expert).cumsum(0).int()

    made: Tensor = whole(
        "npu_moe_compute_expert_tokens", "npu::npu_moe_compute_expert_tokens", compute, (sorted_experts,)
    )[0]
    return made


def npu_moe_finalize_routing(
    expanded_permuted_rows: Tensor, skip1: Tensor | None, skip2: Tensor | None, bias: Tensor | None, scales: Tensor | None,
    expanded_src_to_dst_row: Tensor, export_for_source_row: Tensor | None, drop_pad_mode: int = 0,
) -> Tensor:  # fmt: skip
    """Each token's weighted sum over its experts, with what skips them; rows as npu_moe_init_routing gave them."""
    if drop_pad_mode not in (0, 2):
        raise RuntimeError("npu_moe_finalize_routing: drop_pad_mode 1 and 3 are not simulated")
    names = ("skip1", "skip2", "bias", "scales", "experts")
    given = [skip1, skip2, bias, scales, export_for_source_row]
    tensors = [expanded_permuted_rows, expanded_src_to_dst_row, *(t for t in given if t is not None)]
    present = [name for name, t in zip(names, given, strict=True) if t is not None]

    def compute(a: Tensor, rows: Tensor, *more: Tensor) -> Tensor:
        have = dict(zip(present, more, strict=True))
        chosen = next((have[name] for name in ("scales", "experts") if name in have), None)
        tokens = rows.numel() if chosen is None else chosen.shape[0]
        width = rows.numel() // tokens
        found = a[rows.reshape(-1).long()]
        found = found.view(tokens, width, -1) if drop_pad_mode == 2 else found.view(width, tokens, -1).transpose(0, 1)
        found = found.float()
        if "bias" in have:
            found = found + have["bias"][have["experts"].long()].float()
        if "scales" in have:
            found = found * have["scales"].float().unsqueeze(-1)
        total = found.sum(1)
        for name in ("skip1", "skip2"):
            total = total + have[name].float() if name in have else total
        return total.to(a.dtype)

    made: Tensor = whole("npu_moe_finalize_routing", "npu::npu_moe_finalize_routing", compute, tensors)[0]
    return made


def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """(tokens by expert, place of each choice among them)."""
    if padded_mode:
        raise RuntimeError("npu_moe_token_permute: padded_mode is not simulated")
    width = indices.shape[1] if indices.dim() > 1 else 1

    def compute(a: Tensor, experts: Tensor) -> Any:
        order = _routed(experts)[1]
        return a[order[: num_out_tokens or len(order)] // width], torch.argsort(order).int()

    made: tuple[Tensor, Tensor] = whole("npu_moe_token_permute", "npu::npu_moe_token_permute", compute, (tokens, indices))
    return made


def npu_moe_token_unpermute(
    permuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None = None, padded_mode: bool = False,
    restore_shape: Any = None,
) -> Tensor:  # fmt: skip
    """The tokens in their own order, the weighted sum of their choices where weights are given."""
    if padded_mode:
        raise RuntimeError("npu_moe_token_unpermute: padded_mode is not simulated")
    tensors = (permuted_tokens, sorted_indices) if probs is None else (permuted_tokens, sorted_indices, probs)

    def compute(a: Tensor, places: Tensor, weights: Tensor | None = None) -> Tensor:
        found = a[places.long()]
        if weights is None:
            return found
        return (found.view(weights.shape[0], -1, a.shape[-1]) * weights.unsqueeze(-1)).sum(1).to(a.dtype)

    made: Tensor = whole("npu_moe_token_unpermute", "npu::npu_moe_token_unpermute", compute, tensors)[0]
    return made


def _counts(group_list: Any) -> list[int]:
    """Tokens of experts; of a tensor the bytes are looked at, which the device does by itself, so nobody waits."""
    if not isinstance(group_list, Tensor):
        return [int(n) for n in group_list]
    return [int(n) for n in (group_list if group_list.is_cpu else plain_cpu(group_list)).tolist()]


def _each(part: list[Tensor], count: int, dims: int) -> list[Tensor]:
    """One tensor of all experts as a list of them; a list as it is."""
    return list(part[0].unbind(0)) if len(part) == 1 and part[0].dim() == dims and len(part[0]) == count else part


def npu_grouped_matmul(
    x: Sequence[Tensor], weight: Sequence[Tensor], *, bias: Sequence[Tensor] | None = None,
    scale: Sequence[Tensor] | None = None, per_token_scale: Sequence[Tensor] | None = None, group_list: Any = None,
    split_item: int = 0, group_type: int = -1, group_list_type: int = 0, act_type: int = 0,
    output_dtype: torch.dtype | None = None, **more: Any,
) -> list[Tensor]:  # fmt: skip
    """Products by expert. One x with all tokens and group_list (cumulative tokens of experts, counts with group_list_type 1),
    weight one tensor (experts, k, n) or a list of (k, n); or as many x as weights. split_item 2 and 3 give one result."""
    unknown = [name for name, value in more.items() if value is not None and name != "tuning_config"]
    if unknown or act_type or group_type == 2:
        raise RuntimeError(f"npu_grouped_matmul: {', '.join(unknown) or 'act_type and group_type=2'} is not simulated")
    optional = [scale or (), per_token_scale or (), bias or ()]
    sizes = [len(x), len(weight), *map(len, optional)]
    lengths = None if group_list is None else _counts(group_list)
    if lengths is not None and not group_list_type:
        lengths = [b - a for a, b in zip([0, *lengths[:-1]], lengths, strict=True)]

    def compute(*tensors: Tensor) -> Any:
        rest, parts = list(tensors), []
        for size in sizes:
            parts.append(rest[:size])
            del rest[:size]
        data, tokens, count = parts[0], parts[3], len(lengths or ())
        weights, scales, biases = (_each(parts[n], count, dims) for n, dims in ((1, 3), (2, 2), (4, 2)))
        rows = data[0].split(lengths) if lengths is not None and len(data) == 1 else data
        each = tokens[0].split(lengths) if tokens and lengths is not None and len(tokens) == 1 else tokens
        made = []
        for n, (a, w) in enumerate(zip(rows, weights, strict=False)):
            y = a.int() @ w.int() if a.dtype == torch.int8 else a.float() @ w.float()
            y = y.float() * scales[n].float() if scales else y
            y = y * each[n].float().unsqueeze(-1) if each else y
            y = y + biases[n].float() if biases else y
            made.append(y.to(output_dtype or (torch.float16 if a.dtype == torch.int8 else a.dtype)))
        if split_item not in (2, 3):
            return tuple(made)
        whole_one = torch.cat(made)
        left = data[0].shape[0] - whole_one.shape[0] if len(data) == 1 else 0  # tokens of no expert here
        return functional.pad(whole_one, (0, 0, 0, left)) if left > 0 else whole_one

    tensors = [*x, *weight, *(t for values in optional for t in values)]

    def operands(given: Sequence[Tensor]) -> list[Tensor]:
        mine = given[len(x) : len(x) + len(weight)]
        return [given[0], mine[0] if mine[0].dim() == 3 else mine[0].unsqueeze(0).expand(len(mine), -1, -1)]

    return list(whole("npu_grouped_matmul", "npu::npu_grouped_matmul", compute, tensors, operands))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        npu_moe_gating_top_k_softmax, npu_moe_gating_top_k, npu_moe_init_routing, npu_moe_init_routing_v2,
        npu_moe_compute_expert_tokens, npu_moe_finalize_routing, npu_moe_token_permute, npu_moe_token_unpermute,
        npu_grouped_matmul,
    )
}  # fmt: skip
