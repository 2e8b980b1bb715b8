"""PadConv2dFusionPass and PadDepthwiseConv2dFusionPass: zeros put around an image before a convolution become its own padding."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import constant, escapes
from npu.graph.passes.rewriting import note
from npu.patterns import named

NAME = named("PadConv2dFusionPass").name
DEPTHWISE = named("PadDepthwiseConv2dFusionPass").name
LARGEST = 255  # of one side, what the load instruction of the cube unit takes


def run(work: Work) -> Outcome:
    return _run(work, NAME, False)


def run_depthwise(work: Work) -> Outcome:
    return _run(work, DEPTHWISE, True)


def _depthwise(conv: Any) -> bool:
    """One filter for each channel of the input."""
    groups = conv.attributes.get_int("group", 1)
    dims = conv.inputs[0].shape
    return bool(groups > 1 and dims is not None and len(dims) > 1 and dims[1] == groups)


def _run(work: Work, name: str, depthwise: bool) -> Outcome:
    import onnx_ir as ir

    outcome = Outcome()
    for conv in list(work.graph):
        pad = conv.inputs[0].producer() if conv.op_type == "Conv" and not conv.domain and conv.inputs[0] is not None else None
        if pad is None or pad.op_type != "Pad" or pad.domain or _depthwise(conv) != depthwise:
            continue
        outcome.matched += 1
        sides = sides_of(pad)
        reason = refusal(pad, conv, sides)
        if reason or sides is None:
            outcome.refuse(name, pad, reason)
            continue
        rank = len(sides) // 2
        own = conv.attributes.get_ints("pads", None) or [0] * (2 * rank - 4)
        added = [*sides[2:rank], *sides[rank + 2 :]]
        conv.attributes["pads"] = ir.AttrInt64s("pads", [a + b for a, b in zip(own, added, strict=True)])
        conv.replace_input_with(0, pad.inputs[0])
        note(conv, pad)
        work.graph.remove(pad, safe=True)
        outcome.effected += 1
    return outcome


def sides_of(pad: Any) -> list[int] | None:
    """What a Pad adds on each side, before and after of every axis; None where that is not constant."""
    given = pad.attributes.get_ints("pads", None)
    if given is None and len(pad.inputs) > 1:
        array = constant(pad.inputs[1])
        given = array.tolist() if array is not None else None
    return [int(v) for v in given] if given is not None else None


def refusal(pad: Any, conv: Any, sides: list[int] | None) -> str:
    if sides is None or (len(pad.inputs) > 3 and pad.inputs[3] is not None):
        return "the widths are not constant or are given by axis"
    if pad.attributes.get_string("mode", "constant") != "constant":
        return f"the padding is {pad.attributes.get_string('mode')}, not constant"
    filling = constant(pad.inputs[2]) if len(pad.inputs) > 2 and pad.inputs[2] is not None else None
    if (filling is not None and filling.any()) or pad.attributes.get_float("value", 0.0):
        return "it pads with something else than zero"
    if len(pad.inputs) > 2 and pad.inputs[2] is not None and filling is None:
        return "what it pads with is not constant"
    rank = len(sides) // 2
    if any(sides[at] for at in (0, 1, rank, rank + 1)):
        return "it pads batch or channels"
    if min(sides) < 0 or max(sides) > LARGEST:
        return f"a side of {min(sides) if min(sides) < 0 else max(sides)} is outside 0 to {LARGEST}"
    if conv.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        return "the convolution pads automatically"
    return escapes([pad, conv], conv)
