"""What is registered for the device: a kernel for every operator the CPU can compute, views, copies, and the guards of what would
reach into a device that is not there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import library as torch_library

from npu.torch_npu import amp, copies, fallback, kernels, pinned, rnn, special

KEY = "PrivateUse1"
# These only change how bytes are looked at: the CPU's metadata kernel runs on the npu tensor itself and costs the device nothing.
VIEWS = ("as_strided", "view", "_reshape_alias", "_unsafe_view", "alias", "unfold", "set_", "view_as_real", "view_as_complex")
# Registered by themselves, or left to torch's decomposition.
LEFT = frozenset((
    "_copy_from", "_copy_from_and_resize", "_local_scalar_dense", "resize_", "copy_", "convolution", "convolution_backward",
    "is_pinned", "_pin_memory", "record_stream", "_has_compatible_shallow_copy_type", "_to_copy", "to_dense", "_fused_sdp_choice",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward", "as_strided_",
    *special.KERNELS,
))  # fmt: skip
# These decompose into factories that no longer know whose device they are for, so they are taken whole.
WHOLE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_empty",
         "new_zeros",
         "new_ones", "new_full", "new_empty_strided", "select_backward", "slice_backward", "diagonal_backward",
         "unfold_backward")  # fmt: skip
COMPOSITE = "CompositeImplicitAutograd"
COMPUTED = ("CPU", "CompositeExplicitAutogradNonFunctional")
LAYOUTS = ("sparse", "mkldnn", "quantize", "nested", "_cudnn", "miopen", "xnnpack", "mps", "vulkan", "fbgemm", "_mkldnn", "cslt")

libraries: list[torch_library.Library] = []  # a library that is collected takes its kernels with it


def _has(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _overload(name: str) -> Any:
    """The operator of "aten::add.Tensor"; None for one that Python cannot name."""
    plain, _, overload = name.partition("::")[2].partition(".")
    packet = getattr(torch.ops.aten, plain, None)
    return None if packet is None else getattr(packet, overload or "default", None)


def names() -> list[str]:
    """All aten operators that get the generic kernel."""
    made = []
    for name in torch._C._dispatch_get_all_op_names():
        plain = name.partition(".")[0].partition("::")[2]
        if not name.startswith("aten::") or plain in LEFT or plain in VIEWS or any(word in plain for word in LAYOUTS):
            continue
        computed = any(_has(name, key) for key in COMPUTED) or plain.startswith("_foreach_") or plain in WHOLE
        if computed and not _has(name, COMPOSITE):
            made.append(name)
    return made


def _view(op: Any) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return op.redispatch(keys, *args, **kwargs)

    return kernel


def _library(namespace: str) -> torch_library.Library:
    made = torch_library.Library(namespace, "IMPL")
    libraries.append(made)
    return made


def register() -> int:
    """Register everything; how many operators got the generic kernel. Kernels of torch's own that are replaced are meant to
    be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*only once for all operators.*")
        return _register()


def _register() -> int:
    library = _library("aten")
    count = 0
    for name in names():
        op = _overload(name)
        if op is not None:
            library.impl(name.partition("::")[2], kernels.generic(name, op), KEY)
            count += 1
    for plain in VIEWS:
        packet = getattr(torch.ops.aten, plain)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            name = op.name()
            if not _has(name, COMPOSITE) and _has(name, "CPU"):
                library.impl(name.partition("::")[2], _view(op), KEY)
    for plain, kernel in special.KERNELS.items():
        library.impl(plain, kernel, KEY)
    for key in (KEY, "AutogradPrivateUse1"):
        for plain, kernel in rnn.KERNELS.items():
            library.impl(plain, kernel, key)
        library.impl("scaled_dot_product_attention", special.attention, key)
    library.impl("_copy_from", copies.copy_from, KEY)
    for lazy in ("Conjugate", "Negative"):  # torch resolves these by a copy, so the copy itself has to take them as they are
        library.impl("_copy_from", torch_library.fallthrough_kernel, lazy)
    library.impl("_local_scalar_dense", copies.local_scalar, KEY)
    library.impl("resize_", copies.resize, KEY)
    library.impl("record_stream", lambda tensor, stream: None, KEY)
    library.impl("is_pinned", pinned.is_pinned, "CPU")
    library.impl("_pin_memory", pinned.pin, "CPU")
    library.impl("_has_compatible_shallow_copy_type", lambda one, other: True, COMPOSITE)
    anything = _library("_")
    anything.fallback(fallback.fallback, KEY)
    amp.register(library, anything)
    return count
