"""Operators that torch sends to backends under names of their own: convolution, attention, fused cells of LSTM and GRU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from npu.torch_npu import launch, memory, place
from npu.torch_npu.flip import to_npu
from npu.torch_npu.kernels import plain_cpu
from npu.torch_npu.operators import find

aten = torch.ops.aten
TRACED = (FakeTensor, FunctionalTensor)


def run(name: str, shown: str, reads: Sequence[Tensor], compute: Callable[..., Any]) -> Any:
    """Compute on the CPU forms of `reads` and launch the operator of a name. None among the results stays None."""
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        device = memory.device_of(process, reads[0])
        where = place.stream(process, thread, device)
        given = list(map(plain_cpu, reads))
        results = compute(*given)
        if launch.capture is not None:
            launch.capture.did(compute, given, {}, results)
        several = isinstance(results, tuple)
        made: list[Any] = []
        for result in results if several else (results,):
            if isinstance(result, Tensor):
                result = to_npu(result)
                memory.hold(process, thread, result, device, where.ordinal)
            made.append(result)
        outs = [r for r in made if isinstance(r, Tensor)]
        launch.launch(process, thread, where, find(name), shown, False, reads, outs, begun)
        return tuple(made) if several else made[0]
    finally:
        thread.clock.leave()


def convolution(
    data: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    """aten::convolution_overrideable."""
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    if bias is None:
        return run("convolution", "aten::convolution", (data, weight), lambda x, w: aten.convolution(x, w, None, *rest))
    return run("convolution", "aten::convolution", (data, weight, bias), lambda x, w, b: aten.convolution(x, w, b, *rest))


def convolution_backward(
    gradient: Tensor, data: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding:
    Any,
    groups: int, output_mask: Sequence[bool],
) -> Any:  # fmt: skip
    """aten::convolution_backward_overrideable."""
    rest = (stride, padding, dilation, transposed, output_padding, groups, list(output_mask))
    channels = [weight.shape[1] * groups if transposed else weight.shape[0]]
    return run(
        "convolution_backward", "aten::convolution_backward", (gradient, data, weight),
        lambda g, x, w: aten.convolution_backward(g, x, w, channels, *rest),
    )  # fmt: skip


class Attention(torch.autograd.Function):
    """One kernel forward and one backward, as FlashAttentionScore; the arithmetic is that of the CPU's flash attention."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float | None
    ) -> Tensor:
        reads = (query, key, value) if mask is None else (query, key, value, mask)

        def compute(q: Tensor, k: Tensor, v: Tensor, m: Tensor | None = None) -> Any:
            return aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=m, scale=scale)

        shown = "aten::scaled_dot_product_attention"
        out, sums = run("_scaled_dot_product_flash_attention_for_cpu", shown, reads, compute)
        ctx.save_for_backward(query, key, value, out, sums, *(() if mask is None else (mask,)))
        ctx.options = causal, scale
        made: Tensor = out
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        query, key, value, out, sums, *mask = ctx.saved_tensors
        causal, scale = ctx.options

        def compute(g: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, s: Tensor, m: Tensor | None = None) -> Any:
            return aten._scaled_dot_product_flash_attention_for_cpu_backward(
                g, q, k, v, o, s, 0.0, causal, attn_mask=m, scale=scale
            )

        made = run(
            "_scaled_dot_product_flash_attention_for_cpu_backward", "aten::scaled_dot_product_attention_backward",
            (gradient, query, key, value, out, sums, *mask), compute,
        )  # fmt: skip
        return (*made, None, None, None)


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """aten::scaled_dot_product_attention: one kernel where the CPU's flash attention takes the arguments, else single
    operators."""
    takes = query.dim() == 4 and key.dim() == 4 and not dropout_p and not enable_gqa and query.shape[-1] == value.shape[-1]
    if takes and attn_mask is not None:
        takes = attn_mask.dim() in (2, 4) and not attn_mask.requires_grad
        if takes and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), float("-inf"))
    if takes and query.dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64) and query.numel() and key.numel():
        if isinstance(query, TRACED):  # a graph is being made: the operator itself stands in it, and has a gradient of torch's
            flash = aten._scaled_dot_product_flash_attention_for_cpu
            return flash(query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale)[0]  # type: ignore[no-any-return]
        made: Tensor = Attention.apply(query, key, value, attn_mask, is_causal, scale)
        return made
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


