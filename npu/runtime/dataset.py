"""What a script hands to a model: data buffers in data sets, and the description it reads the model's tensors from."""

from __future__ import annotations

from npu import om
from npu.aipp import Aipp, Settings
from npu.errors import NpuError
from npu.om import Tensor as Tensor
from npu.runtime.process import Process

GEAR_INPUT = "ascend_mbatch_shape_data"  # ACL_DYNAMIC_TENSOR_NAME: the extra input of a model with fixed shapes to choose from

AIPP_INPUT = "ascend_dynamic_aipp_data"  # ACL_DYNAMIC_AIPP_NAME: the extra input for the settings of dynamic AIPP
HEAD_BYTES, BATCH_BYTES = 64, 96  # of a dynamic AIPP parameter block (GE's kAippDynamicPara; unverified)


class DataBuffer:
    """A pointer and a size; owns nothing."""

    __slots__ = ("data", "size")

    def __init__(self, data: int, size: int) -> None:
        self.data, self.size = data, size


class DataSet:
    """Data buffers in the order of a model's inputs or outputs, by handle. descs: tensor description handles by index, where
    shapes are open; gear: number of the model's fixed shape that was chosen, -1 for none; aipp: input -> what is done to each
    of its pictures, where that comes at run time."""

    __slots__ = ("aipp", "buffers", "descs", "gear")

    def __init__(self) -> None:
        self.buffers: list[int] = []
        self.descs: dict[int, int] = {}
        self.gear = -1
        self.aipp: dict[str, tuple[Settings, ...]] = {}


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
    """The inputs as scripts see them: a model with gears has one more, which takes the choice, and one with dynamic AIPP one for
    the settings of each such input."""
    inputs = model.inputs
    for number, each in enumerate(a for a in model.aipp if a.settings is None):
        name = AIPP_INPUT if number == 0 else f"{AIPP_INPUT}_{number}"
        inputs = (*inputs, Tensor(name, "uint8", (parameter_bytes(each.count),)))
    if not model.gears or any(t.name == GEAR_INPUT for t in model.inputs):
        return inputs
    return (*inputs, Tensor(GEAR_INPUT, "int32", (open_dims(model),)))


def parameter_bytes(batch: int) -> int:
    """Bytes of the settings of that many pictures."""
    return HEAD_BYTES + BATCH_BYTES * batch


def dynamic_aipp(model: om.Model, index: int) -> Aipp | None:
    """The input that takes its settings from the input at that index; None where that is none for settings."""
    number = index - len(model.inputs)
    found = [a for a in model.aipp if a.settings is None]
    return found[number] if 0 <= number < len(found) else None


def preprocessing(model: om.Model, index: int) -> Aipp | None:
    """What is done to the pictures of an input; None where it takes none. NpuError invalid_param beyond the last input."""
    inputs = inputs_of(model)
    if index >= len(inputs):
        raise NpuError("invalid_param", index=index, count=len(inputs))
    return next((a for a in model.aipp if a.input == inputs[index].name), None)


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
