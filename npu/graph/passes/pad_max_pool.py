"""PadMaxPoolFusionPass: a border that no maximum can take becomes the pooling's own padding.

That is one of the lowest number; or of zeros around what is never negative, as every window has at least one pixel of the image.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import constant, escapes
from npu.graph.passes.pad_conv import sides_of
from npu.graph.passes.rewriting import note
from npu.patterns import named

NAME = named("PadMaxPoolFusionPass").name
LOWEST = -65504.0  # of half precision; everything at or below it counts as the lowest number
POSITIVE = ("Relu", "Sigmoid", "Softmax", "HardSigmoid", "Abs", "Exp")


def run(work: Work) -> Outcome:
    import onnx_ir as ir

    outcome = Outcome()
    for pool in list(work.graph):
        value = pool.inputs[0] if pool.op_type == "MaxPool" and not pool.domain else None
        pad = value.producer() if value is not None else None
        if pad is None or pad.op_type != "Pad" or pad.domain:
            continue
        outcome.matched += 1
        sides = sides_of(pad)
        reason = refusal(pad, pool, sides)
        if reason or sides is None:
            outcome.refuse(NAME, pad, reason)
            continue
        pool.attributes["pads"] = ir.AttrInt64s("pads", joined(pool, sides))
        pool.replace_input_with(0, pad.inputs[0])
        note(pool, pad)
        work.graph.remove(pad, safe=True)
        outcome.effected += 1
    return outcome


def joined(pool: Any, sides: list[int]) -> list[int]:
    """The padding of both."""
    rank = len(sides) // 2
    own = pool.attributes.get_ints("pads", None) or [0] * (2 * rank - 4)
    return [a + b for a, b in zip(own, [*sides[2:rank], *sides[rank + 2 :]], strict=True)]


def refusal(pad: Any, pool: Any, sides: list[int] | None) -> str:
    if sides is None or (len(pad.inputs) > 3 and pad.inputs[3] is not None):
        return "the widths are not constant or are given by axis"
    if pad.attributes.get_string("mode", "constant") != "constant":
        return f"the padding is {pad.attributes.get_string('mode')}, not constant"
    given = pad.inputs[2] if len(pad.inputs) > 2 else None
    filling = constant(given) if given is not None else None
    if given is not None and filling is None:
        return "what it pads with is not constant"
    value = float(filling.reshape(-1)[0]) if filling is not None else pad.attributes.get_float("value", 0.0)
    maker = pad.inputs[0].producer()
    positive = maker is not None and maker.op_type in POSITIVE and not maker.domain
    if value > LOWEST and not (value == 0.0 and positive):
        return f"a border of {value:g} may be the largest number of a window"
    rank = len(sides) // 2
    if min(sides) < 0 or any(sides[at] for at in (0, 1, rank, rank + 1)):
        return "it pads batch or channels, or cuts"
    if pool.attributes.get_string("auto_pad", "NOTSET") != "NOTSET" or pool.attributes.get_int("ceil_mode", 0):
        return "the pooling pads automatically or rounds up"
    if len(pool.outputs) > 1 and (pool.outputs[1].uses() or pool.outputs[1].is_graph_output()):
        return "the positions of the maxima are asked for"
    kernel = pool.attributes.get_ints("kernel_shape", None) or []
    if any(p >= k for p, k in zip(joined(pool, sides), [*kernel, *kernel], strict=True)):
        return "a window would lie in the border only"
    return escapes([pad, pool], pool)
