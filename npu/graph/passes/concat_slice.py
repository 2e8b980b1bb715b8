"""StridedSliceConcatFusionPass: concatenations, slices and splits that give back what they got.

A Concat of one input, a Slice of everything, a Split into one part, and a Concat of all the parts of one Split in their order.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.rewriting import removable, remove_unread, take_out
from npu.patterns import named

NAME = named("StridedSliceConcatFusionPass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.domain or node.op_type not in ("Concat", "Slice", "Split"):
            continue
        source = _source(node)
        if source is None:
            continue
        outcome.matched += 1
        split = node.inputs[0].producer()
        reason = "the split stands on another axis" if source == "axis" else removable(node, source)
        if reason:
            outcome.refuse(NAME, node, reason)
            continue
        take_out(work.graph, node, source)
        outcome.effected += 1
        if source is not node.inputs[0] and split is not None:
            remove_unread(work.graph, split)
    return outcome


def _source(node: Any) -> Any:
    """The value that equals the node's result; "axis" for a near miss; None where nothing of the kind is seen."""
    if node.op_type == "Concat":
        if len(node.inputs) == 1:
            return node.inputs[0]
        return _whole_split(node)
    if node.op_type == "Split":
        return node.inputs[0] if len(node.outputs) == 1 else None
    same = shape(node.outputs[0])
    if same is None or same != shape(node.inputs[0]):
        return None
    from npu.graph.passes.matcher import constant

    steps = constant(node.inputs[4]) if len(node.inputs) > 4 and node.inputs[4] is not None else None
    if len(node.inputs) > 4 and node.inputs[4] is not None and steps is None:
        return None
    return node.inputs[0] if steps is None or bool((steps > 0).all()) else None  # a negative step turns the order round


def _whole_split(node: Any) -> Any:
    split = node.inputs[0].producer()
    if split is None or split.op_type != "Split" or split.domain or list(node.inputs) != list(split.outputs):
        return None
    rank = len(node.outputs[0].shape) if node.outputs[0].shape is not None else 0
    axes = [n.attributes.get_int("axis", 0) for n in (node, split)]
    if axes[0] == axes[1] or (rank and axes[0] % rank == axes[1] % rank):
        return split.inputs[0]
    return "axis"
