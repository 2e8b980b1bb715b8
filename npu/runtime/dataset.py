"""What a script hands to a model: data buffers in data sets, and the description it reads the model's tensors from."""

from __future__ import annotations

from npu import om
from npu.errors import NpuError
from npu.om import Tensor as Tensor
from npu.runtime.process import Process

GEAR_INPUT = "ascend_mbatch_shape_data"  # ACL_DYNAMIC_TENSOR_NAME: the extra input of a model with fixed shapes to choose from


class DataBuffer:
    """A pointer and a size; owns nothing."""

    __slots__ = ("data", "size")

    def __init__(self, data: int, size: int) -> None:
        self.data, self.size = data, size


class DataSet:
    """Data buffers in the order of a model's inputs or outputs, by handle. descs: tensor description handles by index, where
    shapes are open; gear: number of the model's fixed shape that was chosen, -1 for none."""

    __slots__ = ("buffers", "descs", "gear")

    def __init__(self) -> None:
        self.buffers: list[int] = []
        self.descs: dict[int, int] = {}
        self.gear = -1


class Description:
    """What a model description handle shows; empty until it is filled. path: the file it came from; id: of the loaded model,
    0 when it was filled from a file."""

    __slots__ = ("id", "model", "path")

    def __init__(self) -> None:
        self.model: om.Model | None = None
        self.path = ""
        self.id = 0

    def filled(self) -> om.Model:
        if self.model is None:
            raise NpuError("invalid_param", reason="the description was not filled by get_desc")
        return self.model


def inputs_of(model: om.Model) -> tuple[Tensor, ...]:
    """The inputs as scripts see them: a model with gears has one more, which takes the choice."""
    if not model.gears or any(t.name == GEAR_INPUT for t in model.inputs):
        return model.inputs
    return (*model.inputs, Tensor(GEAR_INPUT, "int32", (open_dims(model),)))


def open_dims(model: om.Model) -> int:
    """How many numbers a choice of gear has: the open dims of all inputs."""
    return max(1, sum(d < 0 for t in model.inputs for d in t.dims))


def tensors(process: Process, handle: int, which: str) -> tuple[Tensor, ...]:
    """The inputs or outputs (which: input | output) that a filled description shows."""
    filled = process.get(handle, Description).filled()
    return inputs_of(filled) if which == "input" else filled.outputs


def tensor(process: Process, handle: int, index: int, which: str) -> Tensor:
    """One of them by index. NpuError invalid_param beyond the last."""
    found = tensors(process, handle, which)
    if index >= len(found):
        raise NpuError("invalid_param", index=index, count=len(found))
    return found[index]


def index_of(process: Process, handle: int, name: str, which: str) -> int:
    """The index of one by name. NpuError invalid_param for an unknown name."""
    for number, found in enumerate(tensors(process, handle, which)):
        if found.name == name:
            return number
    raise NpuError("invalid_param", name=name)
