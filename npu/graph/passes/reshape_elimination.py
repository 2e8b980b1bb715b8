"""ReshapeRemovePass: of reshapes in a row only the last counts, and one to the shape there already is goes."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import constant
from npu.graph.passes.rewriting import drop, note, remove_unread
from npu.patterns import named

NAME = named("ReshapeRemovePass").name
RESHAPES = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"}


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.op_type not in RESHAPES or node.domain:
            continue
        before = node.inputs[0].producer()
        if before is not None and before.op_type in RESHAPES and not before.domain and _absolute(node):
            outcome.matched += 1
            _skip(work.graph, node, before)
            outcome.effected += 1
        dims = shape(node.outputs[0])
        if dims is not None and dims == shape(node.inputs[0]):
            drop(work.graph, outcome, NAME, node, node.inputs[0])
    return outcome


def _absolute(node: Any) -> bool:
    """True when the target does not depend on the shape that comes in: a constant one without 0 (which copies a dim)."""
    if node.op_type != "Reshape":
        return False
    target = constant(node.inputs[1])
    return target is not None and bool((target != 0).all())


def _skip(graph: Any, node: Any, before: Any) -> None:
    node.replace_input_with(0, before.inputs[0])
    note(node, before)
    remove_unread(graph, before)