def lstm_cell(
    input_gates: Tensor, hidden_gates: Tensor, cell: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> Any:
    """aten::_thnn_fused_lstm_cell: (hidden, cell, workspace); the workspace holds the four gates after their activations."""

    def compute(i: Tensor, h: Tensor, c: Tensor, *biases: Tensor) -> Any:
        gates = h + i if not biases else (h + biases[1]) + (i + biases[0])
        one, forget, new, out = gates.chunk(4, 1)
        one, forget, new, out = one.sigmoid(), forget.sigmoid(), new.tanh(), out.sigmoid()
        following = forget * c + one * new
        return out * following.tanh(), following, torch.cat((one, forget, new, out), 1)

    biases = () if input_bias is None or hidden_bias is None else (input_bias, hidden_bias)
    return run("_thnn_fused_lstm_cell", "aten::_thnn_fused_lstm_cell", (input_gates, hidden_gates, cell, *biases), compute)


def lstm_cell_backward(
    grad_hidden: Tensor | None, grad_cell: Tensor | None, cell: Tensor, following: Tensor, workspace: Tensor, has_bias: bool
) -> Any:
    """aten::_thnn_fused_lstm_cell_backward_impl: gradients of the gates, of the former cell, and of the biases together."""
    given = [g for g in (grad_hidden, grad_cell) if g is not None]

    def compute(c: Tensor, cy: Tensor, w: Tensor, *gradients: Tensor) -> Any:
        rest = list(gradients)
        gh = rest.pop(0) if grad_hidden is not None else torch.zeros_like(cy)
        gc = rest.pop(0) if grad_cell is not None else torch.zeros_like(cy)
        one, forget, new, out = w.chunk(4, 1)
        bent = cy.tanh()
        gcx = aten.tanh_backward(gh * out, bent) + gc
        gates = torch.cat((
            aten.sigmoid_backward(gcx * new, one), aten.sigmoid_backward(gcx * c, forget), aten.tanh_backward(gcx * one, new),
            aten.sigmoid_backward(gh * bent, out),
        ), 1)  # fmt: skip
        return (gates, gcx * forget, gates.sum(0) if has_bias else None)

    shown = "aten::_thnn_fused_lstm_cell_backward"
    return run("_thnn_fused_lstm_cell_backward_impl", shown, (cell, following, workspace, *given), compute)


def gru_cell(
    input_gates: Tensor, hidden_gates: Tensor, hidden: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> Any:
    """aten::_thnn_fused_gru_cell: (hidden, workspace); the workspace holds reset, update and new gate, the former hidden state
    and
    the hidden part of the new gate."""

    def compute(i: Tensor, h: Tensor, x: Tensor, *biases: Tensor) -> Any:
        if biases:
            i, h = i + biases[0], h + biases[1]
        (ir, iu, inew), (hr, hu, hnew) = i.chunk(3, 1), h.chunk(3, 1)
        reset, update = (hr + ir).sigmoid(), (hu + iu).sigmoid()
        new = (inew + hnew * reset).tanh()
        return (x - new) * update + new, torch.cat((reset, update, new, x, hnew), 1)

    biases = () if input_bias is None or hidden_bias is None else (input_bias, hidden_bias)
    return run("_thnn_fused_gru_cell", "aten::_thnn_fused_gru_cell", (input_gates, hidden_gates, hidden, *biases), compute)


def gru_cell_backward(gradient: Tensor, workspace: Tensor, has_bias: bool) -> Any:
    """aten::_thnn_fused_gru_cell_backward: gradients of input gates, hidden gates, hidden state, and of both biases."""

    def compute(g: Tensor, w: Tensor) -> Any:
        reset, update, new, x, hnew = w.chunk(5, 1)  # in the order in which autograd takes the single steps back
        scaled = g * update
        gu = aten.sigmoid_backward(g * (x - new), update)
        gn = aten.tanh_backward(g - scaled, new)
        gr = aten.sigmoid_backward(gn * hnew, reset)
        inner, outer = torch.cat((gr, gu, gn), 1), torch.cat((gr, gu, gn * reset), 1)
        return (inner, outer, scaled, inner.sum(0) if has_bias else None, outer.sum(0) if has_bias else None)

    return run("_thnn_fused_gru_cell_backward", "aten::_thnn_fused_gru_cell_backward", (gradient, workspace), compute)


def zeros(size: Sequence[int], *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor:
    """aten::_efficientzerotensor: zeros without bytes in torch, which forward derivatives are made of; here with their bytes."""
    return torch.zeros(size, dtype=dtype, device="npu")


# name of the operator -> its kernel
KERNELS: dict[str, Callable[..., Any]] = {
    "_efficientzerotensor": zeros,
    "convolution_overrideable": convolution,
    "convolution_backward_overrideable": convolution_backward,
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
}
