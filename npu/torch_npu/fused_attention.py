"""Attention of the library under its names in torch_npu: one kernel each, whatever the layout, mask or cache.

Layouts: B batch, S length, N heads, D depth, H = N * D, T all tokens of a batch one after the other (their cumulative lengths
are given). Masks: True or non-zero hides. Sparse modes: 0 and 1 take the mask as it is, 2 and 3 are causal (aligned at the first
or the last token), 4 is a band of pre_tokens and next_tokens around the aligned diagonal; 2 to 4 need no mask of full size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor

from npu.torch_npu.fused import whole
from npu.torch_npu.kernels import plain_cpu
from npu.torch_npu.whole import into

LAYOUTS = ("BNSD", "BSND", "SBH", "BSH", "TND")
EVERY = 2147483647  # tokens: no limit of a band


class Form(NamedTuple):
    """How a call is laid out. ends: cumulative lengths of queries and of keys (TND)."""

    heads: int
    kv_heads: int
    layout: str
    scale: float
    sparse_mode: int = 0
    before: int = EVERY
    after: int = EVERY
    dropout: float = 0.0
    ends: tuple[Sequence[int], Sequence[int]] | None = None


def apart(x: Tensor, layout: str, heads: int) -> Tensor:
    """Any layout as (batch, heads, length, depth); a view."""
    if layout == "BNSD":
        return x
    if layout == "TND":
        return x.unsqueeze(0).transpose(1, 2)
    if layout == "BSND":
        return x.transpose(1, 2)
    x = x.transpose(0, 1) if layout == "SBH" else x
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def together(x: Tensor, layout: str) -> Tensor:
    """The way back."""
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "TND":
        return x.squeeze(0)
    if layout == "BSND":
        return x
    x = x.flatten(2)
    return x.transpose(0, 1) if layout == "SBH" else x


def hidden(form: Form, queries: int, keys: int, mask: Tensor | None) -> Tensor | None:
    """(queries, keys) or wider, True where nothing is seen; None where everything is."""
    if form.sparse_mode in (0, 1):
        return None if mask is None else mask.bool()
    shift = 0 if form.sparse_mode == 2 else keys - queries
    distance = torch.arange(keys)[None] - torch.arange(queries)[:, None] - shift
    if form.sparse_mode == 4:
        return (distance > form.after) | (distance < -form.before)
    return distance > 0


def _one(form: Form, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """Attention of (batch, heads, length, depth)."""
    seen = hidden(form, q.shape[2], k.shape[2], mask)
    added = None if seen is None else torch.zeros(seen.shape, dtype=q.dtype).masked_fill(seen.cpu(), float("-inf"))
    if bias is not None:
        added = bias if added is None else added + bias
    grouped = k.shape[1] != q.shape[1]
    made = functional.scaled_dot_product_attention(q, k, v, added, form.dropout, scale=form.scale, enable_gqa=grouped)
    return made if seen is None else made.nan_to_num(0.0)  # a query that sees nothing gives zeros


def _computed(form: Form, biased: bool, masked: bool) -> Callable[..., Tensor]:
    def compute(query: Tensor, key: Tensor, value: Tensor, *more: Tensor) -> Tensor:
        rest = list(more)
        bias = rest.pop(0) if biased else None
        mask = rest.pop(0) if masked else None
        q = apart(query, form.layout, form.heads)
        k, v = (apart(x, form.layout, form.kv_heads) for x in (key, value))
        if form.ends is None:
            return together(_one(form, q, k, v, mask, bias), form.layout)
        made, begins = [], (0, 0)
        for ends in zip(*form.ends, strict=True):
            mine, theirs = (slice(a, b) for a, b in zip(begins, ends, strict=True))
            made.append(_one(form, q[:, :, mine], k[:, :, theirs], v[:, :, theirs], mask, bias))
            begins = ends
        return together(torch.cat(made, 2), form.layout)

    return compute


def run(kind: str, form: Form, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, mask: Tensor | None) -> Tensor:
    """One such kernel. RuntimeError for a layout or a sparse mode there is none of."""
    if form.layout not in LAYOUTS:
        raise RuntimeError(f"{kind}: input_layout={form.layout!r} is not simulated; {', '.join(LAYOUTS)} are")
    if form.sparse_mode not in range(5):
        raise RuntimeError(f"{kind}: sparse_mode={form.sparse_mode} is not simulated; 0 to 4 are")
    tensors = [query, key, value, *(t for t in (bias, mask) if t is not None)]

    def operands(given: Sequence[Tensor]) -> list[Tensor]:
        shown = [apart(given[0], form.layout, form.heads), *(apart(t, form.layout, form.kv_heads) for t in given[1:3])]
        if form.ends is None or (count := len(form.ends[0])) < 2 or any(t.shape[2] % count for t in shown):
            return shown
        return [t.unflatten(2, (count, -1)).transpose(1, 2).flatten(0, 1) for t in shown]

    compute = _computed(form, bias is not None, mask is not None)
    made: Tensor = whole(kind, f"npu::{kind}", compute, tensors, operands)[0]
    return made


def _ends(lengths: Any) -> list[int]:
    """Of a tensor on the device the bytes are looked at, which the device does by itself, so nobody waits."""
    if isinstance(lengths, Tensor):
        lengths = (lengths if lengths.is_cpu else plain_cpu(lengths)).tolist()
    return [int(n) for n in lengths]


def npu_fusion_attention(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, pse: Tensor | None = None,
    padding_mask: Tensor | None = None, atten_mask: Tensor | None = None, scale: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = EVERY, next_tockens: int = EVERY, inner_precise: int = 0, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, **more: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """(attention, softmax max, softmax sum, softmax out, seed, offset, mask length). Fewer heads of key and value are shared."""
    if padding_mask is not None or prefix is not None:
        raise RuntimeError("npu_fusion_attention: padding_mask and prefix are not simulated; use atten_mask")
    depth = query.shape[-1] // head_num if input_layout in ("BSH", "SBH") else query.shape[-1]
    kv_heads = key.shape[1 if input_layout == "BNSD" else -2] if depth == query.shape[-1] else key.shape[-1] // depth
    ends = (_ends(actual_seq_qlen), _ends(actual_seq_kvlen)) if input_layout == "TND" else None
    form = Form(head_num, kv_heads, input_layout, scale, sparse_mode, pre_tockens, next_tockens, 1.0 - keep_prob, ends)
    made = run("npu_fusion_attention", form, query, key, value, pse, atten_mask)
    empty = query.new_empty(0)
    return made, empty, empty, empty, 0, 0, 0


def _of_pages(cache: Tensor, table: Tensor, block: int) -> Tensor:
    """(batch, length, heads x depth) from (blocks, block, ...) by a table of the blocks of each request."""
    return cache[table.clamp_min(0).long()].flatten(1, 2).flatten(2)


def _inference(
    kind: str, query: Tensor, key: Tensor, value: Tensor, heads: int, kv_heads: int, layout: str, scale: float, sparse_mode: int,
    before: int, after: int, bias: Tensor | None, mask: Tensor | None, lengths: Any, table: Tensor | None, block: int, ends: Any,
) -> Tensor:  # fmt: skip
    """Attention over a cache: keys in blocks where a table is given, `lengths` of each request (None: all)."""
    kv_heads = kv_heads or heads
    lengths = None if lengths is None or layout == "TND" else _ends(lengths)
    if table is None and lengths is None:
        form = Form(heads, kv_heads, layout, scale, sparse_mode, before, after, 0.0, ends)
        return run(kind, form, query, key, value, bias, mask)
    tensors = [query, key, value, *(() if table is None else (table,))]

    def compute(q: Tensor, k: Tensor, v: Tensor, *more: Tensor) -> Tensor:
        laid = layout
        if more:
            k, v = (_of_pages(x, more[0], block) for x in (k, v))
            laid = "BSH"
        wide = apart(q, layout, heads)
        k, v = (apart(x, laid, kv_heads) for x in (k, v))
        form = Form(heads, kv_heads, "BNSD", scale, sparse_mode, before, after)
        made = [
            _one(form, wide[n : n + 1], k[n : n + 1, :, :length], v[n : n + 1, :, :length], None, None)
            for n, length in enumerate(lengths or [k.shape[2]] * len(wide))
        ]
        return together(torch.cat(made), layout)

    def operands(given: Sequence[Tensor]) -> list[Tensor]:
        """A query, and as much of the cache as is read."""
        q = apart(given[0], layout, heads)
        longest = max(lengths or [1])
        depth = q.shape[3]
        flat = given[1].flatten()
        count = min(q.shape[0] * longest, flat.numel() // (kv_heads * depth)) // q.shape[0]
        k = flat[: q.shape[0] * kv_heads * count * depth].view(q.shape[0], kv_heads, count, depth)
        return [q, k, k]

    made: Tensor = whole(kind, f"npu::{kind}", compute, tensors, operands)[0]
    return made


def npu_prompt_flash_attention(
    query: Tensor, key: Tensor, value: Tensor, *, padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None, actual_seq_lengths: Any = None, num_heads: int = 1, scale_value: float = 1.0,
    pre_tokens: int = EVERY, next_tokens: int = 0, input_layout: str = "BSH", num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Any = None, sparse_mode: int = 0, inner_precise: int = 1, **more: Any,
) -> Tensor:  # fmt: skip
    """Attention of whole prompts."""
    return _inference(
        "npu_prompt_flash_attention", query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, sparse_mode,
        pre_tokens, next_tokens, pse_shift, atten_mask, actual_seq_lengths_kv, None, 0, None,
    )  # fmt: skip


def npu_incre_flash_attention(
    query: Tensor, key: Tensor, value: Tensor, *, padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None, actual_seq_lengths: Any = None, block_table: Tensor | None = None, num_heads: int = 1,
    scale_value: float = 1.0, input_layout: str = "BSH", num_key_value_heads: int = 0, block_size: int = 0, **more: Any,
) -> Tensor:  # fmt: skip
    """Attention of one new token a request."""
    return _inference(
        "npu_incre_flash_attention", query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, 0, EVERY,
        EVERY, pse_shift, atten_mask, actual_seq_lengths, block_table, block_size, None,
    )  # fmt: skip


def npu_fused_infer_attention_score(
    query: Tensor, key: Tensor, value: Tensor, *, pse_shift: Tensor | None = None, atten_mask: Tensor | None = None,
    actual_seq_lengths: Any = None, actual_seq_lengths_kv: Any = None, block_table: Tensor | None = None, num_heads: int = 1,
    scale: float = 1.0, pre_tokens: int = EVERY, next_tokens: int = EVERY, input_layout: str = "BSH",
    num_key_value_heads: int = 0, sparse_mode: int = 0, inner_precise: int = 0, block_size: int = 0,
    softmax_lse_flag: bool = False, **more: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(attention, log of the sums: empty, they are not simulated)."""
    if softmax_lse_flag:
        raise RuntimeError("npu_fused_infer_attention_score: softmax_lse_flag=True is not simulated")
    if any(more.get(name) is not None for name in ("query_rope", "key_rope")):
        raise RuntimeError("npu_fused_infer_attention_score: query_rope and key_rope (MLA) are not simulated; concatenate them")
    ends = (_ends(actual_seq_lengths), _ends(actual_seq_lengths_kv)) if input_layout == "TND" and block_table is None else None
    made = _inference(
        "npu_fused_infer_attention_score", query, key, value, num_heads, num_key_value_heads, input_layout, scale, sparse_mode,
        pre_tokens, next_tokens, pse_shift, atten_mask, actual_seq_lengths_kv, block_table, block_size, ends,
    )  # fmt: skip
    return made, query.new_empty(0)


