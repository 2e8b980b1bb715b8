"""How the results of transformer operators look: norms with residual, embeddings, attention with its caches."""

from __future__ import annotations

from npu.graph.microsoft.node import Node, added

FLOAT, UINT8, INT8, INT32 = 1, 2, 3, 6  # TensorProto.DataType


def skip_norm(n: Node) -> None:
    """The normalised sum; mean and inverse deviation of each row; the sum itself."""
    dims = n.dims(0)
    n.give(n.type(0), dims)
    for at in (1, 2):
        n.give(FLOAT, None if dims is None else (*dims[:-1], 1), at)
    n.give(n.type(0), dims, 3)


def embedding(n: Node) -> None:
    ids, table = n.dims(0), n.dims(2)
    dims = None if ids is None or table is None else (*ids, table[-1])
    element = n.type(5) if n.type(5) not in (INT8, UINT8) else FLOAT
    n.give(element, dims)
    n.give(INT32, None if ids is None else ids[:1], 1)
    n.give(element, dims, 2)


def projected(n: Node) -> None:
    """Attention and QAttention: a third of the projected width, unless attributes split it otherwise."""
    data, weights, split = n.dims(0), n.dims(1), n.numbers("qkv_hidden_sizes")
    if len(data or (0, 0, 0)) != 3 or len(weights or (0, 0)) != 2:
        return
    element, past = (n.type(3), 8) if n.type(0) in (INT8, UINT8) else (n.type(0), 4)
    width = split[2] if split else weights[1] // 3 if weights is not None and isinstance(weights[1], int) else None
    n.give(element, None if data is None else (*data[:2], width))
    heads = n.number("num_heads", 1)
    before, length = n.dims(past), data[1] if data is not None else None
    keys = added(length, before[3]) if before is not None and len(before) == 5 else length
    size = width // heads if isinstance(width, int) else None
    n.give(element, None if data is None else (2, data[0], heads, keys, size), 1)


def heads_attention(n: Node) -> None:
    """[B, S, heads * D] or packed [B, S, heads, 3, D]; what the keys and values are then as further outputs."""
    query, key, value, heads = n.dims(0), n.dims(1), n.dims(2), n.number("num_heads", 1)
    if query is None:
        n.give(n.type(0), None)
        return
    if len(query) == 5:
        width = query[2] * query[4] if isinstance(query[2], int) and isinstance(query[4], int) else None
    elif value is not None and len(value) == 4:
        width = value[1] * value[3] if isinstance(value[1], int) and isinstance(value[3], int) else None
    elif key is not None and len(key) == 5:
        width = query[2] if isinstance(query[2], int) else None
    else:
        given = value if value is not None else query
        width = given[2] if isinstance(given[2], int) else None
    n.give(n.type(0), (query[0], query[1], width))
    before = n.dims(6)
    length = (key[2] if len(key) == 4 else key[1]) if key is not None else query[1]
    keys = added(length, before[2]) if before is not None and len(before) == 4 else length
    for at in (1, 2):
        n.give(n.type(0), (query[0], heads, keys, width // heads if width is not None else None), at)


def group_query(n: Node) -> None:
    """Keys and values of the cache stay as large as the cache, or as large as the script makes them: open then."""
    query, key, before = n.dims(0), n.dims(1), n.dims(3)
    heads, kept = n.number("num_heads", 1), n.number("kv_num_heads", 1)
    width = query[2] if query is not None and len(query) == 3 else None
    if query is not None and key is None and isinstance(width, int):
        width = width // (heads + 2 * kept) * heads
    n.give(n.type(0), None if query is None else (*query[:2], width))
    size = before[3] if before is not None and len(before) == 4 else width // heads if isinstance(width, int) else None
    for at in (1, 2):
        n.give(n.type(3) or n.type(0), None if query is None else (query[0], kept, None, size), at)
