"""torch.distributed's backend hccl, made known to torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from npu.torch_npu import sync_norm, unused_parameters, waiting
from npu.torch_npu.collective_work import settle_all
from npu.torch_npu.collectives import ProcessGroupHCCL
from npu.torch_npu.process_group import BACKEND


def create(options: Any, _own: Any = None) -> ProcessGroupHCCL:
    """What torch calls for a group with this backend."""
    world = options.global_ranks_in_group or range(options.group_size)
    return ProcessGroupHCCL(options.store, options.group_rank, options.group_size, options.timeout, world)


def _batch(original: Callable[..., Any]) -> Callable[..., Any]:
    """batch_isend_irecv: one operation for all."""

    def batch_isend_irecv(p2p_op_list: list[Any]) -> list[Any]:
        first = p2p_op_list[0] if p2p_op_list else None
        group = None if first is None else first.group or dist.distributed_c10d._get_default_group()
        if not isinstance(group, ProcessGroupHCCL) or first is None or first.tensor.is_cpu:
            found: list[Any] = original(p2p_op_list)
            return found
        dist.distributed_c10d._check_p2p_op_list(p2p_op_list)
        return [group.batch([(op.op is dist.isend, op.tensor, op.group_peer) for op in p2p_op_list])]

    return batch_isend_irecv


def install() -> None:
    """Make the backend known to torch, once a process; nothing where torch has no distributed part."""
    if not dist.is_available() or hasattr(dist, "is_hccl_available"):
        return
    dist.Backend.register_backend(BACKEND, create, extended_api=True, devices=["npu"])
    sync_norm.register()
    unused_parameters.install()
    dist.__dict__["is_hccl_available"] = lambda: True
    waiting.on_device.append(settle_all)
    dist.__dict__["ProcessGroupHCCL"] = ProcessGroupHCCL
    for place_ in (dist, dist.distributed_c10d):
        place_.batch_isend_irecv = _batch(place_.batch_isend_irecv)
