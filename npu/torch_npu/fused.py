"""The library's own fused operators under their names in torch_npu: one kernel each, with torch's arithmetic.

Formulas are those of the public documentation of torch_npu; what a function does not take is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from npu.torch_npu import whole as kernel

ND = 2  # format number of plain tensors


def whole(kind: str, shown: str, compute: Callable[..., Any], tensors: Sequence[Tensor], operands: kernel.Operands = list) -> Any:
    """Run such an operator as one kernel; while a graph is made its formula, in which the graph engine finds the kernel."""
    if torch.compiler.is_compiling():
        made = compute(*tensors)
        return made if isinstance(made, tuple) else (made,)
    return kernel.whole(kind, shown, compute, tensors, operands)


def _float(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Computed in float32 and rounded once, as inside one kernel."""

    def run(*tensors: Tensor) -> Tensor:
        return compute(*(t.float() for t in tensors)).to(tensors[0].dtype)

    return run


def _rms(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    wide = x.float()
    rstd = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(x.dtype), rstd


def npu_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(normalised, rstd)."""
    made: tuple[Tensor, Tensor] = whole("npu_rms_norm", "npu::npu_rms_norm", lambda a, g: _rms(a, g, epsilon), (x, gamma))
    return made


def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """(normalised, rstd, x1 + x2)."""

    def compute(a: Tensor, b: Tensor, g: Tensor) -> Any:
        total = a + b
        return (*_rms(total, g, epsilon), total)

    made: tuple[Tensor, Tensor, Tensor] = whole("npu_add_rms_norm", "npu::npu_add_rms_norm", compute, (x1, x2, gamma))
    return made


def npu_swiglu(x: Tensor, dim: int = -1) -> Tensor:
    """silu of the first half times the second, along dim."""

    def compute(a: Tensor) -> Tensor:
        gate, value = a.chunk(2, dim)
        return functional.silu(gate) * value

    return whole("npu_swiglu", "npu::npu_swiglu", _float(compute), (x,))[0]


def npu_gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return whole("npu_gelu", "npu::npu_gelu", _float(lambda a: functional.gelu(a, approximate=approximate)), (x,))[0]


def fast_gelu(x: Tensor) -> Tensor:
    """x * sigmoid(1.702 |x|) * exp(0.851 (x - |x|))."""

    def compute(a: Tensor) -> Tensor:
        size = a.abs()
        return a / (1 + torch.exp(-1.702 * size)) * torch.exp(0.851 * (a - size))

    return whole("fast_gelu", "npu::fast_gelu", _float(compute), (x,))[0]


def npu_gemma_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(normalised, rstd) with 1 + gamma as the weight."""
    compute = lambda a, g: _rms(a, 1 + g.float(), epsilon)  # noqa: E731 - a formula
    made: tuple[Tensor, Tensor] = whole("npu_gemma_rms_norm", "npu::npu_gemma_rms_norm", compute, (x, gamma))
    return made


def npu_add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(normalised, mean, rstd, x1 + x2)."""

    def compute(a: Tensor, b: Tensor, g: Tensor, shift: Tensor) -> Any:
        total = a + b
        wide = total.float()
        mean = wide.mean(-1, keepdim=True)
        rstd = torch.rsqrt(wide.var(-1, unbiased=False, keepdim=True) + epsilon)
        return ((wide - mean) * rstd * g.float() + shift.float()).to(a.dtype), mean, rstd, total

    made: tuple[Tensor, Tensor, Tensor, Tensor] = whole(
        "npu_add_layer_norm", "npu::npu_add_layer_norm", compute, (x1, x2, gamma, beta)
    )
    return made


def npu_geglu(x: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """(value * gelu(gate), gelu(gate)): the gate is the second half, the first with activate_left."""

    def compute(a: Tensor) -> Any:
        value, gate = a.float().chunk(2, dim)
        value, gate = (gate, value) if activate_left else (value, gate)
        bent = functional.gelu(gate, approximate="tanh" if approximate else "none")
        return (value * bent).to(a.dtype), bent.to(a.dtype)

    made: tuple[Tensor, Tensor] = whole("npu_geglu", "npu::npu_geglu", compute, (x,))
    return made


def npu_silu(x: Tensor) -> Tensor:
    return functional.silu(x)


def npu_mish(x: Tensor) -> Tensor:
    return functional.mish(x)


def npu_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.linear(x, weight, bias)


def npu_transpose(x: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    made = x.permute(*perm)
    return made.contiguous() if require_contiguous else made


def npu_confusion_transpose(x: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    """A transposition and a change of shape, in either order."""
    return x.permute(*perm).reshape(*shape) if transpose_first else x.reshape(*shape).permute(*perm).contiguous()


def turned(x: Tensor, cos: Tensor, sin: Tensor, mode: str) -> Tensor:
    """The formula of a rotary embedding: halves swapped (mode half), or neighbours (interleave)."""
    if mode == "half":
        one, two = x.chunk(2, -1)
        other = torch.cat((-two, one), -1)
    else:
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return cos * x + sin * other


def npu_rotary_mul(x: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half") -> Tensor:
    """x * cos + rotate(x) * sin; halves swapped, or neighbours ("interleave")."""
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"npu_rotary_mul: rotary_mode={rotary_mode!r} does not exist; half and interleave do")

    def compute(a: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return turned(a, cos, sin, rotary_mode)

    return whole("npu_rotary_mul", "npu::npu_rotary_mul", compute, (x, r1, r2))[0]


def npu_dtype_cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype)


def npu_format_cast(x: Tensor, acl_format: int) -> Tensor:
    """Private formats are not kept on tensors here: the tensor as it is."""
    return x


npu_format_cast_ = npu_format_cast


def get_npu_format(x: Tensor) -> int:
    return ND


def npu_dynamic_quant(x: Tensor, *, smooth_scales: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(int8 values, scale of each row): symmetric, the largest magnitude of a row becomes 127."""
    tensors = (x,) if smooth_scales is None else (x, smooth_scales)

    def compute(a: Tensor, smooth: Tensor | None = None) -> Any:
        wide = a.float() if smooth is None else a.float() * smooth.float()
        scale = wide.abs().amax(-1) / 127
        return (wide / scale.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(-1)).round().clamp(-128, 127).to(
            torch.int8
        ), scale

    made: tuple[Tensor, Tensor] = whole("npu_dynamic_quant", "npu::npu_dynamic_quant", compute, tensors)
    return made


def npu_quant_matmul(
    x1: Tensor, x2: Tensor, scale: Tensor, *, offset: Tensor | None = None, pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None, output_dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    """int8 product with per-channel (and per-token) scales; int8 results are refused."""
    dtype = torch.float16 if output_dtype is None else output_dtype
    if offset is not None or dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise RuntimeError(
            "npu_quant_matmul: offset and integer results are not simulated; give output_dtype=torch.float16 or bfloat16"
        )
    rest = [t for t in (pertoken_scale, bias) if t is not None]

    def compute(a: Tensor, b: Tensor, s: Tensor, *more: Tensor) -> Tensor:
        left = list(more)
        total = torch.matmul(a.int(), b.int())
        token = left.pop(0) if pertoken_scale is not None else None
        if left and left[0].dtype == torch.int32:
            total = total + left.pop(0)
        made = total.float() * s.float()
        made = made if token is None else made * token.float().unsqueeze(-1)
        return (made + left[0].float() if left else made).to(dtype)

    return whole("npu_quant_matmul", "npu::npu_quant_matmul", compute, (x1, x2, scale, *rest), lambda t: list(t[:2]))[0]


def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1.0, fixed_triu_mask: bool = False) -> Tensor:
    """softmax(x * scale) where the mask is False."""

    def compute(a: Tensor, m: Tensor) -> Tensor:
        hidden = torch.ones(a.shape[-2:], dtype=torch.bool).triu(1) if fixed_triu_mask else m.bool()
        return torch.softmax((a.float() * scale).masked_fill(hidden, -10000.0), -1).to(a.dtype)

    return whole("npu_scaled_masked_softmax", "npu::npu_scaled_masked_softmax", compute, (x, mask))[0]


def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    """Both turned, in one kernel."""
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"npu_apply_rotary_pos_emb: rotary_mode={rotary_mode!r} is not simulated; half and interleave are")

    def compute(q: Tensor, k: Tensor, c: Tensor, s: Tensor) -> Any:
        return turned(q, c, s, rotary_mode), turned(k, c, s, rotary_mode)

    made: tuple[Tensor, Tensor] = whole(
        "npu_apply_rotary_pos_emb", "npu::npu_apply_rotary_pos_emb", compute, (query, key, cos, sin)
    )
    return made


