"""Picture preprocessing as arithmetic: ONNX nodes from the bytes of pictures to the planes a model takes.

Every operator set from 7 on has these operators in this form. Colour conversion is exact: products of integers in float64,
and >> 8 as a floor. Resizing is bilinear between the middles of pixels, rounded to whole numbers; which filter the device has is
not documented.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from npu.aipp import FORMATS, Settings
from npu.cost.work import Work
from npu.ops.node import Lowered, Node, Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

NAME = "Aipp"
FLOAT, HALF, DOUBLE, INT64, BYTE = 1, 10, 11, 7, 2  # TensorProto.DataType
TINY = 1e-9  # lets a half that the sums made a little smaller go up all the same
ABOVE = float(1 << 24)  # makes any sum of the colour conversion positive, so that cutting off is a floor


def lowered(node: Node, dims: tuple[int, ...]) -> Lowered:
    """The kernel. dims: bytes of all pictures; its output lies in blocks of float16."""
    source, out = node.given[0], node.outputs[0]
    work = Work("vector", NAME, out.dtype, (out.elements, 1), dims[0], out.bytes)
    return Lowered(NAME, work, stored={0: Stored(source.dims, "NHWC", source.dtype)})


class Writer:
    """Collects nodes; every value gets a name under a prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []

    def put(self, op_type: str, *inputs: str, **attributes: object) -> str:
        from onnx import helper

        name = f"{self.prefix}/{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values: object, dtype: str) -> str:
        import numpy as np
        from onnx import numpy_helper

        return self.put("Constant", value=numpy_helper.from_array(np.asarray(values, dtype)))


