"""Storage formats: convolutions keep images in NC1HWC0 and spread that to what follows; TransData stands where formats meet.

A value that was converted once is there in both formats, so a chain of convolutions has one conversion at each end and none
between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npu.graph.lowering import Lowering
from npu.ops.node import Operand, Stored
from npu.ops.storage import c0, nc1hwc0

HEAVY = ("conv", "depthwise")
FIVE = "NC1HWC0"
AIPP = "Aipp"  # makes blocks of what lies in pixels
HALF_OR_LESS = ("float16", "float32", "int8", "uint8", "bfloat16")
# Kernels that work on whole pixels in any format. Concatenation needs channels that fill their blocks.
PIXELWISE = {
    "MaxPool",
    "AvgPoolV2",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BNInfer",
    "ResizeNearestNeighborV2",
    "ResizeBilinearV2",
    "ReduceMeanD",
    "PadV3",
}
PLANES = {4: "NCHW", 5: "NCDHW"}


@dataclass
class Formats:
    """Which values lie in blocks, where they were converted, and how many conversions that took.

    conversions: (step they stand before, value, to blocks); inserted and cancelled count TransData against one on each side of
    every convolution.
    """

    blocked: set[str] = field(default_factory=set)  # made in blocks
    converted: dict[str, set[str]] = field(default_factory=dict)
    conversions: list[tuple[int, str, bool]] = field(default_factory=list)
    same: set[str] = field(default_factory=set)  # both formats are the same bytes in the same order
    wants: dict[int, set[str]] = field(default_factory=dict)  # step -> operands it reads in blocks
    cancelled: int = 0

    @property
    def inserted(self) -> int:
        return len(self.conversions)


def choose(steps: Sequence[Lowering | None], outputs: Sequence[str], aliases: Mapping[str, str], plain: bool) -> Formats:
    """The formats of a model. aliases: reshaped value -> what it is made of; plain: everything stays as the model says (ND)."""
    made = Formats()
    naive = 0
    for at, step in enumerate(steps):
        if step is None:
            continue
        wanted = set() if plain else _wanted(step, made.blocked)
        made.wants[at] = wanted
        for value in step.reads:
            name = aliases.get(value.name, value.name)
            if not value.constant:
                if same_bytes(value):
                    made.same.add(value.name)
                _need(made, at, name if value.name not in wanted else value.name, value.name in wanted)
        if step.lowered.op_type == AIPP and not plain:
            made.blocked |= {w.name for w in step.writes}
        if wanted:
            made.blocked |= {w.name for w in step.writes if len(w.dims) == 4}
            made.same |= {w.name for w in step.writes if same_bytes(w)}
        if step.lowered.work.form in HEAVY and wanted:
            naive += 2
    for name in outputs:
        _need(made, len(steps), aliases.get(name, name), False)
    made.cancelled = max(0, naive - made.inserted)
    return made


def _need(made: Formats, at: int, name: str, blocks: bool) -> None:
    have = FIVE if name in made.blocked else ""
    want = FIVE if blocks else ""
    if have == want or want in made.converted.get(name, ()) or (name in made.same and not blocks):
        return
    made.converted.setdefault(name, set()).add(want)
    made.conversions.append((at, name, blocks))


def same_bytes(value: Operand) -> bool:
    """One pixel per image and channels that fill their blocks, or a single image (whose padding lies behind the last channel):
    read as NCHW, blocks need no conversion."""
    if len(value.dims) != 4 or value.dims[2:] != (1, 1):
        return False
    return value.dims[0] == 1 or value.dims[1] % c0(value.dtype) == 0


def _wanted(step: Lowering, blocked: set[str]) -> set[str]:
    """Names of the operands a kernel reads in blocks: none where it works on the origin format."""
    work = step.lowered.work
    images = [r for r in step.reads if not r.constant and len(r.dims) == 4]
    if work.form in HEAVY and images and images[0].dtype in HALF_OR_LESS and all(len(w.dims) == 4 for w in step.writes):
        same = {r.name for r in images[1:] if r.dims == step.writes[0].dims}
        return {images[0].name} | same
    if not images or not any(r.name in blocked for r in images) or not step.writes or any(len(w.dims) != 4 for w in step.writes):
        return set()
    if work.form == "vector" and all(_by_pixel(r, step.writes[0]) for r in step.reads):
        return {r.name for r in images}
    if step.lowered.op_type in PIXELWISE and _channels_stay(images[0], step.writes[0]):
        return {images[0].name}
    if step.lowered.op_type == "ConcatD" and step.node.number("axis", 0) in (1, -3):
        full = all(r.dims[1] % c0(r.dtype) == 0 for r in images) and len(images) == len(step.reads)
        return {r.name for r in images} if full else set()
    return set()


def _channels_stay(source: Operand, target: Operand) -> bool:
    return source.dims[:2] == target.dims[:2]


def _by_pixel(value: Operand, out: Operand) -> bool:
    """Same shape, one number, or one per channel: an elementwise kernel can pair it with blocks."""
    if value.elements <= 1 or value.dims == out.dims:
        return True
    padded = (1,) * (4 - len(value.dims)) + value.dims
    return padded[0] in (1, out.dims[0]) and padded[1] == out.dims[1] and padded[2:] == (1, 1)


def stored(value: Operand, blocks: bool, input_format: str, heavy: bool = False) -> Stored:
    """How an operand lies in memory. Convolutions name everything by the image format, the bias too (as profiles do)."""
    if input_format == "ND":
        return Stored(value.dims, "ND", value.dtype)
    if blocks and len(value.dims) == 4 and min(value.dims) >= 0:
        return Stored(nc1hwc0(value.dims, value.dtype), FIVE, value.dtype)
    return Stored(value.dims, PLANES.get(len(value.dims), "NCHW" if heavy else "ND"), value.dtype)
