"""Rule 44: images are resized and normalised on the host and copied as floats; the device can do both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import Edit, OwnTime, Scale
from profiler.analysis.groups import values_of
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.rules.copies import H2D, Copies, in_window
from profiler.analysis.rules.host_preprocess import preparing
from profiler.analysis.shapes import shapes
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("preprocess-on-device", 44, "copy")
COLOURS = 3
SIDE = 32  # pixels; smaller planes are not pictures
ELEMENT = (4, 2)  # bytes of an element of a float or half-precision image; its pixel is one
EVIDENCE_MOST = 3


def preprocess_on_device(context: Context) -> Iterator[Finding]:
    """Fires when copies to the device have exactly the size of an image batch of the window's kernels ([N, 3, H, W] or [N, H, W,
    3]) as 32-bit floats, or, after the host's own time, as 16-bit ones. Gain: a quarter (half) of the copy and none of the
    host's own time before it, at most. Silent for other data."""
    copies = in_window(context)
    copies = copies.only(copies.direction == H2D)
    images = _images(context)
    own = preparing(context)
    element = _element(copies, images, np.isin(copies.rows, own.row))
    copies, element = copies.only(element > 0), element[element > 0]
    if len(copies.rows) < REPEAT_MIN:
        return
    own = own.only(np.isin(own.row, copies.rows))
    task = context.trace.task
    facts = {
        "count": len(copies.rows),
        "shape": images[int(copies.bytes[0] // element[0])],
        "total_bytes": int(copies.bytes.sum()),
        "saved_bytes": int((copies.bytes - copies.bytes // element).sum()),
        "copy_ns": int((task["end"] - task["start"])[copies.task].sum()),
        "host_ns": int(own.ns.sum()),
    }
    scaled = tuple(Scale(copies.task[element == n], 1 / n) for n in ELEMENT if (element == n).any())
    edits: tuple[Edit, ...] = (*scaled, OwnTime(own.row, np.zeros(len(own.row), np.int64)))
    yield judged(
        context,
        NAME,
        facts,
        edits,
        confidence="medium",
        evidence=context.calls_shown(copies.rows[:EVIDENCE_MOST]),
        sites=context.sites(copies.rows),
        method="model",
        at_most=True,
    )


def _element(copies: Copies, images: dict[int, str], prepared: Array) -> Array:
    """Bytes an element of the image that each copy moves has; 0 for what is no image. Half of a float image's bytes may as well
    be something else: that counts after the host prepared it only."""
    found = np.zeros(len(copies.rows), np.int64)
    known = np.array(list(images), np.int64)
    for size in ELEMENT:
        mine = np.isin(copies.bytes, known * size) & (found == 0)
        found[mine & (prepared if size < ELEMENT[0] else True)] = size
    return found


def _images(context: Context) -> dict[int, str]:
    """Elements -> shape, of first inputs that look like a batch of colour images."""
    rows: Array = context.basis.kernels()
    found: dict[int, str] = {}
    for number in values_of(np.take(column(context.trace, "task", "in_shapes"), rows)).tolist():
        shape = shapes(context.trace.strings[number])[0] if number >= 0 else None
        if shape and len(shape) == 4 and _image(shape):
            found.setdefault(int(np.prod(shape, dtype=np.int64)), "x".join(map(str, shape)))
    return found


def _image(shape: tuple[int, ...]) -> bool:
    channels_first = shape[1] == COLOURS and min(shape[2:]) >= SIDE
    channels_last = shape[3] == COLOURS and min(shape[1:3]) >= SIDE
    return channels_first or channels_last
