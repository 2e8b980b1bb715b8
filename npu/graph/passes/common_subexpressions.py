"""CommonSubexpressionEliminationPass: of nodes that compute the same from the same, one is kept."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.constant_folding import RANDOM
from npu.graph.passes.rewriting import note

NAME = "CommonSubexpressionEliminationPass"


def run(work: Work) -> Outcome:
    outcome = Outcome()
    first: dict[object, Any] = {}
    for node in list(work.graph):
        key = _key(node)
        if key is None:
            continue
        kept = first.setdefault(key, node)
        if kept is node:
            continue
        outcome.matched += 1
        if any(o.is_graph_output() for o in node.outputs):
            outcome.refuse(NAME, node, f"{node.outputs[0].name} is an output of the model and needs its own buffer")
            continue
        for old, new in zip(node.outputs, kept.outputs, strict=True):
            old.replace_all_uses_with(new)
        note(kept, node)
        work.graph.remove(node, safe=True)
        outcome.effected += 1
    return outcome


def _key(node: Any) -> object:
    """What decides the results: operator, inputs, attributes. None for nodes with subgraphs or chance in them."""
    if node.op_type in RANDOM or not node.outputs:
        return None
    attributes = []
    for name, value in sorted(node.attributes.items()):
        if value.type.name in ("GRAPH", "GRAPHS", "TENSOR", "TENSORS"):
            return None
        attributes.append((name, value.type.name, repr(value.value)))
    return (
        node.domain,
        node.op_type,
        len(node.outputs),
        tuple(id(i) if i is not None else 0 for i in node.inputs),
        tuple(attributes),
    )
