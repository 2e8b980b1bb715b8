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
    preview,
    quant,
    reduce,
    reshape,
    rnn,
    search,
    softmax,
)
from npu.ops.microsoft import products, quantised, transformer
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
MICROSOFT = "com.microsoft"
# Operators of other domains by the domain.
FOREIGN: dict[str, dict[str, Lower]] = {
    MICROSOFT: products.OPS | quantised.OPS | transformer.OPS,
    "ai.onnx.preview": preview.OPS,
    "ai.onnx.preview.training": preview.TRAINING,
}
OURS = tuple(FOREIGN)  # the domains whose operators are ours


def offer(domain: str, operators: dict[str, Lower]) -> None:
    """Take the operators a user has written for a domain of his own; those of a domain listed above stay as they are."""
    if domain not in (*DOMAINS, *OURS):
        FOREIGN[domain] = operators


@cache
def table() -> dict[str, Lower]:
    """ONNX operator of the default domain -> its rule, over all families."""
    made: dict[str, Lower] = {}
    for family in FAMILIES:
        made |= family.OPS
    return made


def rules(domain: str) -> dict[str, Lower]:
    """The operators of a domain with their rules; none for an unknown domain."""
    return table() if domain in DOMAINS else FOREIGN.get(domain, {})


def supported(domain: str, op_type: str) -> bool:
    return op_type in rules(domain)


def lower(node: Node) -> Lowered | None:
    """The kernel of a node, None where it needs none. KeyError for an operator that is not supported()."""
    return rules(node.domain)[node.op_type](node)
