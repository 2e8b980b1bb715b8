"""Nodes that only say what a tensor looks like: no kernel, the data stays where it is."""

from __future__ import annotations

from npu.ops.node import Lower, Node


def nothing(_node: Node) -> None:
    return None


OPS: dict[str, Lower] = dict.fromkeys(
    (
        "Reshape",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Identity",
        "Shape",
        "Size",
        "Constant",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
    ),
    nothing,
)