def nodes(settings: Settings, channels: int, source: str, target: str, half: bool = False) -> list[Any]:
    """NodeProtos from source (uint8 [N, bytes of a picture]) to target (float32 or, with half, float16 [N, channels, H, W])."""
    write = Writer(target)
    kind = FORMATS[settings.format]
    left, top, width, height = settings.crop or (0, 0, settings.width, settings.height)
    lines = write.constant([0, settings.height * kind.rows // 2, settings.width * kind.step], "int64")
    picture = write.put("Reshape", source, lines)
    plane = write.constant([0, 1, height, width], "int64")
    planes = []
    for rows, columns in _places(settings, channels, range(left, left + width), range(top, top + height)):
        cut = write.put("Gather", picture, write.constant(rows, "int64"), axis=1)
        cut = write.put("Gather", cut, write.constant(columns, "int64"), axis=2)
        planes.append(write.put("Reshape", cut, plane))
    value = write.put("Concat", *planes, axis=1) if len(planes) > 1 else planes[0]
    if settings.resize is not None:
        value = _resized(write, value, (height, width), settings.resize[::-1])
        width, height = settings.resize
    value = _converted(write, settings, value, (height, width)) if settings.csc else write.put("Cast", value, to=FLOAT)
    value = _normalised(write, settings, value, channels)
    value = _padded(write, settings, value, (height, width))
    write.put("Cast", value, to=HALF if half else FLOAT)
    write.nodes[-1].output[0] = target
    return write.nodes


def _places(settings: Settings, channels: int, across: range, down: range) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of bytes of each channel as it comes out. The colour of YUV420SP lies below, one pair for four pixels."""
    if settings.format == "YUV420SP_U8":
        first, second = (1, 0) if settings.rbuv_swap else (0, 1)
        below = [settings.height + y // 2 for y in down]
        colours = [[x - x % 2 + at for x in across] for at in (first, second)]
        return [(list(down), list(across)), (below, colours[0]), (below, colours[1])]
    step = FORMATS[settings.format].step
    order = list(range(step))
    if step == 4:
        order = [3, 0, 1, 2] if settings.ax_swap else order  # of the bytes, as X R G B
        order = [order[0], *(reversed(order[1:]) if settings.rbuv_swap else order[1:])]
        order = order if channels == 4 else order[1:]
    elif settings.rbuv_swap:
        order.reverse()
    return [(list(down), [x * step + at for x in across]) for at in order]


def _resized(write: Writer, value: str, old: tuple[int, int], new: tuple[int, int]) -> str:
    """The planes in another height and width: a product from the left and one from the right, halves upwards."""
    value = write.put("Cast", value, to=DOUBLE)
    value = write.put("MatMul", write.constant(between(old[0], new[0]), "float64"), value)
    value = write.put("MatMul", value, write.constant(between(old[1], new[1]).T, "float64"))
    value = write.put("Cast", write.put("Add", value, write.constant(0.5 + TINY, "float64")), to=INT64)  # no value is negative
    return write.put("Cast", value, to=FLOAT)


def between(old: int, new: int) -> NDArray[np.float64]:
    """[new, old]: how much of each old pixel is in each new one: its middle lies between two old middles, or beyond the last."""
    import numpy as np

    middle = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0, old - 1)
    low = np.minimum(middle.astype(np.int64), max(old - 2, 0))
    made = np.zeros((new, old))
    made[np.arange(new), low] = 1 - (middle - low)
    made[np.arange(new), np.minimum(low + 1, old - 1)] += middle - low
    return made


def _converted(write: Writer, settings: Settings, value: str, size: tuple[int, int]) -> str:
    """(M x (Y, U, V - input_bias)) >> 8 for a YUV picture, (M x (R, G, B)) >> 8 + output_bias for an RGB one; 0..255."""
    csc = settings.csc
    if csc is None:
        return value
    height, width = size
    value = write.put("Cast", value, to=DOUBLE)
    value = write.put("Reshape", value, write.constant([0, 3, height * width], "int64"))
    yuv = settings.format.startswith("YUV")
    if yuv:
        value = write.put("Sub", value, write.constant([[b] for b in csc.input_bias], "float64"))
    matrix = [[v / 256 for v in csc.matrix[at : at + 3]] for at in (0, 3, 6)]
    value = write.put("MatMul", write.constant(matrix, "float64"), value)
    value = write.put("Cast", write.put("Add", value, write.constant(ABOVE, "float64")), to=INT64)
    value = write.put("Sub", write.put("Cast", value, to=DOUBLE), write.constant(ABOVE, "float64"))
    value = write.put("Cast", value, to=FLOAT)
    if not yuv:
        value = write.put("Add", value, write.constant([[b] for b in csc.output_bias], "float32"))
    most = write.constant(255.0, "float32")
    value = write.put("Sub", most, write.put("Relu", write.put("Sub", most, write.put("Relu", value))))
    return write.put("Reshape", value, write.constant([0, 3, height, width], "int64"))


def _normalised(write: Writer, settings: Settings, value: str, channels: int) -> str:
    low = [[[m + n]] for m, n in zip(settings.mean[:channels], settings.min[:channels], strict=True)]
    scale = [[[v]] for v in settings.var_reci[:channels]]
    if any(v[0][0] for v in low):
        value = write.put("Sub", value, write.constant(low, "float32"))
    if any(v[0][0] != 1 for v in scale):
        value = write.put("Mul", value, write.constant(scale, "float32"))
    return value


def _padded(write: Writer, settings: Settings, value: str, size: tuple[int, int]) -> str:
    """Repeat the border to the size wanted, then let the value of the padding stand there."""
    if settings.padding is None:
        return value
    left, right, top, bottom = settings.padding
    for axis, before, count, after in ((2, top, size[0], bottom), (3, left, size[1], right)):
        taken = [min(max(at - before, 0), count - 1) for at in range(before + count + after)]
        value = write.put("Gather", value, write.constant(taken, "int64"), axis=axis)
    down = [[float(top <= y < top + size[0])] for y in range(top + size[0] + bottom)]
    across = [[float(left <= x < left + size[1]) for x in range(left + size[1] + right)]]
    inside = write.put("Mul", write.constant(down, "float32"), write.constant(across, "float32"))
    outside = write.put("Sub", write.constant(1.0, "float32"), inside)
    filling = write.put("Mul", outside, write.constant(settings.padding_value, "float32"))
    return write.put("Add", write.put("Mul", value, inside), filling)


@lru_cache(maxsize=64)
def _session(settings: Settings, channels: int) -> Any:
    from onnx import helper

    from npu.ops.compute import build

    width, height = settings.size
    graph = helper.make_graph(
        nodes(settings, channels, "pictures", "planes"),
        NAME,
        [helper.make_tensor_value_info("pictures", BYTE, ["N", settings.bytes])],
        [helper.make_tensor_value_info("planes", FLOAT, ["N", channels, height, width])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return build(made, None)


def apply(settings: Settings, channels: int, pictures: Array) -> Array:
    """float32 [N, channels, H, W] of pictures, uint8 [N, bytes of one]. For settings that come at run time."""
    found: Array = _session(settings, channels).run({"pictures": pictures}, 60.0)[0]
    return found
