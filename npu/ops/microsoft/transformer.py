"""Parts of transformers written as one operator: activations with bias, norms with residual, embeddings, attention."""

from __future__ import annotations

from math import prod

from npu.cost.work import Work
from npu.ops.fused import tail_weight
from npu.ops.kernel import CUBE_TYPES, aicpu, compute_type, layout, read_bytes, row, vector, write_bytes
from npu.ops.node import Lower, Lowered, Node, Operand

VECTOR = {
    "Gelu": "Gelu",
    "FastGelu": "FastGelu",
    "BiasGelu": "Gelu",
    "QuickGelu": "FastGelu",
    "RotaryEmbedding": "RotaryPositionEmbedding",
}
NORMS = {"SkipLayerNormalization": "AddLayerNorm", "SkipSimplifiedLayerNormalization": "AddRmsNorm"}


def element(node: Node) -> Lowered:
    return vector(node, VECTOR[node.op_type])


def norm(node: Node) -> Lowered:
    return row(node, NORMS[node.op_type], prod(max(d, 1) for d in node.outputs[0].dims[:-1]))


def embedding(node: Node) -> Lowered:
    """Three rows of the tables are added and normalised for each token: the tables are not read whole."""
    out = node.outputs[0]
    rows = max(out.elements // max(out.dims[-1], 1), 1) if out.dims else 1
    work = Work("row", "AddLayerNorm", out.dtype, (out.elements, rows), 3 * out.bytes, write_bytes(node))
    return Lowered("AddLayerNorm", work)


def _width(operand: Operand | None) -> int:
    return max(operand.dims[-1], 1) if operand is not None and operand.dims else 1


def projected(node: Node) -> Lowered:
    """Attention and QAttention: the projection to Q, K and V and the attention in one kernel.

    One product with as many multiply-adds as both: rows * (3 H * input + 2 * keys * H); the exponentials are its epilogue.
    """
    data, weights = node.inputs[0], node.inputs[1]
    heads = max(node.number("num_heads", 1), 1)
    if data is None or weights is None or len(data.dims) != 3 or len(weights.dims) != 2 or compute_type(node) not in CUBE_TYPES:
        return aicpu(node, "PromptFlashAttention")
    batch, length, width = (max(d, 1) for d in data.dims)
    projection = max(weights.dims[1], 1)
    columns = projection + -(-2 * length * (projection // 3) // width)
    epilogue = batch * heads * length * length * tail_weight("Exp")
    dims = (1, batch * length, columns, width)
    name = "PromptFlashAttention"
    return Lowered(name, Work("matmul", name, compute_type(node), dims, read_bytes(node), write_bytes(node), epilogue))


def attention(node: Node) -> Lowered:
    """MultiHeadAttention and GroupQueryAttention: [B, S, heads * D], or Q, K and V packed in the first input.

    Keys of an earlier cache (past) count as keys.
    """
    query, key = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else None
    if query is None or len(query.dims) not in (3, 5) or compute_type(node) not in CUBE_TYPES:
        return aicpu(node, "PromptFlashAttention")
    heads, out = max(node.number("num_heads", 1), 1), node.outputs[0]
    batch, length = (max(d, 1) for d in query.dims[:2])
    keys = length if key is None else max(key.dims[1 if len(key.dims) == 3 else -2], 1)
    at = 6 if node.op_type == "MultiHeadAttention" else 3
    past = node.inputs[at] if len(node.inputs) > at else None
    keys += max(past.dims[2], 0) if past is not None and len(past.dims) == 4 else 0
    dims = (batch, heads, length, keys, max(_width(out) // heads, 1))
    name = "PromptFlashAttention" if length > 1 else "IncreFlashAttention"
    return Lowered(name, Work("attention", name, compute_type(node), dims, read_bytes(node), write_bytes(node)))


def triangle(node: Node) -> Lowered:
    return layout(node, "Trilu")


def same_memory(_node: Node) -> None:
    """Another shape of the same memory needs no kernel."""


OPS: dict[str, Lower] = {
    **dict.fromkeys(VECTOR, element),
    **dict.fromkeys(NORMS, norm),
    "EmbedLayerNormalization": embedding,
    "QEmbedLayerNormalization": embedding,
    "Attention": projected,
    "QAttention": projected,
    "MultiHeadAttention": attention,
    "GroupQueryAttention": attention,
    "Trilu": triangle,
    "ExpandDims": same_memory,
}
