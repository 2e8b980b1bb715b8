"""The library's own fused operators under their names in torch_npu: one kernel each, with torch's arithmetic.

Formulas are those of the public documentation of torch_npu; what a function does not take is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from npu.torch_npu import special
from npu.torch_npu.whole import whole

ND = 2  # format number of plain tensors


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


def npu_rotary_mul(x: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half") -> Tensor:
    """x * cos + rotate(x) * sin; halves swapped, or neighbours ("interleave")."""
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"npu_rotary_mul: rotary_mode={rotary_mode!r} does not exist; half and interleave do")

    def compute(a: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if rotary_mode == "half":
            one, two = a.chunk(2, -1)
            turned = torch.cat((-two, one), -1)
        else:
            turned = torch.stack((-a[..., 1::2], a[..., ::2]), -1).flatten(-2)
        return cos * a + sin * turned

    return whole("npu_rotary_mul", "npu::npu_rotary_mul", compute, (x, r1, r2))[0]


LAYOUTS = ("BNSD", "BSND", "SBH", "BSH")


def npu_fusion_attention(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, *, pse: Tensor | None = None,
    padding_mask: Tensor | None = None, atten_mask: Tensor | None = None, scale: float = 1.0, keep_prob: float = 1.0,
    sparse_mode: int = 0, **more: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """(attention, softmax max, softmax sum, softmax out, seed, offset, mask length). atten_mask: True masks out."""
    if (
        pse is not None
        or padding_mask is not None
        or keep_prob != 1.0
        or sparse_mode not in (0, 1)
        or input_layout not in LAYOUTS
    ):
        raise RuntimeError(
            "npu_fusion_attention: pse, padding_mask, keep_prob below 1, sparse_mode over 1 and the layout TND are not simulated"
        )

    def apart(x: Tensor) -> Tensor:
        """Any layout as (batch, heads, length, depth)."""
        if input_layout == "BSND":
            return x.transpose(1, 2)
        if input_layout == "BNSD":
            return x
        x = x.transpose(0, 1) if input_layout == "SBH" else x
        return x.unflatten(2, (-1, query.shape[-1] // head_num)).transpose(1, 2)

    mask = None if atten_mask is None else atten_mask.logical_not() if atten_mask.dtype == torch.bool else atten_mask == 0
    out = special.attention(apart(query), apart(key), apart(value), mask, scale=scale)
    if input_layout != "BNSD":
        out = out.transpose(1, 2)
    if input_layout in ("BSH", "SBH"):
        out = out.flatten(2)
        out = out.transpose(0, 1) if input_layout == "SBH" else out
    empty = query.new_empty(0)
    return out, empty, empty, empty, 0, 0, 0


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


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        npu_rms_norm, npu_add_rms_norm, npu_swiglu, npu_gelu, fast_gelu, npu_rotary_mul, npu_fusion_attention, npu_dtype_cast,
        npu_format_cast, get_npu_format, npu_dynamic_quant, npu_quant_matmul, npu_scaled_masked_softmax,
    )
}  # fmt: skip
FUNCTIONS["npu_format_cast_"] = npu_format_cast
