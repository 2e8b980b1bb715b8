"""Models with several fixed shapes (gears): what there is to choose from, the choice, and the sizes that follow."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import lru_cache

from npu import om
from npu.dtypes import numpy_type, tensor_bytes
from npu.errors import NpuError
from npu.runtime.dataset import GEAR_INPUT, DataBuffer, DataSet, inputs_of
from npu.runtime.process import Process
from npu.runtime.side import Side

PLANES = {"NCHW": (2, 3), "NHWC": (1, 2)}  # axes of height and width
BATCH, IMAGE = "dynamic_batch_size", "dynamic_image_size"  # the option the gears came from, as the model records it


def batches(model: om.Model) -> list[int]:
    """The batch sizes of a model converted for several; empty for others."""
    opened = [(t.name, n) for t in model.inputs for n, d in enumerate(t.dims) if d < 0]
    if not model.gears or model.build.get("gears", BATCH) != BATCH or any(axis != 0 for _, axis in opened):
        return []
    return [_dims(gear, opened[0][0])[0] for gear in model.gears]


def sizes(model: om.Model) -> list[list[int]]:
    """The [height, width] pairs of a model converted for several; empty for others."""
    if model.build.get("gears", IMAGE) != IMAGE:
        return []
    for tensor in model.inputs:
        axes = tuple(n for n, d in enumerate(tensor.dims) if d < 0)
        if axes and axes != PLANES.get(tensor.format):
            return []
    image = next((t for t in model.inputs if -1 in t.dims), None)
    if image is None or not model.gears:
        return []
    return [[_dims(gear, image.name)[axis] for axis in PLANES[image.format]] for gear in model.gears]


def _dims(gear: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    return tuple(int(d) for d in gear[name])


def all_dims(model: om.Model) -> list[list[int]]:
    """Every gear as the dims of all inputs in a row, as aclmdlGetInputDynamicDims lists them."""
    return [[d for t in model.inputs for d in (_dims(g, t.name) if t.name in g else t.dims)] for g in model.gears]


def choose(
    process: Process, dataset: DataSet, model: om.Model, index: int, options: list[list[int]], wanted: list[int]
) -> None:
    """Take the gear that is `wanted` among `options`, and write it where the device finds it. NpuError invalid_param,
    model_gear."""
    names = [t.name for t in inputs_of(model)]
    if index >= len(names) or names[index] != GEAR_INPUT:
        raise NpuError(
            "model_gear", index=index, reason=f"input {GEAR_INPUT} takes the choice, and this model's inputs are {names}"
        )
    if wanted not in options:
        raise NpuError("model_gear", wanted=wanted, gears=options)
    dataset.gear = options.index(wanted)
    numbers = _numbers(model)[dataset.gear]
    buffer = _buffer(process, dataset, index)
    if buffer is not None and buffer.size >= 4 * len(numbers):
        data = struct.pack(f"<{len(numbers)}{_width(buffer.size, len(numbers))}", *numbers)
        Side(process, buffer.data, len(data), True).write(data)


def chosen(process: Process, dataset: DataSet, model: om.Model) -> int:
    """Number of the gear of a run, -1 for none: what was chosen for the data set, else what the input that takes the choice holds
    (a script may write it there itself, or use the buffer again in another data set)."""
    names = [t.name for t in inputs_of(model)]
    if dataset.gear >= 0 or not model.gears or GEAR_INPUT not in names:
        return dataset.gear
    numbers = _numbers(model)
    buffer = _buffer(process, dataset, names.index(GEAR_INPUT))
    count = len(numbers[0])
    if buffer is None or buffer.size < 4 * count:
        return -1
    form = f"<{count}{_width(buffer.size, count)}"
    held = list(struct.unpack(form, Side(process, buffer.data, buffer.size, True).read(struct.calcsize(form))))
    return numbers.index(held) if held in numbers else -1


def _numbers(model: om.Model) -> list[list[int]]:
    """What the input that takes the choice holds, by gear: the batch, height and width, or all open dims."""
    opened = [(t.name, axis) for t in model.inputs for axis, d in enumerate(t.dims) if d < 0]
    return (
        [[b] for b in batches(model)]
        or sizes(model)
        or [[_dims(gear, name)[axis] for name, axis in opened] for gear in model.gears]
    )


def _width(size: int, count: int) -> str:
    """Struct code of the numbers in a buffer of that many bytes: int64 where they fit, else int32."""
    return "q" if size >= 8 * count else "i"


def _buffer(process: Process, dataset: DataSet, index: int) -> DataBuffer | None:
    """A buffer of a data set, where it was given one with memory."""
    found = process.objects.get(dataset.buffers[index]) if index < len(dataset.buffers) else None
    return found if isinstance(found, DataBuffer) and found.data else None


def input_dims(model: om.Model, gear: int, tensor: om.Tensor) -> tuple[int, ...]:
    """The dims of an input under a gear; its own where none was chosen (-1)."""
    if gear >= 0 and tensor.name in model.gears[gear]:
        return _dims(model.gears[gear], tensor.name)
    return tensor.dims


def largest(model: om.Model, tensor: om.Tensor) -> int:
    """Bytes of an input in its largest gear; of pictures that say their size later, what the input can take."""
    pictures = unsized(model).get(tensor.name)
    if pictures is not None:
        return pictures
    if tensor.bytes or not model.gears:
        return tensor.bytes
    return max(size(tensor.laid(_dims(g, tensor.name) if tensor.name in g else tensor.dims), tensor.dtype) for g in model.gears)


def unsized(model: om.Model) -> dict[str, int]:
    """The inputs with dynamic AIPP, and the bytes each can take."""
    return {a.input: a.largest for a in model.aipp if a.settings is None}


def size(dims: tuple[int, ...], dtype: str) -> int:
    """Bytes of a tensor; 0 when a dim is open."""
    return tensor_bytes(dims, dtype)


@lru_cache(maxsize=64)
def output_dims(path: str, gear: int) -> tuple[tuple[int, ...], ...]:
    """The dims of all outputs under a gear, found by running the model's arithmetic once on zeros. NpuError model_data."""
    import numpy as np

    from npu.ops.compute import Session
    from npu.ops.compute_limits import ComputeError

    model = om.load(path)
    chosen = model.gears[gear]
    planes = unsized(model)
    feeds = {
        t.name: np.zeros(
            t.laid(_dims(chosen, t.name) if t.name in chosen else t.dims), "f4" if t.name in planes else numpy_type(t.dtype)
        )
        for t in model.inputs
        if t.name != GEAR_INPUT
    }
    try:
        return tuple(tuple(int(d) for d in o.shape) for o in Session(path).run(feeds))
    except ComputeError as error:
        raise NpuError("model_data", path=path, reason=error.reason) from error


def largest_dims(path: str, model: om.Model, index: int) -> tuple[int, ...]:
    """The dims of an output in its largest gear; its own where there is nothing to choose."""
    tensor = model.outputs[index]
    if -1 not in tensor.dims or not model.gears:
        return tensor.dims
    return max((output_dims(path, g)[index] for g in range(len(model.gears))), key=lambda dims: size(dims, tensor.dtype))


def largest_output(path: str, model: om.Model, index: int) -> int:
    """Bytes of an output in its largest gear."""
    tensor = model.outputs[index]
    return tensor.bytes or size(largest_dims(path, model, index), tensor.dtype)
