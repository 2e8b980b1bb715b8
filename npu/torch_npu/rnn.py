"""Recurrent layers as the device has them: one kernel a layer and direction over all steps, forward and backward.

Packed sequences are not taken here: torch sends those step by step to the fused cells (npu.torch_npu.special).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu.torch_npu.whole import whole

KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _operands(tensors: Sequence[Tensor], states: int, batch_first: bool) -> list[Tensor]:
    """What the kernels' cost depends on: the input as (steps, batch, features) and each layer's input weight."""
    data = tensors[0].transpose(0, 1) if batch_first and tensors[0].dim() == 3 else tensors[0]
    gates = tensors[1 + states].shape[0]
    weights = [w for w in tensors[1 + states :] if w.dim() == 2 and w.shape[0] == gates]
    return [data, *weights[::2]]  # a layer has an input and a hidden weight


def _layers(kind: str) -> Callable[..., Any]:
    several = kind == "lstm"  # states: hidden and cell
    computed = getattr(torch, kind)

    def call(data: Tensor, state: Any, parameters: Sequence[Tensor], *options: Any) -> Any:
        states = list(state) if several else [state]
        count = len(states)

        def compute(given: Tensor, *rest: Tensor) -> Any:
            return computed(given, list(rest[:count]) if several else rest[0], list(rest[count:]), *options)

        def operands(tensors: Sequence[Tensor]) -> list[Tensor]:
            return _operands(tensors, count, bool(options[-1]))

        return whole(kind, f"aten::{kind}", compute, (data, *states, *parameters), operands)

    return call


# name of the operator -> its kernel
KERNELS: dict[str, Callable[..., Any]] = {f"{kind}.input": _layers(kind) for kind in KINDS}
