"""SplitConvConcatFusionPass: channels split, convolved part by part and joined again are one convolution in groups.

Exporters of older frameworks write grouped convolutions so: the filters, one behind the other, are the filter of the whole.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import is_constant
from npu.graph.passes.rewriting import note, set_input, weight
from npu.patterns import named

NAME = named("SplitConvConcatFusionPass").name
CHANNELS = 1


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for concat in list(work.graph):
        if concat.op_type != "Concat" or concat.domain or len(concat.inputs) < 2:
            continue
        parts = [v.producer() if v is not None else None for v in concat.inputs]
        if any(p is None or p.op_type != "Conv" or p.domain for p in parts):
            continue
        split = concat.inputs[0].producer().inputs[0].producer()
        if split is None or split.op_type != "Split" or split.domain:
            continue
        outcome.matched += 1
        reason = refusal(split, parts, concat)
        if reason:
            outcome.refuse(NAME, concat, reason)
            continue
        fold(work.graph, split, parts, concat)
        outcome.effected += 1
    return outcome


def refusal(split: Any, parts: list[Any], concat: Any) -> str:
    """Why these parts are no convolution in groups; "" when they are."""
    rank = len(concat.outputs[0].shape) if concat.outputs[0].shape is not None else 0
    if rank < 3 or any(n.attributes.get_int("axis", 0) not in (CHANNELS, CHANNELS - rank) for n in (split, concat)):
        return f"{split.name} and {concat.name} do not both work on the channels"
    if [p.inputs[0] for p in parts] != list(split.outputs):
        return f"the convolutions do not take the parts of {split.name} in order, each one"
    for value in (*split.outputs, *(p.outputs[0] for p in parts)):
        if value.is_graph_output():
            return f"{value.name} is an output of the model"
        if len(value.uses()) != 1:
            return f"{value.name} is read {len(value.uses())} times"
    filters = [p.inputs[1] for p in parts]
    if not all(is_constant(f) for f in filters) or len({tuple(f.const_value.shape.numpy()) for f in filters}) > 1:
        return "the filters are not constant or of different shapes"
    biases = [p.inputs[2] if len(p.inputs) > 2 else None for p in parts]
    if any(b is not None and not is_constant(b) for b in biases) or len({b is None for b in biases}) > 1:
        return "some convolutions have a bias that others do not have, or one that is not constant"
    if len({tuple(sorted((k, str(a.value)) for k, a in p.attributes.items())) for p in parts}) > 1:
        return "the attributes of the convolutions differ"
    return ""


def fold(graph: Any, split: Any, parts: list[Any], concat: Any) -> None:
    import numpy as np
    import onnx_ir as ir

    whole = parts[0]
    groups = whole.attributes.get_int("group", 1) * len(parts)
    for at, what in ((1, "weight"), (2, "bias")):
        if len(whole.inputs) > at and whole.inputs[at] is not None:
            joined = np.concatenate([p.inputs[at].const_value.numpy() for p in parts])
            set_input(whole, at, weight(graph, f"{whole.name}_{what}_grouped", joined, whole.inputs[at].dtype))
    whole.attributes["group"] = ir.AttrInt64("group", groups)
    whole.replace_input_with(0, split.inputs[0])
    whole.outputs[0].shape = concat.outputs[0].shape
    for gone in (*parts[1:], split, concat):
        note(whole, gone)
    ir.convenience.replace_nodes_and_values(
        graph, concat, [concat, *parts[1:], split], [], [concat.outputs[0]], [whole.outputs[0]]
    )
