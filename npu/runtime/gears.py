"""Models with several fixed shapes (gears): what there is to choose from, the choice, and the sizes that follow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from npu import om
from npu.dtypes import numpy_type, tensor_bytes
from npu.errors import NpuError
from npu.runtime.dataset import GEAR_INPUT, DataSet, inputs_of

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


def choose(dataset: DataSet, model: om.Model, index: int, options: list[list[int]], wanted: list[int]) -> None:
    """Take the gear that is `wanted` among `options`. NpuError invalid_param, model_gear."""
    names = [t.name for t in inputs_of(model)]
    if index >= len(names) or names[index] != GEAR_INPUT:
        raise NpuError(
            "model_gear", index=index, reason=f"input {GEAR_INPUT} takes the choice, and this model's inputs are {names}"
        )
    if wanted not in options:
        raise NpuError("model_gear", wanted=wanted, gears=options)
    dataset.gear = options.index(wanted)


def input_dims(model: om.Model, dataset: DataSet, tensor: om.Tensor) -> tuple[int, ...]:
    """The dims of an input under the chosen gear; its own where nothing was chosen."""
    if dataset.gear >= 0 and tensor.name in model.gears[dataset.gear]:
        return _dims(model.gears[dataset.gear], tensor.name)
    return tensor.dims


def largest(model: om.Model, tensor: om.Tensor) -> int:
    """Bytes of an input in its largest gear."""
    if tensor.bytes or not model.gears:
        return tensor.bytes
    return max(size(tensor.laid(_dims(g, tensor.name) if tensor.name in g else tensor.dims), tensor.dtype) for g in model.gears)


def size(dims: tuple[int, ...], dtype: str) -> int:
    """Bytes of a tensor; 0 when a dim is open."""
    return tensor_bytes(dims, dtype)


@lru_cache(maxsize=64)
def output_dims(path: str, gear: int) -> tuple[tuple[int, ...], ...]:
    """The dims of all outputs under a gear, found by running the model's arithmetic once on zeros. NpuError model_data."""
    import numpy as np

    from npu.ops.compute import ComputeError, Session

    model = om.load(path)
    chosen = model.gears[gear]
    feeds = {
        t.name: np.zeros(t.laid(_dims(chosen, t.name) if t.name in chosen else t.dims), numpy_type(t.dtype))
        for t in model.inputs
        if t.name != GEAR_INPUT
    }
    try:
        return tuple(tuple(int(d) for d in o.shape) for o in Session(path).run(feeds))
    except ComputeError as error:
        raise NpuError("model_data", path=path, reason=error.reason) from error


def largest_output(path: str, model: om.Model, index: int) -> int:
    """Bytes of an output in its largest gear."""
    tensor = model.outputs[index]
    if tensor.bytes or not model.gears:
        return tensor.bytes
    return max(size(output_dims(path, g)[index], tensor.dtype) for g in range(len(model.gears)))
