"""Coded pictures: what a JPEG or PNG is before it is decoded, and the values in it. Pillow does the coding."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from npu.errors import NpuError
from npu.runtime.picture import FULL, GRAY, HALF, RGB, WIDE, Frame

# acldvppJpegFormat by the sampling of the components; a picture with one component is gray
SAMPLINGS = {((1, 1), (1, 1)): 0, ((2, 1), (1, 1)): 1, ((2, 2), (1, 1)): 2, ((1, 2), (1, 1)): 4, ((4, 1), (1, 1)): 5}
JPEG_GRAY, JPEG_UNKNOWN = 3, 1000
BASELINE = range(0xC0, 0xC2)  # frame markers of what the hardware decodes: sequential Huffman coding
KIND_OF = {0: FULL, 1: WIDE, 2: HALF, 3: GRAY}


class Info(NamedTuple):
    """Size in pixels, number of components, acldvppJpegFormat (0 for PNG)."""

    width: int
    height: int
    components: int
    format: int


def jpeg_info(data: bytes) -> Info:
    """Head of a JPEG. NpuError jpeg_unsupported when it is none, or of a coding the decoder cannot take."""
    at = 2
    if data[:2] != b"\xff\xd8":
        raise NpuError("jpeg_unsupported", reason="the data does not begin like a JPEG")
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            break
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            if marker not in BASELINE:
                raise NpuError("jpeg_unsupported", reason=f"coding {marker:#x} (progressive or arithmetic)")
            return _frame_head(data[at + 4 : at + 2 + length])
        at += 2 + length
    raise NpuError("jpeg_unsupported", reason="it has no frame header")


def _frame_head(head: bytes) -> Info:
    if len(head) < 6 or len(head) < 6 + 3 * head[5]:
        raise NpuError("jpeg_unsupported", reason="its frame header is cut")
    height, width, count = int.from_bytes(head[1:3], "big"), int.from_bytes(head[3:5], "big"), head[5]
    factors = [(head[6 + 3 * n + 1] >> 4, head[6 + 3 * n + 1] & 15) for n in range(count)]
    form = JPEG_GRAY if count == 1 else SAMPLINGS.get((factors[0], factors[1]), JPEG_UNKNOWN)
    return Info(width, height, count, form)


def png_info(data: bytes) -> Info:
    """Head of a PNG. NpuError invalid_param."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or len(data) < 26:
        raise NpuError("invalid_param", reason="the data does not begin like a PNG")
    components = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(data[25], 0)
    return Info(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"), components, 0)


def decode(data: bytes, mode: str) -> Any:
    """The values of a coded picture as Pillow gives them in a mode. NpuError invalid_param for damaged data."""
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            image.draft(mode, image.size)
            return np.asarray(image.convert(mode))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise NpuError("invalid_param", reason=f"the picture is damaged: {error}") from error


def jpeg_frame(data: bytes) -> Frame:
    """The values of a JPEG with colour for every pixel."""
    values = decode(data, "YCbCr")
    return Frame(FULL, [values[..., 0], values[..., 1:]])


def png_frame(data: bytes) -> Frame:
    """The picture of PNG data. NpuError as of png_info."""
    return Frame(RGB, [decode(data, "RGB")])


def encode_jpeg(frame: Frame, quality: int) -> bytes:
    """A baseline JPEG of a picture with half colour."""
    import numpy as np
    from PIL import Image

    across = frame.planes[1].repeat(2, axis=0).repeat(2, axis=1)
    values = np.concatenate([frame.planes[0][..., None], across], axis=-1)
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(values), "YCbCr").save(out, "JPEG", quality=max(1, quality), subsampling=2)
    return out.getvalue()
