"""Shapes as profiles print them, and the Work of a convolution from them."""

from __future__ import annotations

from math import prod

from npu.cost import Work

BYTES = {"FLOAT": 4, "DT_FLOAT": 4, "FLOAT16": 2, "DT_FLOAT16": 2, "DT_BF16": 2, "BF16": 2, "INT8": 1, "DT_INT8": 1, "UINT8": 1}
DTYPE = {
    "FLOAT": "float32",
    "DT_FLOAT": "float32",
    "FLOAT16": "float16",
    "DT_FLOAT16": "float16",
    "DT_BF16": "bfloat16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "DT_INT8": "int8",
}


def shapes(text: str) -> list[tuple[int, ...]]:
    """'"1,3,224,224;64,3,7,7"' -> [(1, 3, 224, 224), (64, 3, 7, 7)]. An unreadable or empty part becomes ()."""
    found = []
    for part in text.strip('"').split(";"):
        numbers = part.split(",")
        found.append(tuple(int(n) for n in numbers) if all(n.strip().isdigit() for n in numbers) else ())
    return found


def conv_work(op: str, in_shapes: str, in_dtypes: str, in_formats: str, out_shapes: str, out_formats: str) -> Work | None:
    """The Work of a 2-D convolution kernel, or None when its shapes do not tell (missing, dynamic, or another rank).

    Weights in FRACTAL_Z hold [C1*Kh*Kw, N1, 16, C0], so kernel height and width are known as a product only: enough for a
    product of m, n, k.
    """
    inputs, formats, dtypes = shapes(in_shapes), in_formats.split(";"), in_dtypes.split(";")
    out, out_format = shapes(out_shapes)[0], out_formats.split(";")[0]
    if len(inputs) < 2 or len(formats) < 2 or dtypes[0] not in DTYPE or len(out) < 4:
        return None
    data, weight, size = inputs[0], inputs[1], BYTES[dtypes[0]]
    if out_format == "NC1HWC0" and len(out) == 5:
        n, ho, wo, co = out[0], out[2], out[3], out[1] * out[4]
    elif out_format == "NHWC":
        n, ho, wo, co = out
    elif out_format == "NCHW" and len(out) == 4:
        n, co, ho, wo = out
    else:
        return None
    if formats[1] == "FRACTAL_Z" and len(weight) == 4:
        channels = data[1] * data[4] if formats[0] == "NC1HWC0" and len(data) == 5 else data[1] if len(data) == 4 else 0
        taps = weight[0] * weight[3] // max(1, channels)
        ci, kh, kw = channels, max(1, taps), 1
    elif len(weight) == 4:
        ci, kh, kw = weight[1:]
    else:
        return None
    dims = (n, ho, wo, co, ci, kh, kw, 1)
    if min(dims) < 1:
        return None
    return Work(
        "depthwise" if op.startswith("Depthwise") else "conv",
        op,
        DTYPE[dtypes[0]],
        dims,
        size * (prod(data) + prod(weight)),
        size * prod(out),
    )
