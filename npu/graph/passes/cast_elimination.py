"""CastRemovePass: casts to the type there already is, and there and back through a wider type, go."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.rewriting import drop, remove_unread
from npu.patterns import named

NAME = named("CastRemovePass").name
# type -> types that hold each of its values exactly
WIDER = {
    "FLOAT16": {"FLOAT", "DOUBLE"},
    "BFLOAT16": {"FLOAT", "DOUBLE"},
    "FLOAT": {"DOUBLE"},
    "INT32": {"INT64", "DOUBLE"},
    "INT16": {"INT32", "INT64", "FLOAT", "DOUBLE"},
    "INT8": {"INT16", "INT32", "INT64", "FLOAT16", "FLOAT", "DOUBLE"},
    "UINT8": {"INT16", "INT32", "INT64", "FLOAT16", "FLOAT", "DOUBLE"},
    "BOOL": {"INT32", "INT64", "FLOAT", "FLOAT16", "INT8", "UINT8"},
}


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for node in list(work.graph):
        if node.op_type != "Cast" or node.domain:
            continue
        source = _source(node)
        if source is None:
            continue
        value = node.inputs[0]
        if drop(work.graph, outcome, NAME, node, source) and source is not value:
            remove_unread(work.graph, value.producer())
    return outcome


def _source(node: Any) -> Any:
    """The value that equals the cast's result, or None."""
    value = node.inputs[0]
    target = node.attributes.get_int("to", 0)
    if value.dtype is None:
        return None
    if value.dtype.value == target:
        return value
    before = value.producer()
    if before is None or before.op_type != "Cast" or before.domain or before.inputs[0].dtype is None:
        return None
    first = before.inputs[0]
    same = first.dtype.value == target
    return first if same and value.dtype.name in WIDER.get(first.dtype.name, ()) else None
