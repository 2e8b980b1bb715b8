"""The operations of torch.distributed's backend hccl under torch's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from npu.torch_npu import collective_data as data
from npu.torch_npu import place
from npu.torch_npu.process_group import Group

REFUSED = ("allreduce_coalesced", "allgather_coalesced", "all_gather_single_coalesced", "allgather_into_tensor_coalesced",
           "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced", "recv_anysource",
           "monitored_barrier")  # fmt: skip


class ProcessGroupHCCL(Group):
    """The calling rank's view of a group; every operation gives a Work."""

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Any:
        (tensor,) = tensors
        if tensor.is_cpu:
            return self._on_cpu().allreduce(tensors, opts)
        opts = dist.AllreduceOptions() if opts is None else opts
        facts = {"reduceOp": data.reduction(opts.reduceOp, tensor, "HcclAllreduce")}
        return self._collective("allreduce", tensor, tensor.numel(), facts, data.packed(tensor), tensors,
                                partial(data.reduce_into, tensor, facts["reduceOp"]))  # fmt: skip

    def broadcast(self, tensors: list[Tensor], opts: Any) -> Any:
        (tensor,) = tensors
        if tensor.is_cpu:
            return self._on_cpu().broadcast(tensors, opts)
        mine = opts.rootRank == self.rank()
        finish = None if mine else partial(data.copy_from, tensor, opts.rootRank)
        sent = data.packed(tensor) if mine else b""
        return self._collective("broadcast", tensor, tensor.numel(), {"root": opts.rootRank}, sent, tensors, finish)

    def reduce(self, tensors: list[Tensor], opts: Any) -> Any:
        (tensor,) = tensors
        if tensor.is_cpu:
            return self._on_cpu().reduce(tensors, opts)
        facts = {"reduceOp": data.reduction(opts.reduceOp, tensor, "HcclReduce"), "root": opts.rootRank}
        mine = opts.rootRank == self.rank()
        finish = partial(data.reduce_into, tensor, facts["reduceOp"]) if mine else None
        return self._collective("reduce", tensor, tensor.numel(), facts, data.packed(tensor), tensors, finish)

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Any:
        ((tensor,), (into,)) = inputs, outputs
        if tensor.is_cpu:
            return self._on_cpu().allgather(outputs, inputs, dist.AllgatherOptions() if opts is None else opts)
        same = all(o.numel() == tensor.numel() for o in into)
        if not same or len(into) != self.size():
            raise RuntimeError("ProcessGroupHCCL: all_gather takes one output of the input's size for each rank")
        return self._collective("allgather", tensor, tensor.numel(), {}, data.packed(tensor), outputs,
                                partial(data.gather_into, into), after=into)  # fmt: skip

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Any:
        if tensor.is_cpu:
            return self._on_cpu()._allgather_base(output, tensor, dist.AllgatherOptions() if opts is None else opts)
        if output.numel() != tensor.numel() * self.size() or output.dtype != tensor.dtype:
            raise RuntimeError("output tensor size must be equal to world_size times input tensor size, of the same type")
        return self._collective("all_gather_single", tensor, tensor.numel(), {}, data.packed(tensor), [output],
                                partial(data.gather_flat, output))  # fmt: skip

    _allgather_base = all_gather_single

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any) -> Any:
        """HCCL has none: all gather, and the others forget what they got (as the framework does it)."""
        (tensor,) = inputs
        if tensor.is_cpu:
            return self._on_cpu().gather(outputs, inputs, opts)
        into = outputs[0] if opts.rootRank == self.rank() else []
        return self._collective("gather", tensor, tensor.numel(), {}, data.packed(tensor), outputs,
                                partial(data.gather_into, into) if into else None, after=into)  # fmt: skip

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Any:
        ((output,), (tensors,)) = outputs, inputs
        if output.is_cpu:
            return self._on_cpu().reduce_scatter(outputs, inputs, opts)
        if any(t.numel() != output.numel() for t in tensors) or len(tensors) != self.size():
            raise RuntimeError("ProcessGroupHCCL: reduce_scatter takes one input of the output's size for each rank")
        facts = {"reduceOp": data.reduction(opts.reduceOp, output, "HcclReduceScatter")}
        sent = b"".join(bytes(data.packed(t)) for t in tensors)
        finish = partial(data.reduce_into, output, facts["reduceOp"], part=self.rank())
        return self._collective("reduce_scatter", output, output.numel(), facts, sent, outputs, finish, before=tensors)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Any:
        opts = dist.ReduceScatterOptions() if opts is None else opts
        if output.is_cpu:
            return self._on_cpu()._reduce_scatter_base(output, tensor, opts)
        if tensor.numel() != output.numel() * self.size() or output.dtype != tensor.dtype:
            raise RuntimeError("input tensor must be the same size as output size times world size, of the same type")
        facts = {"reduceOp": data.reduction(opts.reduceOp, output, "HcclReduceScatter")}
        return self._collective("reduce_scatter_single", output, output.numel(), facts, data.packed(tensor), [output],
                                partial(data.reduce_into, output, facts["reduceOp"], part=self.rank()))  # fmt: skip

    _reduce_scatter_base = reduce_scatter_single

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Any:
        (output,) = outputs
        if output.is_cpu:
            return self._on_cpu().scatter(outputs, inputs, opts)
        mine = opts.rootRank == self.rank()
        parts = inputs[0] if mine else []
        if any(t.numel() != output.numel() for t in parts):
            raise RuntimeError("ProcessGroupHCCL: scatter takes one input of the output's size for each rank")
        sent = b"".join(bytes(data.packed(t)) for t in parts)
        return self._collective("scatter", output, output.numel(), {"root": opts.rootRank}, sent, outputs,
                                partial(data.copy_from, output, opts.rootRank, part=self.rank()), before=parts)  # fmt: skip

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Any:
        first = inputs[0]
        if first.is_cpu:
            return self._on_cpu().alltoall(outputs, inputs, dist.AllToAllOptions() if opts is None else opts)
        counts, sent = data.rows([data.packed(t) for t in inputs])
        return self._collective("alltoall", first, 0, {}, sent, outputs, partial(data.take_rows, self.rank(), outputs),
                                [c // first.element_size() for c in counts], before=inputs, after=outputs)  # fmt: skip

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, output_sizes: list[int], input_sizes: list[int], opts: Any = None
    ) -> Any:
        if tensor.is_cpu:
            usual = dist.AllToAllOptions() if opts is None else opts
            return self._on_cpu().alltoall_base(output, tensor, output_sizes, input_sizes, usual)
        ranks = self.size()
        if not input_sizes and not output_sizes and tensor.shape[0] % ranks:
            raise RuntimeError(f"Tensor's dim 0 ({tensor.shape[0]}) does not divide equally across group size {ranks}")
        given = tensor.split(input_sizes or tensor.shape[0] // ranks)
        into = output.split(output_sizes or output.shape[0] // ranks)
        counts, sent = data.rows([data.packed(t) for t in given])
        even = not input_sizes and not output_sizes
        split = None if even else [c // tensor.element_size() for c in counts]
        return self._collective("all_to_all_single" if even else "all_to_all_split", tensor, tensor.numel() // ranks, {}, sent,
                                [output], partial(data.take_rows, self.rank(), into), split)  # fmt: skip

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Any:
        """An all-reduce of one number for which the host waits, too."""
        device = place.seats.mine.device
        tensor = torch.zeros(1, device=f"npu:{device}")
        return self._collective("barrier", tensor, 1, {"reduceOp": 0}, b"", [], None, blocks=True)

    def send(self, tensors: list[Tensor], rank: int, tag: int = 0) -> Any:
        return self._message("send", [(True, tensors[0], rank)])

    def recv(self, tensors: list[Tensor], rank: int, tag: int = 0) -> Any:
        return self._message("recv", [(False, tensors[0], rank)])

    def batch(self, items: list[tuple[bool, Tensor, int]]) -> Any:
        """Sends (True) and receives (False) at once: (which, tensor, the other rank)."""
        return self._message("batch", items)


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **named: Any) -> Any:
        raise RuntimeError(f"ProcessGroupHCCL does not support {name}")

    return refuse


for _name in REFUSED:
    setattr(ProcessGroupHCCL, _name, _refusal(_name))