def npu_fused_infer_attention_score_v2(
    query: Tensor, key: Tensor, value: Tensor, *, num_query_heads: int = 1, softmax_scale: float = 1.0,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, return_softmax_lse: bool = False, **more: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same with the names of its second version."""
    return npu_fused_infer_attention_score(
        query, key, value, num_heads=num_query_heads, scale=softmax_scale, actual_seq_lengths=actual_seq_qlen,
        actual_seq_lengths_kv=actual_seq_kvlen, softmax_lse_flag=return_softmax_lse, **more,
    )  # fmt: skip


def npu_paged_attention(
    query: Tensor, key_cache: Tensor, value_cache: Tensor, num_kv_heads: int, num_heads: int, scale_value: float,
    block_table: Tensor, context_lens: Any, out: Tensor, **more: Any,
) -> Tensor:  # fmt: skip
    """query and out: (tokens, heads, depth); caches: (blocks, block, heads, depth); `out` is written."""
    lengths, kind = _ends(context_lens), "_npu_paged_attention"
    form = Form(num_heads, num_kv_heads, "BNSD", scale_value)

    def compute(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
        k, v = (apart(_of_pages(x, table, x.shape[1]), "BSH", num_kv_heads) for x in (k, v))
        q = q.view(len(lengths), 1, num_heads, -1).transpose(1, 2)
        made = [_one(form, q[n : n + 1], k[n : n + 1, :, :m], v[n : n + 1, :, :m], None, None) for n, m in enumerate(lengths)]
        return torch.cat(made).view(out.shape)

    def operands(given: Sequence[Tensor]) -> list[Tensor]:
        batch, depth, longest = len(lengths), given[0].shape[-1], max(lengths, default=1)
        flat = given[1].flatten()
        longest = min(longest, flat.numel() // (batch * num_kv_heads * depth))
        k = flat[: batch * num_kv_heads * longest * depth].view(batch, num_kv_heads, longest, depth)
        return [given[0].view(batch, num_heads, 1, depth), k, k]

    return into(kind, "atb::_npu_paged_attention", compute, (out,), (query, key_cache, value_cache, block_table), operands)


def _unpadded(
    kind: str, query: Tensor, key: Tensor, value: Tensor, lengths: Any, scale: float, heads: int, kv_heads: int, out: Tensor,
) -> Tensor:  # fmt: skip
    ends: list[int] = []
    for length in _ends(lengths):
        ends.append(length + (ends[-1] if ends else 0))
    shaped = [t.view(t.shape[0], n, -1) for t, n in ((query, heads), (key, kv_heads), (value, kv_heads))]
    form = Form(heads, kv_heads, "TND", scale, 3, ends=(ends, ends))
    compute = _computed(form, False, False)
    shown = partial(_shown, heads=heads, kv_heads=kv_heads)
    return into(kind, f"atb::{kind}", lambda *t: compute(*t).view(out.shape), (out,), shaped, shown)


def _shown(given: Sequence[Tensor], heads: int, kv_heads: int) -> list[Tensor]:
    return [apart(t, "TND", n) for t, n in zip(given, (heads, kv_heads, kv_heads), strict=True)]


def npu_flash_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, seq_len: Any, scale_value: float, num_heads: int,
    num_kv_heads: int, out: Tensor, **more: Any,
) -> Tensor:  # fmt: skip
    """Causal attention of prompts one after the other; `out` is written."""
    return _unpadded("_npu_flash_attention", query, key, value, seq_len, scale_value, num_heads, num_kv_heads, out)


def npu_flash_attention_unpad(
    query: Tensor, key: Tensor, value: Tensor, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int, out: Tensor,
    **more: Any,
) -> Tensor:  # fmt: skip
    return _unpadded("_npu_flash_attention_unpad", query, key, value, seq_len, scale_value, num_heads, num_kv_heads, out)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        npu_fusion_attention, npu_prompt_flash_attention, npu_incre_flash_attention, npu_fused_infer_attention_score,
        npu_fused_infer_attention_score_v2,
    )
}  # fmt: skip
FUNCTIONS |= {
    "_npu_paged_attention": npu_paged_attention,
    "_npu_flash_attention": npu_flash_attention,
    "_npu_flash_attention_unpad": npu_flash_attention_unpad,
}
