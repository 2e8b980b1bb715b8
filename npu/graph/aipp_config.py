"""--insert_op_conf: the text of a preprocessing configuration, checked as the real tool checks it (E10052 with the reason).

    aipp_op { aipp_mode: static  related_input_rank: 0  input_format: YUV420SP_U8  src_image_size_w: 224 ... }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu.aipp import BIAS, FORMATS, RGB_TO_YUV, YUV_TO_BGR, Aipp, Csc, Settings
from npu.graph.errors import AtcError
from npu.graph.prototxt import Malformed, Message, parse

CHANNELS = range(4)
MATRIX = tuple(f"matrix_r{row}c{column}" for row in range(3) for column in range(3))
BIASES = tuple(f"{which}_bias_{at}" for which in ("input", "output") for at in range(3))
SWITCHES = ("crop", "resize", "padding", "csc_switch", "rbuv_swap_switch", "ax_swap_switch", "support_rotation")
SIZES = (
    "related_input_rank", "max_src_image_size", "src_image_size_w", "src_image_size_h", "load_start_pos_w", "load_start_pos_h",
    "crop_size_w", "crop_size_h", "resize_output_w", "resize_output_h", "left_padding_size", "right_padding_size",
    "top_padding_size", "bottom_padding_size",
)  # fmt: skip
WHOLE = (*MATRIX, *BIASES, *(f"mean_chn_{n}" for n in CHANNELS))
REAL = ("padding_value", *(f"{n}_chn_{c}" for n in ("min", "var_reci") for c in CHANNELS))
WORDS = ("aipp_mode", "input_format", "related_input_name")
RANGES = {
    **dict.fromkeys(MATRIX, (-32677, 32676)),
    **dict.fromkeys(BIASES, (0, 255)),
    **dict.fromkeys((f"mean_chn_{n}" for n in CHANNELS), (0, 255)),
    **dict.fromkeys((f"min_chn_{n}" for n in CHANNELS), (0, 255)),
    **dict.fromkeys((f"var_reci_chn_{n}" for n in CHANNELS), (-65504, 65504)),
}


@dataclass(frozen=True)
class Op:
    """One aipp_op of the file: its fields by name."""

    values: Mapping[str, Any]
    line: int

    @property
    def dynamic(self) -> bool:
        return bool(self.values["aipp_mode"] == "dynamic")


def refuse(reason: str) -> AtcError:
    return AtcError("E10052", reason=reason)


def read_config(path: Path) -> tuple[Op, ...]:
    """The operators of a file. AtcError E13001 when it cannot be opened, E10052 when it is malformed."""
    try:
        fields = parse(path.read_text(encoding="utf-8")).fields
    except OSError as error:
        raise AtcError("E13001", file=path, errmsg=error.strerror) from error
    except UnicodeDecodeError as error:
        raise refuse(f"{path} is no text file") from error
    except Malformed as error:
        raise refuse(f"{path}, {error}") from error
    for field in fields:
        if field.name != "aipp_op" or not isinstance(field.value, Message):
            raise refuse(f"{path}, line {field.line}: aipp_op {{ ... }} is wanted, not {field.name}")
    if not fields:
        raise refuse(f"{path} holds no aipp_op")
    made = tuple(Op(_values(f.value), f.line) for f in fields if isinstance(f.value, Message))
    if len({op.dynamic for op in made}) > 1:
        raise refuse("static and dynamic AIPP cannot be configured in one file")
    return made


def _values(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in message.fields:
        if field.name in found:
            raise refuse(f"line {field.line}: the parameter {field.name} can not be configured repeatedly")
        found[field.name] = _typed(field.name, field.value, field.line)
    mode = found.get("aipp_mode")
    if mode not in ("static", "dynamic"):
        raise refuse("when AIPP is inserted, aipp_mode must be configured as static or dynamic")
    if mode == "dynamic" and found.get("max_src_image_size", 0) <= 0:
        raise refuse("for dynamic AIPP params, max_src_image_size must be set which number should be greater than 0")
    if mode == "static" and found.get("input_format") is None:
        raise refuse("input format of AIPP conf must be set in static aipp")
    return found


def _typed(name: str, value: object, line: int) -> object:
    def wrong(what: str) -> AtcError:
        return refuse(f"line {line}: {name} must be {what}, not {value}")

    if name in SWITCHES:
        if value not in (True, False, 0, 1):
            raise wrong("true or false")
        return bool(value)
    if name in WORDS:
        if not isinstance(value, str):
            raise wrong("a word")
        return value
    if name in SIZES or name in WHOLE:
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong("a whole number")
        if name in SIZES and value < 0:
            raise refuse(f"line {line}: {name} must not be configured smaller than 0")
    elif name in REAL:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong("a number")
    else:
        raise refuse(f"line {line}: AIPP has no parameter {name}")
    if name in RANGES and not RANGES[name][0] <= value <= RANGES[name][1]:
        raise wrong(f"between {RANGES[name][0]} and {RANGES[name][1]}")
    return value


def resolve(op: Op, inputs: Sequence[str], dims_of: Callable[[str], tuple[int, ...]]) -> Aipp:
    """The preprocessing of an input. inputs: the model's, in order; dims_of: [N, C, H, W] of one. AtcError E10052, E70014."""
    name = op.values.get("related_input_name", "")
    rank = op.values.get("related_input_rank", 0)
    if name and name not in inputs:
        raise refuse(f"related_input_name {name} is no input of the model; there are {', '.join(inputs)}")
    if not name and rank >= len(inputs):
        raise refuse(f"related_input_rank {rank} is beyond the inputs of the model, of which there are {len(inputs)}")
    name = name or inputs[rank]
    dims = dims_of(name)
    if len(dims) != 4:
        raise refuse(f"input {name} has {len(dims)} dimensions, AIPP makes pictures of 4 (N, C, H, W)")
    if min(dims[1:]) < 1 and not (op.dynamic and min(dims[2:]) < 1 <= dims[1]):
        raise refuse(f"the channels, height and width of input {name} must be fixed, they are {list(dims[1:])}")
    if op.dynamic:
        return Aipp(name, dims, None, op.values["max_src_image_size"])
    made = settings(op.values, dims)
    try:
        made.check()
    except ValueError as error:
        raise refuse(str(error)) from error
    if dims[1] not in made.channels():
        wanted = " or ".join(map(str, made.channels()))
        raise refuse(f"{made.format} pictures give {wanted} channels, input {name} has {dims[1]}")
    width, height = made.size
    if (height, width) != dims[2:]:
        raise AtcError("E70014", aipp_output_H=height, aipp_output_W=width, data_H=dims[2], data_W=dims[3])
    return Aipp(name, dims, made)


