"""PermutePass: transposes that follow each other are one, and one that changes nothing is none."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.rewriting import drop, note, remove_unread
from npu.patterns import named

NAME = named("PermutePass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.op_type != "Transpose" or node.domain:
            continue
        order = _order(node)
        before = node.inputs[0].producer()
        if order and before is not None and before.op_type == "Transpose" and not before.domain and _order(before):
            outcome.matched += 1
            inner = _order(before)
            if len(inner) == len(order):
                _merge(work.graph, node, before, [inner[i] for i in order])
                outcome.effected += 1
        if _order(node) == list(range(len(order))) and order:
            drop(work.graph, outcome, NAME, node, node.inputs[0])
    return outcome


def _order(node: Any) -> list[int]:
    """The axes in their new order; [] when neither attribute nor rank says them."""
    given = node.attributes.get_ints("perm", None)
    if given is not None:
        return list(given)
    value = node.inputs[0]
    return list(range(len(value.shape)))[::-1] if value.shape is not None else []


def _merge(graph: Any, node: Any, before: Any, order: list[int]) -> None:
    """The later transpose reads what the earlier one read; the earlier one goes when nothing else needs it."""
    import onnx_ir as ir

    node.replace_input_with(0, before.inputs[0])
    node.attributes["perm"] = ir.AttrInt64s("perm", order)
    note(node, before)
    remove_unread(graph, before)
