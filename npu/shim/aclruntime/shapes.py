"""Which shape a run has: nothing, a batch, height and width, dims, or any shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import acl

from npu.shim.aclruntime.facts import CHOICE, tensor_desc
from npu.shim.aclruntime.kinds import checked


def shapes_of(text: str) -> dict[str, list[int]]:
    """ "name:1,3,224,224;other:1,8" """
    return {n.strip(): [int(d) for d in s.split(",")] for n, _, s in (p.rpartition(":") for p in text.split(";"))}


class Choice:
    """The shape of the next runs. kind: "" fixed, else batch, hw, dims or shape."""

    def __init__(self) -> None:
        self.kind = ""
        self.values: tuple[int, ...] = ()
        self.shapes: dict[str, list[int]] = {}

    def fix(self) -> None:
        self.__init__()  # type: ignore[misc]

    def batch(self, size: int) -> None:
        self.kind, self.values, self.shapes = "batch", (int(size),), {}

    def height_width(self, *size: Any) -> None:
        """Two numbers, a pair, or a text "h,w"."""
        values = size[0].split(",") if isinstance(size[0], str) else size if len(size) == 2 else size[0]
        self.kind, self.values, self.shapes = "hw", tuple(int(v) for v in values), {}

    def dims(self, text: str) -> None:
        self.kind, self.shapes = "dims", shapes_of(text)
        self.values = tuple(d for dims in self.shapes.values() for d in dims)

    def shape(self, text: str) -> None:
        self.kind, self.shapes, self.values = "shape", shapes_of(text), ()

    def taken_by(self, desc: tensor_desc, bytes_of: Callable[[Sequence[int]], int]) -> int | None:
        """Bytes an input takes in this run, None where this cannot be said. bytes_of: of a shape of that input."""
        shape = self.shapes.get(desc.name, desc.shape)
        if self.kind == "batch":
            shape = [self.values[0] if d < 0 else d for d in shape]
        elif self.kind == "hw":
            left = list(self.values)
            shape = [left.pop(0) if d < 0 and left else d for d in shape]
        return None if min(shape, default=0) < 0 else bytes_of(shape)

    def describe(self, dataset: int, inputs: Sequence[tensor_desc], shapes: Sequence[Sequence[int]]) -> None:
        """Tell a model of open shape what its inputs have, from what was set or, where nothing was, from the arrays."""
        if self.kind not in ("", "shape"):
            return
        for number, desc in enumerate(inputs):
            if min(desc.shape, default=0) < 0 or desc.name in self.shapes:
                shape = list(self.shapes.get(desc.name, shapes[number]))
                made = acl.create_tensor_desc(int(desc.datatype), shape, desc.format)
                _, ret = acl.mdl.set_dataset_tensor_desc(dataset, made, number)
                acl.destroy_tensor_desc(made)
                checked("aclmdlSetDatasetTensorDesc", ret)

    def choose(self, model: int, desc: int, dataset: int) -> None:
        """Tell a model of several shapes which of them. RuntimeError when it has no such shape."""
        if self.kind in ("", "shape"):
            return
        index, ret = acl.mdl.get_input_index_by_name(desc, CHOICE)
        checked("aclmdlGetInputIndexByName", ret)
        if self.kind == "batch":
            ret = acl.mdl.set_dynamic_batch_size(model, dataset, index, *self.values)
        elif self.kind == "hw":
            ret = acl.mdl.set_dynamic_hw_size(model, dataset, index, *self.values)
        else:
            ret = acl.mdl.set_input_dynamic_dims(model, dataset, index, {"dimCount": len(self.values), "dims": [*self.values]})
        checked("choosing the shape", ret)