def npu_weight_quant_batchmatmul(
    x: Tensor, weight: Tensor, antiquant_scale: Tensor, antiquant_offset: Tensor | None = None, quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None, bias: Tensor | None = None, antiquant_group_size: int = 0, inner_precise: int = 0,
) -> Tensor:  # fmt: skip
    """x times int8 weights that are scaled on the way, by channel; groups and int8 results are refused."""
    if antiquant_group_size or quant_scale is not None or weight.dtype != torch.int8:
        raise RuntimeError("npu_weight_quant_batchmatmul: groups, int4 weights and int8 results are not simulated")
    rest = [t for t in (antiquant_offset, bias) if t is not None]

    def compute(a: Tensor, w: Tensor, scale: Tensor, *more: Tensor) -> Tensor:
        left = list(more)
        wide = w.float() + left.pop(0).float() if antiquant_offset is not None else w.float()
        made = a.float() @ (wide * scale.float())
        return (made + left[0].float() if left else made).to(a.dtype)

    return whole("npu_weight_quant_batchmatmul", "npu::npu_weight_quant_batchmatmul", compute,
                 (x, weight, antiquant_scale, *rest), lambda t: list(t[:2]))[0]  # fmt: skip


def npu_quantize(
    x: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: torch.dtype, axis: int = -1, div_mode: bool = True
) -> Tensor:
    """x / scales + zero points (x * scales with div_mode=False), rounded to int8."""
    if dtype not in (torch.qint8, torch.int8):
        raise RuntimeError(f"npu_quantize: dtype={dtype} is not simulated; torch.qint8 is")

    def compute(a: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        sizes = [1] * a.dim()
        sizes[axis] = -1
        factor = scale.float().view(sizes)
        made = a.float() / factor if div_mode else a.float() * factor
        made = made if zero is None else made + zero.float().view(sizes)
        return made.round().clamp(-128, 127).to(torch.int8)

    tensors = (x, scales) if zero_points is None else (x, scales, zero_points)
    return whole("npu_quantize", "npu::npu_quantize", compute, tensors)[0]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        npu_rms_norm, npu_add_rms_norm, npu_swiglu, npu_gelu, fast_gelu, npu_rotary_mul, npu_dtype_cast, npu_format_cast,
        get_npu_format, npu_dynamic_quant, npu_quant_matmul, npu_scaled_masked_softmax, npu_gemma_rms_norm, npu_add_layer_norm,
        npu_geglu, npu_silu, npu_mish, npu_linear, npu_transpose, npu_confusion_transpose, npu_apply_rotary_pos_emb,
        npu_weight_quant_batchmatmul, npu_quantize,
    )
}  # fmt: skip
FUNCTIONS["npu_format_cast_"] = npu_format_cast
