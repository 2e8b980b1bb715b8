"""Operators that a framework launches one by one, and what stands in PyTorch for a chain of them."""

from __future__ import annotations

import numpy as np

from profiler.analysis.context import Context
from profiler.trace import Array

LIBRARY = "aclnn"  # calls of the operator library; kernels that frameworks launch are named by them
# By fusion pass: what a PyTorch script calls for the same kernels.
CALLS = {
    "RmsNormFusionPass": "torch_npu.npu_rms_norm",
    "FlashAttentionFusionPass": "torch.nn.functional.scaled_dot_product_attention, torch_npu.npu_fusion_attention",
    "LayerNormONNXFusionPass": "torch.nn.functional.layer_norm",
    "GeluFusionPass": "torch.nn.functional.gelu",
    "SwishFusionPass": "torch.nn.functional.silu",
}


def eager(context: Context, rows: Array) -> bool:
    """Whether most of these tasks are kernels that calls of the operator library launched."""
    task = context.trace.task
    if "name" not in task or not len(rows):
        return False
    ids = context.trace.strings.matching(lambda text: text.startswith(LIBRARY))
    return bool(2 * np.isin(task["name"][rows], ids).sum() > len(rows))
