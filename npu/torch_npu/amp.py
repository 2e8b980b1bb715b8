"""autocast("npu"): which operators run in the lower precision and which in float32 (lists of the framework's own device)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch import library as torch_library

DTYPES = (torch.float16, torch.bfloat16)
LOWER = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution",
         "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv", "linear", "addbmm", "baddbmm", "bmm", "prelu",
         "scaled_dot_product_attention", "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "lstm_cell", "gru_cell",
         "rnn_tanh_cell", "rnn_relu_cell")  # fmt: skip
FULL = ("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan",
        "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm", "native_layer_norm", "group_norm",
        "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss",
        "kl_div",
        "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
        "soft_margin_loss",
        "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm",
        "logsumexp", "softmax.int", "log_softmax.int", "sum", "sum.dim_IntList", "prod", "prod.dim_int", "cumprod", "cumsum",
        "norm.Scalar", "norm.ScalarOpt_dim")  # fmt: skip
WIDEST = ("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "tensordot", "scatter_add")
FLOATING = (torch.float32, torch.float16, torch.bfloat16)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """A floating npu tensor (or those of a list) in a type; everything else as it is."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.dtype in FLOATING and value.dtype != dtype and not value.is_cpu else value
    if isinstance(value, list | tuple):
        return [_cast(v, dtype) for v in value]
    return value


def _tensors(values: Any) -> list[Tensor]:
    return [t for v in values for t in (v if isinstance(v, list | tuple) else (v,)) if isinstance(t, Tensor)]


def _casting(op: Any, chosen: Callable[[list[Tensor]], torch.dtype]) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
    dtype_at = next((n for n, a in enumerate(op._schema.arguments) if a.name == "dtype"), len(op._schema.arguments))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if len(args) > dtype_at or kwargs.get("dtype") is not None:  # the caller has chosen the precision
            with torch._C._ExcludeDispatchKeyGuard(keys):
                return op(*args, **kwargs)
        dtype = chosen(_tensors((*args, *kwargs.values())))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return op(*(_cast(a, dtype) for a in args), **{k: _cast(v, dtype) for k, v in kwargs.items()})

    return kernel


def _lower(_tensors: list[Tensor]) -> torch.dtype:
    return torch.get_autocast_dtype("npu")


def _full(_tensors: list[Tensor]) -> torch.dtype:
    return torch.float32


def _widest(tensors: list[Tensor]) -> torch.dtype:
    return torch.float32 if any(t.dtype == torch.float32 for t in tensors) else torch.get_autocast_dtype("npu")


def _refused(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
    )


def register(library: torch_library.Library, anything: torch_library.Library) -> None:
    """Everything passes through autocast unchanged but for the operators of the lists."""
    key = "AutocastPrivateUse1"
    anything.fallback(torch_library.fallthrough_kernel, key)
    for names, chosen in ((LOWER, _lower), (FULL, _full), (WIDEST, _widest)):
        for name in names:
            plain, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, plain, None), overload or "default", None)
            if op is not None:
                library.impl(name, _casting(op, chosen), key)
    library.impl("binary_cross_entropy", _refused, key)
