"""How the results of every supported operator look: the type of each output from the inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable

from npu.graph.microsoft import transformer
from npu.graph.microsoft.node import Dims, Node, meet, product, turned, windows

Infer = Callable[[Node], None]
FLOAT, UINT8 = 1, 2  # TensorProto.DataType


def like(at: int = 0, element: int = -1) -> Infer:
    """The shape of one input; the element type of the same or of another one."""
    return lambda n: n.give(n.type(at if element < 0 else element), n.dims(at))


def broadcast(left: int, right: int, element: int) -> Infer:
    return lambda n: n.give(n.type(element), meet(n.dims(left), n.dims(right)))


def products(right: int = 1, element: int = 0) -> Infer:
    return lambda n: n.give(n.type(element), _product(n, right))


def _product(n: Node, right: int) -> Dims | None:
    left, other = turned(n.dims(0), bool(n.number("transA", 0))), turned(n.dims(right), bool(n.number("transB", 0)))
    return product(left, other)


def q_gemm(n: Node) -> None:
    """Quantised where a scale of the result is given, else float."""
    quantised = n.type(8) or (n.type(0) if n.has(7) else FLOAT)
    n.give(quantised, _product(n, 3))


def n_bits(n: Node) -> None:
    dims = n.dims(0)
    n.give(n.type(0), None if dims is None else (*dims[:-1], n.number("N", 0)))


def conv(n: Node) -> None:
    data, weight = n.dims(0), n.dims(1)
    if data is None or weight is None:
        n.give(n.type(0), None)
        return
    kernel = n.numbers("kernel_shape") or tuple(d if isinstance(d, int) else 0 for d in weight[2:])
    n.give(n.type(0), (data[0], weight[0], *windows(n, data[2:], kernel)))


def pool(last: bool) -> Infer:
    """last: channels always come last; else the attribute channels_last says so."""

    def infer(n: Node) -> None:
        dims, kernel = n.dims(0), n.numbers("kernel_shape")
        if dims is None or kernel is None:
            n.give(n.type(0), None)
        elif last or n.number("channels_last", 0):
            n.give(n.type(0), (dims[0], *windows(n, dims[1:-1], kernel), dims[-1]))
        else:
            n.give(n.type(0), (*dims[:2], *windows(n, dims[2:], kernel)))

    return infer


def global_pool(n: Node) -> None:
    dims = n.dims(0)
    if dims is None:
        n.give(n.type(0), None)
    elif n.number("channels_last", 0):
        n.give(n.type(0), (dims[0], *[1] * (len(dims) - 2), dims[-1]))
    else:
        n.give(n.type(0), (*dims[:2], *[1] * (len(dims) - 2)))


def concat(n: Node) -> None:
    """Scale and zero point of the result, then data, scale, zero point of each part."""
    parts = [n.dims(at) for at in range(2, n.context.get_num_inputs(), 3)]
    if any(p is None for p in parts) or not parts or parts[0] is None:
        n.give(n.type(1), None)
        return
    axis = n.number("axis", 0) % len(parts[0])
    sizes = [p[axis] for p in parts if p is not None]
    whole = sum(s for s in sizes if isinstance(s, int)) if all(isinstance(s, int) for s in sizes) else None
    n.give(n.type(1), [whole if a == axis else d for a, d in enumerate(parts[0])])


def where(n: Node) -> None:
    n.give(n.type(1), meet(n.dims(0), meet(n.dims(1), n.dims(4))))


def quantize(n: Node) -> None:
    n.give(n.type(2) or UINT8, n.dims(0))


def lstm(n: Node) -> None:
    data, again = n.dims(0), n.dims(2)
    known = data is not None and again is not None and len(data) == 3 and len(again) == 3
    if data is None or again is None or not known:
        for at in range(3):
            n.give(n.type(0), None, at)
        return
    n.give(n.type(0), (data[0], again[0], data[1], again[1]))
    for at in (1, 2):
        n.give(n.type(0), (again[0], data[1], again[1]), at)


def expand(n: Node) -> None:
    """Where the new axis goes is a value, so only the number of dims is known."""
    dims = n.dims(0)
    n.give(n.type(0), None if dims is None else (None,) * (len(dims) + 1))


RESULTS: dict[str, Infer] = {
    **dict.fromkeys(("Gelu", "FastGelu", "QuickGelu", "RotaryEmbedding", "Trilu"), like()),
    "BiasGelu": broadcast(0, 1, 0),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"), like()),
    "DequantizeLinear": like(0, element=1),
    "QuantizeLinear": quantize,
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), broadcast(0, 3, 0)),
    "QLinearWhere": where,
    "QLinearConcat": concat,
    "QLinearGlobalAveragePool": global_pool,
    "QLinearAveragePool": pool(last=False),
    "NhwcMaxPool": pool(last=True),
    "DynamicQuantizeLSTM": lstm,
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul", "FusedGemm", "DynamicQuantizeMatMul"), products()),
    "MatMulIntegerToFloat": products(element=2),
    "QGemm": q_gemm,
    "MatMulNBits": n_bits,
    "FusedConv": conv,
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), transformer.skip_norm),
    **dict.fromkeys(("EmbedLayerNormalization", "QEmbedLayerNormalization"), transformer.embedding),
    **dict.fromkeys(("Attention", "QAttention"), transformer.projected),
    "MultiHeadAttention": transformer.heads_attention,
    "GroupQueryAttention": transformer.group_query,
    "ExpandDims": expand,
}
