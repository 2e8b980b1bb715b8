"""What the media engine does to pictures: cut, scale, convert, paste, frame. Values in, values out."""

from __future__ import annotations

from typing import Any

from npu.runtime.picture import COARSER, FULL, GRAY, RGB, Frame

# acldvppCscMatrix // 2 -> weights of red and blue in luma; even numbers use the whole range, odd ones 16..235
WEIGHTS = {0: (0.299, 0.114), 1: (0.2126, 0.0722), 2: (0.2627, 0.0593)}
BILINEAR, NEAREST, BILINEAR_EDGE, NEAREST_EDGE = 1, 2, 3, 4  # interpolations; 0 is the default, bilinear
CONSTANT, REPLICATE, REFLECT, REFLECT_101 = range(4)  # acldvppBorderType
PAD_MODES = {REPLICATE: "edge", REFLECT: "symmetric", REFLECT_101: "reflect"}
SMOOTH = (1, 4, 6, 4, 1)  # the kernel of a pyramid step, over 16


def crop(frame: Frame, left: int, right: int, top: int, bottom: int) -> Frame:
    """The part between these pixels, both ends within it."""
    across, down = COARSER[frame.kind]
    made = [frame.planes[0][top : bottom + 1, left : right + 1]]
    if len(frame.planes) > 1:
        made.append(frame.planes[1][top // down : (bottom + 1) // down, left // across : (right + 1) // across])
    return Frame(frame.kind, made)


def paste(onto: Frame, part: Frame, left: int, top: int) -> None:
    """Put a part of the same kind onto a picture, its first pixel at (left, top)."""
    across, down = COARSER[onto.kind]
    onto.planes[0][top : top + part.height, left : left + part.width] = part.planes[0]
    if len(onto.planes) > 1:
        x, y = left // across, top // down
        onto.planes[1][y : y + part.height // down, x : x + part.width // across] = part.planes[1]


def resize(frame: Frame, width: int, height: int, interpolation: int) -> Frame:
    """Scale each plane by itself."""
    across, down = COARSER[frame.kind]
    made = [_scaled(frame.planes[0], width, height, interpolation)]
    if len(frame.planes) > 1:
        made.append(_scaled(frame.planes[1], width // across, height // down, interpolation))
    return Frame(frame.kind, made)


def _scaled(plane: Any, width: int, height: int, interpolation: int) -> Any:
    import numpy as np

    rows, columns = plane.shape[:2]
    if (rows, columns) == (height, width):
        return plane
    centred = interpolation not in (BILINEAR_EDGE, NEAREST_EDGE)  # pixel centres match, or first pixels do
    y, x = _positions(height, rows, centred), _positions(width, columns, centred)
    if interpolation in (NEAREST, NEAREST_EDGE):
        y, x = (np.arange(n) * size // n for n, size in ((height, rows), (width, columns)))
        return plane[y][:, x]
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, right = np.minimum(top + 1, rows - 1), np.minimum(left + 1, columns - 1)
    shape = (1, -1, 1)[: plane.ndim]
    across = (x - left).astype(np.float32).reshape(shape)
    down = (y - top).astype(np.float32).reshape((-1, 1, 1)[: plane.ndim])
    wide = plane.astype(np.float32)
    upper = wide[top][:, left] * (1 - across) + wide[top][:, right] * across
    lower = wide[bottom][:, left] * (1 - across) + wide[bottom][:, right] * across
    return np.clip(np.rint(upper * (1 - down) + lower * down), 0, 255).astype(np.uint8)


def _positions(count: int, size: int, centred: bool) -> Any:
    """Where the pixels of a scaled row lie in the original one."""
    import numpy as np

    scale = size / count
    found = (np.arange(count) + 0.5) * scale - 0.5 if centred else np.arange(count) * scale
    return np.clip(found, 0, size - 1)


def convert(frame: Frame, kind: str, matrix: int = 0) -> Frame:
    """The same picture in another kind. matrix: acldvppCscMatrix."""
    if frame.kind == kind:
        return frame
    if kind == RGB:
        return _to_rgb(frame, matrix)
    full = _to_yuv(frame, matrix) if frame.kind == RGB else _full(frame)
    if kind == GRAY:
        return Frame(GRAY, full.planes[:1])
    across, down = COARSER[kind]
    height, width = full.height // down * down, full.width // across * across
    colour = full.planes[1][:height, :width].reshape(height // down, down, width // across, across, 2)
    return Frame(kind, [full.planes[0], _rounded(colour.mean(axis=(1, 3)))])


def _full(frame: Frame) -> Frame:
    """With colour for every pixel."""
    import numpy as np

    luma = frame.planes[0]
    if frame.kind == GRAY:
        return Frame(FULL, [luma, np.full((*luma.shape, 2), 128, np.uint8)])
    across, down = COARSER[frame.kind]
    return Frame(FULL, [luma, frame.planes[1].repeat(down, axis=0).repeat(across, axis=1)])


def _rounded(values: Any) -> Any:
    import numpy as np

    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _range(matrix: int) -> tuple[float, float, float]:
    """(offset of luma, scale of luma, scale of colour) of a matrix."""
    return (16.0, 219 / 255, 224 / 255) if matrix % 2 else (0.0, 1.0, 1.0)


def _to_rgb(frame: Frame, matrix: int) -> Frame:
    """R = Y + 2 (1 - Kr) V', B = Y + 2 (1 - Kb) U', G from Y = Kr R + (1 - Kr - Kb) G + Kb B (ITU-R BT.601, 709, 2020)."""
    import numpy as np

    red_weight, blue_weight = WEIGHTS[matrix // 2]
    offset, scale, colour_scale = _range(matrix)
    full = _full(frame)
    luma = (full.planes[0].astype(np.float32) - offset) / scale
    u, v = ((full.planes[1][..., n].astype(np.float32) - 128) / colour_scale for n in (0, 1))
    red, blue = luma + 2 * (1 - red_weight) * v, luma + 2 * (1 - blue_weight) * u
    green = (luma - red_weight * red - blue_weight * blue) / (1 - red_weight - blue_weight)
    return Frame(RGB, [_rounded(np.stack([red, green, blue], axis=-1))])


def _to_yuv(frame: Frame, matrix: int) -> Frame:
    import numpy as np

    red_weight, blue_weight = WEIGHTS[matrix // 2]
    offset, scale, colour_scale = _range(matrix)
    red, green, blue = (frame.planes[0][..., n].astype(np.float32) for n in range(3))
    luma = red_weight * red + (1 - red_weight - blue_weight) * green + blue_weight * blue
    u = (blue - luma) / (2 * (1 - blue_weight)) * colour_scale + 128
    v = (red - luma) / (2 * (1 - red_weight)) * colour_scale + 128
    return Frame(FULL, [_rounded(luma * scale + offset), _rounded(np.stack([u, v], axis=-1))])


def border(frame: Frame, sizes: tuple[int, int, int, int], kind: int, values: tuple[float, float, float, float]) -> Frame:
    """Add rows and columns (top, bottom, left, right) around a picture. values: of a constant border, by channel."""
    import numpy as np

    top, bottom, left, right = sizes
    made = []
    for number, plane in enumerate(frame.planes):
        across, down = (1, 1) if number == 0 else COARSER[frame.kind]
        widths = [(top // down, bottom // down), (left // across, right // across), (0, 0)][: plane.ndim]
        if kind == CONSTANT:
            channels = values[number : number + 1] if plane.ndim == 2 else values[number : number + plane.shape[2]]
            layers = plane.reshape(*plane.shape[:2], -1)
            padded = [np.pad(layers[..., c], widths[:2], constant_values=int(v)) for c, v in enumerate(channels)]
            made.append(np.stack(padded, axis=-1).reshape(*padded[0].shape, *plane.shape[2:]))
        else:
            made.append(np.pad(plane, widths, mode=PAD_MODES[kind]))  # type: ignore[call-overload]
    return Frame(frame.kind, made)


def pyramid_step(frame: Frame) -> Frame:
    """Smooth and take every second pixel."""
    return Frame(frame.kind, [_smoothed(p)[::2, ::2] for p in frame.planes])


def _smoothed(plane: Any) -> Any:
    import numpy as np

    found = plane.astype(np.float32)
    for axis in (0, 1):
        widths = [(2, 2) if a == axis else (0, 0) for a in range(plane.ndim)]
        padded = np.pad(found, widths, mode="reflect" if plane.shape[axis] > 2 else "edge")
        found = sum(w * np.take(padded, range(n, n + plane.shape[axis]), axis=axis) for n, w in enumerate(SMOOTH)) / 16
    return _rounded(found)
