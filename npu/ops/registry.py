"""The operator library as one explicit list: which family knows an ONNX operator, and the kernel it becomes."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from npu.ops import (
    activation,
    attention,
    control,
    conv,
    elementwise,
    layout,
    matmul,
    norm,
    pool,
    quant,
    reduce,
    reshape,
    rnn,
    search,
    softmax,
)
from npu.ops.node import Lower, Lowered, Node

FAMILIES: tuple[ModuleType, ...] = (
    conv,
    matmul,
    attention,
    rnn,
    elementwise,
    activation,
    norm,
    softmax,
    reduce,
    pool,
    layout,
    reshape,
    search,
    quant,
    control,
)
DOMAINS = ("", "ai.onnx")


@cache
def table() -> dict[str, Lower]:
    """ONNX operator -> its rule, over all families."""
    made: dict[str, Lower] = {}
    for family in FAMILIES:
        made |= family.OPS
    return made


def supported(domain: str, op_type: str) -> bool:
    return domain in DOMAINS and op_type in table()


def lower(node: Node) -> Lowered | None:
    """The kernel of a node, None where it needs none. KeyError for an operator that is not supported()."""
    if node.domain not in DOMAINS:
        raise KeyError(f"{node.domain}::{node.op_type}")
    return table()[node.op_type](node)
