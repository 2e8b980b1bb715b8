"""Copies between host and device, casts, and single values read by the host."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from npu.torch_npu import launch, memory, pinned, place, waiting
from npu.torch_npu.flip import to_cpu, to_npu
from npu.torch_npu.kernels import plain_cpu
from npu.torch_npu.operators import Operator, Part

MOVE = Operator("copy_", "aclnnInplaceCopy", (Part("TensorMoveAiCore", "TensorMove"),), "layout")
CAST = Operator("_npu_dtype_cast", "aclnnCast", (Part("CastAiCore", "Cast"),), "vector")


def copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    """aten::_copy_from: every copy that touches an npu tensor, with change of type or strides where they differ."""
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        if source.is_cpu:
            _to_device(process, thread, source, target, non_blocking, begun)
        elif target.is_cpu:
            _to_host(process, thread, source, target, non_blocking, begun)
        else:
            _on_device(process, thread, source, target, begun)
        return target
    finally:
        thread.clock.leave()


def _to_device(process: Any, thread: Any, source: Tensor, target: Tensor, non_blocking: bool, begun: int) -> None:
    """Types are changed on the host first, where the source is."""
    to_cpu(target).copy_(source)
    where = place.stream(process, thread, memory.device_of(process, target))
    lies_pinned = pinned.is_pinned(source)
    with process.lock:
        waiting.copy(process, thread, where, "h2d", lies_pinned, target.nbytes, writes=(target,))
        if not (non_blocking and lies_pinned):
            waiting.synchronize(process, thread, where)
        launch.marked(process, thread, "aten::copy_", begun)


def _to_host(process: Any, thread: Any, source: Tensor, target: Tensor, non_blocking: bool, begun: int) -> None:
    """An asynchronous copy into pinned memory writes when it ends on the device, so whoever reads before sees what was there."""
    where = place.stream(process, thread, memory.device_of(process, source))
    lies_pinned = pinned.is_pinned(target)
    data = plain_cpu(source)
    with process.lock:
        if non_blocking and lies_pinned:
            taken = data.clone()
            waiting.copy(process, thread, where, "d2h", True, source.nbytes, lambda _time: _write(target, taken), (source,))
        else:
            waiting.copy(process, thread, where, "d2h", lies_pinned, source.nbytes, reads=(source,))
            waiting.synchronize(process, thread, where)
            target.copy_(data)
        launch.marked(process, thread, "aten::copy_", begun)


def _write(target: Tensor, data: Tensor) -> None:
    with torch.no_grad():
        target.detach().copy_(data)


def _on_device(process: Any, thread: Any, source: Tensor, target: Tensor, begun: int) -> None:
    """A cast, a move, or a change of strides; between two devices a copy over their link."""
    held, data = to_cpu(target), plain_cpu(source)
    if launch.capture is not None:
        launch.capture.writes(held)
        launch.capture.did(held.copy_, [data], {}, None)
    held.copy_(data)
    here, there = memory.device_of(process, source), memory.device_of(process, target)
    where = place.stream(process, thread, here)
    if here != there:
        with process.lock:
            waiting.copy(process, thread, where, "d2d", True, target.nbytes, reads=(source,))
            waiting.synchronize(process, thread, where)
            launch.marked(process, thread, "aten::copy_", begun)
        return
    operator = CAST if source.dtype != target.dtype else _mover(source, target)
    shown = "npu::_npu_dtype_cast" if operator is CAST else "aten::copy_"
    launch.launch(process, thread, where, operator, shown, False, (source,), (target,), begun)


def _mover(source: Tensor, target: Tensor) -> Operator:
    from npu.torch_npu.work import made_contiguous

    kind = made_contiguous(launch.seen(source)) or ("ViewCopy" if not target.is_contiguous() else "")
    return Operator("copy_", "aclnnInplaceCopy", (Part(f"{kind}AiCore", kind),), "layout") if kind else MOVE


def local_scalar(tensor: Tensor) -> Any:
    """aten::_local_scalar_dense: item(), float(), bool() and all that asks for one value: the host waits for it."""
    process, thread = place.enter()
    try:
        begun = thread.clock.now
        where = place.stream(process, thread, memory.device_of(process, tensor))
        waiting.for_result(process, thread, where, "aten::_local_scalar_dense", begun, tensor.element_size())
        return plain_cpu(tensor).item()
    finally:
        thread.clock.leave()


def resize(tensor: Tensor, size: Any, *, memory_format: Any = None) -> Tensor:
    """aten::resize_: within its bytes a change of shape; beyond, new device memory that keeps the old bytes."""
    process, thread = place.enter()
    try:
        old = to_cpu(tensor)
        grown = torch.empty(size, dtype=tensor.dtype) if memory_format is None else torch.empty(
            size, dtype=tensor.dtype, memory_format=memory_format)  # fmt: skip
        if grown.nbytes + tensor.storage_offset() * tensor.element_size() <= tensor.untyped_storage().nbytes():
            return tensor.as_strided_(grown.shape, grown.stride(), tensor.storage_offset())
        flat = old.reshape(-1)[: grown.numel()]
        grown.as_strided((grown.numel(),), (1,))[: flat.numel()].copy_(flat)
        device = memory.device_of(process, tensor)
        made = to_npu(grown)
        memory.hold(process, thread, made, device, place.stream(process, thread, device).ordinal)
        tensor.set_(made)
        return tensor
    finally:
        thread.clock.leave()
