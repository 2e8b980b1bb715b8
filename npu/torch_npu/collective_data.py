"""Tensors as the bytes ranks hand each other, and the results that are made of all ranks' bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
import torch.distributed as dist
from torch import Tensor

from npu.runtime.comm import arithmetic
from npu.runtime.comm.board import Data, Note
from npu.torch_npu.kernels import plain_cpu

Notes = Mapping[int, Note]
# HcclDataType by type, and the name the framework has for it in errors
TYPES = {
    torch.uint8: 7, torch.int8: 0, torch.int16: 1, torch.int32: 2, torch.int64: 5, torch.float16: 3, torch.float32: 4,
    torch.float64: 10, torch.bool: 7, torch.bfloat16: 11,
}  # fmt: skip
REDUCED = (torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.bfloat16)
REDUCTIONS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3}
BYTES = TYPES[torch.uint8]


def number(dtype: torch.dtype) -> int:
    """RuntimeError in the framework's words for a type HCCL does not know."""
    found = TYPES.get(dtype)
    if found is None:
        raise RuntimeError(f"Unsupported data type for HCCL process group: {dtype}")
    return found


def reduction(wanted: object, tensor: Tensor, shown: str) -> int:
    """The number of a reduction. RuntimeError for one that HCCL has not, or not for the tensor's type."""
    if tensor.dtype not in REDUCED:
        raise RuntimeError(f"HCCL {shown}: Unsupported data type {tensor.dtype}")
    for name, found in REDUCTIONS.items():
        if wanted == getattr(dist.ReduceOp, name):
            return found
    raise RuntimeError(f"HCCL {shown}: this reduction is not supported; use SUM, PRODUCT, MAX or MIN (for AVG: SUM, then div_)")


def packed(tensor: Tensor) -> Data:
    """The elements in order."""
    flat = plain_cpu(tensor.detach()).resolve_conj().contiguous().reshape(-1)
    made: Data = flat.view(torch.uint8).numpy().data if flat.numel() else b""
    return made


def put(tensor: Tensor, content: Data) -> None:
    """Elements in order into a tensor, whatever its strides."""
    if len(content):
        target = plain_cpu(tensor.detach())
        found = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(tensor.dtype)
        with torch.no_grad():
            target.copy_(found.reshape(target.shape))


def _slice(note: Note, part: int | None, size: int) -> Data:
    """A rank's part of what a note holds; None: all."""
    return note.data if part is None else note.data[part * size : (part + 1) * size]


def reduce_into(tensor: Tensor, how: int, notes: Notes, part: int | None = None) -> None:
    """All ranks' elements, added (or as `how` says) in the order of ranks."""
    if tensor.numel():
        put(tensor, arithmetic.reduced([_slice(notes[r], part, tensor.nbytes) for r in sorted(notes)], number(tensor.dtype), how))


def copy_from(tensor: Tensor, root: int, notes: Notes, part: int | None = None) -> None:
    """What the root has."""
    put(tensor, _slice(notes[root], part, tensor.nbytes))


def gather_into(tensors: Sequence[Tensor], notes: Notes) -> None:
    """Each rank's data into its tensor."""
    for rank, tensor in enumerate(tensors):
        put(tensor, notes[rank].data)


def gather_flat(tensor: Tensor, notes: Notes) -> None:
    """All ranks' data one after the other."""
    put(tensor, b"".join(bytes(notes[r].data) for r in sorted(notes)))


def rows(parts: Sequence[Data]) -> tuple[list[int], bytes]:
    """What goes to each rank, with the sizes in front: (bytes to each rank, all of it)."""
    sizes = [len(p) for p in parts]
    return sizes, b"".join((*(s.to_bytes(8, "little") for s in sizes), *(bytes(p) for p in parts)))


def take_rows(me: int, tensors: Sequence[Tensor], notes: Notes) -> None:
    """What each rank sent here, into its tensor. RuntimeError where it is not as much as the tensor holds."""
    for rank, tensor in enumerate(tensors):
        content, ranks = notes[rank].data, len(notes)
        sizes = [int.from_bytes(content[8 * n : 8 * n + 8], "little") for n in range(ranks)]
        begin = 8 * ranks + [0, *accumulate(sizes)][me]
        if sizes[me] != tensor.nbytes:
            raise RuntimeError(f"ProcessGroupHCCL: rank {rank} sends {sizes[me]} bytes, and {tensor.nbytes} are expected of it")
        put(tensor, content[begin : begin + sizes[me]])
