"""What a measured row is: the kernels it ran, as Work, and the family it is judged in.

A row is one kernel, or a chain of kernels that a torch operator started ("TransDatax2 + Conv2Dx1"); of a chain each kernel is
given what operands.py makes of the tensors of the whole operator, as no file says which of them go where.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

from operands import BY_PLACE, Tensor, blocked, channels_last, handled, in_vectors, results, taken, turned, walked
from vector_work import one_vector, place, shapes_of

from npu.cost import Work
from npu.cost.chip import itemsize
from npu.cost.errors import operators

DTYPES = {
    "FLOAT": "float32",
    "FLOAT16": "float16",
    "DT_BF16": "bfloat16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
    "DOUBLE": "float64",
    "UINT64": "uint64",
    "UINT32": "uint32",
    "UINT16": "uint16",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float32",
}
CHIPS = {"Ascend910_24core": "Ascend910_9382", "Ascend910_93(A3)": "Ascend910_9382"}

MATMULS = ("MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2")
SIZES = set(DTYPES.values())  # element types the cost model knows
COMMUNICATION = ("HCCL",)  # and AI CPU kernels of collectives: no operator's work


class Case(NamedTuple):
    """A row as work: the kernels it ran one after the other, and what else its duration holds."""

    family: str
    works: tuple[Work, ...]
    overhead: str = ""  # its name in overheads.csv


def _inputs(row: Mapping[str, str]) -> list[Tensor]:
    """The inputs of a row. Fewer types than shapes: the last one stands for the rest. Absent inputs have no type."""
    names = [n.strip(" []'") for n in row["input_dtypes"].replace(",", ";").split(";")]
    shapes = shapes_of(row["input_shapes"])
    names += names[-1:] * (len(shapes) - len(names))
    return [Tensor(dims, DTYPES[name]) for dims, name in zip(shapes, names, strict=False) if name in DTYPES]


def _looped(row: Mapping[str, str]) -> bool:
    return "event timing" in row["method"]


def _matmul(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """Operands may be transposed: the output says what M and N are, K is what the first operand holds besides."""
    if len(tensors) < 2:
        return None
    out = shapes_of(row["output_shapes"])[0] if row["output_shapes"] else _product(*tensors[:2])
    if len(out) < 2:
        return None
    a, b = tensors[:2]
    batch, (m, n) = prod(out[:-2]), out[-2:]
    k = a.elements // (batch * m)
    if batch * m * k != a.elements or b.elements not in (k * n, batch * k * n) or a.dtype == "int32":
        return None
    written = batch * m * n * (2 if a.dtype == "int8" else itemsize(a.dtype))
    work = Work("matmul", "MatMulV2", a.dtype, (batch, m, n, k), a.bytes + b.bytes, written)
    looped = _looped(row)
    if a.dtype == "int8" and "DynamicQuant" in row["kernels"]:  # of the bf16 input, before the product
        quantise = Work("row", "DynamicQuant", "bfloat16", (batch * m * k, batch * m), 2 * a.bytes, a.bytes)
        return Case("matmul_int8", (quantise, work), "matmul_int8" if looped else "")
    family = {"float32": "matmul_fp32", "int8": "matmul_int8"}.get(a.dtype, "matmul")
    return Case(family, (work,), "matmul" if looped else "")


def _product(a: Tensor, b: Tensor) -> tuple[int, ...]:
    """Shape of a @ b of int8, whose rows often name no output: the right operand is (k, n) or (n, k); () where neither fits."""
    if a.dtype != "int8" or len(a.dims) < 2 or len(b.dims) < 2 or a.dims[-1] not in b.dims[-2:]:
        return ()
    return (*a.dims[:-1], b.dims[-1] if b.dims[-2] == a.dims[-1] else b.dims[-2])


def _attention(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    attrs = json.loads(row["attrs"] or "{}")
    if "Num Heads" not in attrs:
        return _bare_attention(row["op_type"], attrs, tensors)
    batch, length, heads, d = (int(attrs[n]) for n in ("Batch", "Seq Len", "Num Heads", "Head Size"))
    kv = int(attrs["Num KV Heads"]) or heads
    decode = attrs["Op Type"] == "attention_generation"
    sq, skv = (1 if decode else length), length
    queries = batch * heads * sq * d * 2
    # Work counts every key once; the mean number of keys a query meets stands in dims only
    read = queries + 2 * batch * kv * length * d * 2
    work = Work("attention", row["op_type"], "bfloat16", (batch, heads, sq, skv, d), read, queries)
    family = "attention_decode" if decode else "attention_prefill"
    return Case(family, (work,), family)


def _bare_attention(op: str, attrs: Mapping[str, object], tensors: list[Tensor]) -> Case | None:
    """One kernel on tensors (batch, length, heads, head size), keys and values alike."""
    if len(tensors) < 3 or any(len(t.dims) != 4 for t in tensors[:3]) or tensors[1] != tensors[2] or "is_causal" not in attrs:
        return None
    (batch, sq, heads, d), keys = tensors[0].dims, tensors[1].dims
    if (keys[0], keys[3]) != (batch, d):
        return None
    skv = keys[1]
    read = sum(t.bytes for t in tensors[:3])
    work = Work("attention", op, tensors[0].dtype, (batch, heads, sq, skv, d), read, tensors[0].bytes)
    return Case("attention_kernel", (work,))


def _grouped(_row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """One GroupedMatmul: rows (m, k), weights (experts, k, n) or (experts, n, k)."""
    (m, k), (experts, *sides) = tensors[0].dims, tensors[1].dims
    n = sides[1] if sides[0] == k else sides[0]
    read, written = tensors[0].bytes + tensors[1].bytes, m * n * itemsize(tensors[0].dtype)
    work = Work("grouped_matmul", "GroupedMatmul", tensors[0].dtype, (experts, m, n, k), read, written)
    return Case("grouped_matmul", (work,))


def _moe(row: Mapping[str, str], _tensors: list[Tensor]) -> Case | None:
    """An MoE layer: gate and up product, SwiGlu, down product; the quantised form adds its quantisations."""
    attrs = json.loads(row["attrs"] or "{}")
    tokens, hidden, inner, experts, topk, parts = (
        int(attrs[n]) for n in ("Num Tokens", "Hidden Size", "Intermediate Size", "Local Experts", "TopK", "EP Size")
    )
    quantised = attrs["Quant Type"] != "bf16"
    dtype, size = ("int8", 1) if quantised else ("bfloat16", 2)
    rows = max(1, round(tokens * topk / parts))
    works = []
    for n, k in ((2 * inner, hidden), (hidden, inner)):
        read = (experts * n * k + rows * k) * size
        works.append(Work("grouped_matmul", "GroupedMatmul", dtype, (experts, rows, n, k), read, rows * n * 2))
    works.insert(1, Work("vector", "SwiGlu", "bfloat16", (rows * 2 * inner, rows), rows * 4 * inner, rows * 2 * inner))
    return Case("moe", tuple(works), "moe_quantised" if quantised else "moe")


def _conv(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """A torch Conv2D, NCHW outside: TransData in, Conv2D, TransData out; channels padded to 32 bytes between them."""
    attrs = json.loads(row["attrs"] or "{}")
    if not tensors or len(tensors[0].dims) != 4:
        return None
    (n, ci, h, w), dtype = tensors[0].dims, tensors[0].dtype
    if "strides" in attrs:
        co, _, *window = tensors[1].dims
        strides, pads, dilations = attrs["strides"], attrs["pads"][1:3], attrs["dilations"]
    else:
        init = attrs.get("init", [])
        if len(init) < 3:
            return None
        co, window = int(init[1]), _two(init[2])
        strides, pads, dilations = (
            _two(init[at]) if len(init) > at else [default] * 2 for at, default in ((3, 1), (4, 0), (5, 1))
        )
    ho, wo = (
        (edge + 2 * p - g * (k - 1) - 1) // s + 1
        for edge, k, s, p, g in zip((h, w), window, strides, pads, dilations, strict=True)
    )
    size = itemsize(dtype)
    inner, outer = (-(-channels * size // 32) * 32 // size for channels in (ci, co))
    source, source5 = n * ci * h * w * size, n * inner * h * w * size
    target5, target = n * outer * ho * wo * size, n * co * ho * wo * size
    weights = outer * inner * prod(window) * size
    works = [
        Work("layout", "TransData", dtype, (n * inner * h * w, n * inner), source, source5),
        Work("conv", "Conv2D", dtype, (n, ho, wo, co, ci, *window, 1), source5 + weights, target5),
        Work("layout", "TransData", dtype, (n * outer * ho * wo, n * outer), target5, target),
    ]
    if "TransDatax3" in row["kernels"]:  # the weights are converted too
        works.append(Work("layout", "TransData", dtype, (weights // size, outer * inner), tensors[1].bytes, weights))
    return Case("conv", tuple(works))


def _two(value: object) -> list[int]:
    """3 -> [3, 3]; [3, 5] stays."""
    return value if isinstance(value, list) else [int(str(value))] * 2


def _chain(row: Mapping[str, str]) -> list[str]:
    """ "TransDatax2 + Conv2Dx1" -> [TransData, TransData, Conv2D]; a row without kernels is the one its operator names."""
    text = row["kernels"]
    if not text or text == "torch op":
        return [_camel(row["op_type"])]
    found: list[str] = []
    for part in text.split(" + "):
        match = re.fullmatch(r"(.+?)x(\d+)", part)
        found += [match[1]] * int(match[2]) if match else [part]
    return found


def _camel(op: str) -> str:
    """CANNBench_top_k -> TopK; other names stay."""
    bare = op.removeprefix("CANNBench_").removeprefix("ai_infra_")
    return "".join(p[:1].upper() + p[1:] for p in bare.split("_")) if op.startswith("CANNBench_") else bare


def _vector(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """A kernel of the vector forms, or a chain of them; what one name covers is judged in the family of that name."""
    chain = _chain(row)
    if len(chain) == 1:
        op = row["op_type"] if row["op_type"] in operators() else chain[0]
        family = place(op)[1]
        if family == "other":
            family = "published" if "baseline" in row["method"] else "other"
        return Case(family, (one_vector(row, op, tensors),))
    return Case("chain", tuple(_links(row, chain, tensors)))


def _links(row: Mapping[str, str], chain: list[str], tensors: list[Tensor]) -> Iterator[Work]:
    """The kernels of a chain: those that convert or move handle one operand or result each, the others the operands."""
    seen: Counter[str] = Counter()
    attrs = json.loads(row["attrs"] or "{}")
    made = results(str(attrs.get("op", "")), tensors, attrs)
    inside = list(map(blocked, tensors)) if "TransData" in chain else tensors
    results_of = list(map(blocked, made)) if "TransData" in chain else made
    pool = [*inside, *results_of]
    for op in chain:
        one = handled(op, seen[op], pool)
        if one is not None:
            told = json.dumps({"perm": turned(str(attrs.get("op", "")), len(one.dims))}) if op == "Transpose" else ""
            yield one_vector({**row, "output_shapes": "", "attrs": told}, op, [one])
        else:
            mine = [channels_last(inside[0])] if op in BY_PLACE else list(taken(op, inside))
            work = one_vector(row, op, mine)
            values = in_vectors(mine[0]) if op in BY_PLACE else walked(op, results_of, attrs)
            yield replace(work, dims=(values, *work.dims[1:])) if values else work
        seen[op] += 1


def case(row: Mapping[str, str]) -> Case | None:
    """What a row measured, or None where it is not a kernel of a core, or gives no operands to compute its work from."""
    op, tensors = row["op_type"], _inputs(row)
    if row["task_type"] in COMMUNICATION or not row["duration_us"]:
        return None
    if op == "MemSet":
        return Case("fill", (Work("fill", op, "int8", (0, 1), 0, 0),))
    if not tensors or not any(t.elements for t in tensors):
        return None
    if row["task_type"] == "AI_CPU":
        elements = max(t.elements for t in tensors)
        return Case("ai_cpu", (Work("aicpu", op, tensors[0].dtype, (elements, 1), sum(t.bytes for t in tensors), 0),))
    special = SPECIAL.get(op)
    made = special(row, tensors) if special is not None else None
    return made if made is not None else _vector(row, tensors)


def _weight_quantised(_row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """fp16 or bf16 rows (m, k) times int8 weights (k, n)."""
    (m, k), (_, n) = tensors[0].dims, tensors[1].dims
    size = itemsize(tensors[0].dtype)
    work = Work("matmul", "WeightQuantBatchMatmulV2", tensors[0].dtype, (1, m, n, k), tensors[0].bytes + n * k, m * n * size)
    return Case("matmul_weights_int8", (work,))


SPECIAL = {
    "CANNBench_weight_quant_batch_matmul": _weight_quantised,
    "Conv2D": _conv,
    "CANNBench_conv_2d": _conv,
    "GroupedMatmul": _grouped,
    "GroupedMatmul_MoE": _moe,
    **dict.fromkeys((*MATMULS, "QuantBatchMatmulV3"), _matmul),
    **dict.fromkeys(("FusedInferAttentionScore", "FusedInferAttentionScore_Decode", "FlashAttention"), _attention),
}