def settings(values: Mapping[str, Any], dims: Sequence[int]) -> Settings:
    """The settings of a static configuration for an input [N, C, H, W]; sizes that are not given are those of the input."""
    if values["input_format"] not in FORMATS:
        raise refuse(f"input_format {values['input_format']} is none of {', '.join(FORMATS)}")
    if values.get("support_rotation"):
        raise refuse("support_rotation is not offered")

    def number(name: str, otherwise: int) -> int:
        return int(values.get(name) or otherwise)

    def four(name: str, otherwise: float) -> tuple[float, float, float, float]:
        a, b, c, d = (float(values.get(f"{name}_chn_{n}", otherwise)) for n in CHANNELS)
        return a, b, c, d

    height, width = dims[2], dims[3]
    left, right, top, bottom = (int(values.get(f"{side}_padding_size", 0)) for side in ("left", "right", "top", "bottom"))
    padded = bool(values.get("padding"))
    inner = (width - left - right, height - top - bottom) if padded else (width, height)
    resize = (number("resize_output_w", inner[0]), number("resize_output_h", inner[1])) if values.get("resize") else None
    if resize and not (values.get("src_image_size_w") and values.get("src_image_size_h")):
        raise refuse("resize needs src_image_size_w and src_image_size_h: the input tells the size behind it only")
    width, height = number("src_image_size_w", inner[0]), number("src_image_size_h", inner[1])
    crop = None
    if values.get("crop"):
        across, down = (int(values.get(f"load_start_pos_{side}", 0)) for side in "wh")
        rest = (width - across, height - down) if resize else inner
        crop = (across, down, number("crop_size_w", rest[0]), number("crop_size_h", rest[1]))
    csc = None
    if values.get("csc_switch"):
        default = YUV_TO_BGR if values["input_format"].startswith("YUV") else RGB_TO_YUV
        bias = [int(values.get(n, b)) for n, b in zip(BIASES, (*BIAS, *BIAS), strict=True)]
        matrix = tuple(int(values.get(n, d)) for n, d in zip(MATRIX, default, strict=True))
        csc = Csc(matrix, tuple(bias[:3]), tuple(bias[3:]))
    return Settings(
        values["input_format"],
        width,
        height,
        crop,
        (left, right, top, bottom) if padded else None,
        float(values.get("padding_value", 0)) if padded else 0.0,
        csc,
        bool(values.get("rbuv_swap_switch")),
        bool(values.get("ax_swap_switch")),
        four("mean", 0),
        four("min", 0),
        four("var_reci", 1),
        resize,
    )
