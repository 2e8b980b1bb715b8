"""How far the cost model is off, per family of kernels: python bench/calibration.py FILE.csv [--json]

FILE holds measured kernels with the columns source, soc, op_type, input_shapes, input_dtypes, output_shapes, task_type,
duration_us, kernels, attrs, method. Each row that describes one known kernel (or a known short chain) is turned into Work
and costed. Rows timed by an event loop carry its overhead, which is added by the figures of OVERHEAD_US; rows that cannot
be mapped are counted. The error of a row is |modelled - measured| / measured.

FILE may hold collectives instead: columns soc, op, ranks, nodes, message_bytes, latency_us, transport. On an A3 fabric they are
costed by npu.cost.fabric, transfers between two devices of A2 by the link of npu.hccl.topology.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import NamedTuple

from npu import soc
from npu.cost import Work, fabric_ns, kernel
from npu.cost.chip import itemsize
from npu.cost.fabric import WIRE
from npu.hccl import topology
from npu.soc import Soc

DTYPES = {
    "FLOAT": "float32", "FLOAT16": "float16", "DT_BF16": "bfloat16", "INT8": "int8", "UINT8": "uint8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "BOOL": "bool", "DOUBLE": "float64",
}
CHIPS = {"Ascend910_24core": "Ascend910_9382", "Ascend910_93(A3)": "Ascend910_9382"}

# What an event loop's row holds besides its kernels, us (launch floor 5 us; attention wrapper 45 us with several kernels).
OVERHEAD_US = {"matmul": 5.75 - 1.7, "attention_prefill": 44 - 15.0, "attention_decode": 46 - 15.0, "moe": 34 - (2 * 7.0 + 9.2)}
MOE_QUANT_US = 30.0

MATMULS = ("MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2")
SIMPLE = ("Add", "Sub", "Mul", "Muls", "RealDiv", "Cast", "Square", "Maximum", "Less", "GreaterEqual", "Relu", "LeakyRelu")
TRANSCENDENTAL = (
    "Gelu", "Sigmoid", "Mish", "SwiGlu", "AutomaticBufferFusionOp", "Swish", "Tanh", "Softplus", "Elu", "Selu", "HardSigmoid",
)
ROWS = (
    "RmsNorm", "AddRmsNormBias", "AddRmsNormDynamicQuant", "DynamicQuant", "SoftmaxV2", "GroupNormSilu", "LogSoftmaxV2",
    "InplaceAddRmsNorm", "ReduceSumD", "MoeGatingTopKSoftmax", "DequantSwigluQuant",
)
FILLS = ("ZerosLike", "OnesLike")
SLICES = ("StridedSliceD", "ConcatD", "PadV3", "BroadcastTo")
OPTIMIZERS = ("ApplyAdamW", "ForeachAddcdivScalar")
VECTOR_FAMILIES = (  # operators -> (form, family)
    (SIMPLE, ("vector", "elementwise")),
    (TRANSCENDENTAL, ("vector", "transcendental")),
    (ROWS, ("row", "row")),
    (("Transpose",), ("layout", "layout")),
    (FILLS, ("fill", "fill")),
    (SLICES, ("layout", "fill")),
    (OPTIMIZERS, ("vector", "optimizer")),
)


class Case(NamedTuple):
    """A row as work: the kernels it ran one after the other, and what else its duration holds."""

    family: str
    works: tuple[Work, ...]
    overhead_us: float = 0.0


class Tensor(NamedTuple):
    dims: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.dims)

    @property
    def bytes(self) -> int:
        return self.elements * itemsize(self.dtype)


def _shapes(text: str) -> list[tuple[int, ...]]:
    """'8,25;;4' -> [(8, 25), (), (4,)]: an empty shape is a scalar."""
    return [tuple(int(d) for d in part.split(",") if d) for part in text.split(";")]


def _inputs(row: Mapping[str, str]) -> list[Tensor] | None:
    """The inputs of a row; None where their types are not all given."""
    names, shapes = row["input_dtypes"].split(";"), _shapes(row["input_shapes"])
    if len(names) < len(shapes) or any(n not in DTYPES for n in names):
        return None
    return [Tensor(dims, DTYPES[name]) for dims, name in zip(shapes, names, strict=False)]


def _looped(row: Mapping[str, str]) -> bool:
    return "event timing" in row["method"]


def _matmul(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """Operands may be transposed: the output says what M and N are, K is what the first operand holds besides."""
    out = _shapes(row["output_shapes"])[0]
    if len(tensors) < 2 or len(out) < 2:
        return None
    a, b = tensors[:2]
    batch, (m, n) = prod(out[:-2]), out[-2:]
    k = a.elements // (batch * m)
    if batch * m * k != a.elements or b.elements not in (k * n, batch * k * n) or a.dtype == "int32":
        return None
    written = batch * m * n * (2 if a.dtype == "int8" else itemsize(a.dtype))
    work = Work("matmul", "MatMulV2", a.dtype, (batch, m, n, k), a.bytes + b.bytes, written)
    overhead = OVERHEAD_US["matmul"] if _looped(row) else 0.0
    if a.dtype == "int8" and "DynamicQuant" in row["kernels"]:  # of the bf16 input, before the product
        quantise = Work("row", "DynamicQuant", "bfloat16", (batch * m * k, batch * m), 2 * a.bytes, a.bytes)
        return Case("matmul_int8", (quantise, work), overhead)
    family = {"float32": "matmul_fp32", "int8": "matmul_int8"}.get(a.dtype, "matmul")
    return Case(family, (work,), overhead)


def _attention(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    attrs = json.loads(row["attrs"] or "{}")
    if "Num Heads" not in attrs:
        return _bare_attention(row["op_type"], attrs, tensors)
    batch, length, heads, d = (int(attrs[n]) for n in ("Batch", "Seq Len", "Num Heads", "Head Size"))
    kv = int(attrs["Num KV Heads"]) or heads
    decode = attrs["Op Type"] == "attention_generation"
    sq, skv = (1, length) if decode else (length, max(1, length // 2))  # prefill is causal
    queries = batch * heads * sq * d * 2
    # Work counts every key once; the mean number of keys a query meets stands in dims only
    read = queries + 2 * batch * kv * length * d * 2
    work = Work("attention", row["op_type"], "bfloat16", (batch, heads, sq, skv, d), read, queries)
    family = "attention_decode" if decode else "attention_prefill"
    return Case(family, (work,), OVERHEAD_US[family])


def _bare_attention(op: str, attrs: Mapping[str, object], tensors: list[Tensor]) -> Case | None:
    """One kernel on tensors (batch, length, heads, head size), keys and values alike."""
    if len(tensors) < 3 or any(len(t.dims) != 4 for t in tensors[:3]) or tensors[1] != tensors[2] or "is_causal" not in attrs:
        return None
    (batch, sq, heads, d), keys = tensors[0].dims, tensors[1].dims
    if (keys[0], keys[3]) != (batch, d):
        return None
    skv = max(1, keys[1] // 2) if attrs["is_causal"] and sq == keys[1] else keys[1]
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
        int(attrs[n]) for n in ("Num Tokens", "Hidden Size", "Intermediate Size", "Local Experts", "TopK", "EP Size"))
    quantised = attrs["Quant Type"] != "bf16"
    dtype, size = ("int8", 1) if quantised else ("bfloat16", 2)
    rows = max(1, round(tokens * topk / parts))
    works = []
    for n, k in ((2 * inner, hidden), (hidden, inner)):
        read = (experts * n * k + rows * k) * size
        works.append(Work("grouped_matmul", "GroupedMatmul", dtype, (experts, rows, n, k), read, rows * n * 2))
    works.insert(1, Work("vector", "SwiGlu", "bfloat16", (rows * 2 * inner, rows), rows * 4 * inner, rows * 2 * inner))
    return Case("moe", tuple(works), OVERHEAD_US["moe"] + (MOE_QUANT_US if quantised else 0.0))


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
            _two(init[at]) if len(init) > at else [default] * 2 for at, default in ((3, 1), (4, 0), (5, 1)))
    ho, wo = ((edge + 2 * p - g * (k - 1) - 1) // s + 1
              for edge, k, s, p, g in zip((h, w), window, strides, pads, dilations, strict=True))
    size = itemsize(dtype)
    inner, outer = (-(-channels * size // 32) * 32 // size for channels in (ci, co))
    source, source5 = n * ci * h * w * size, n * inner * h * w * size
    target5, target = n * outer * ho * wo * size, n * co * ho * wo * size
    weights = outer * inner * prod(window) * size
    works = [
        Work("layout", "TransData", dtype, (n * inner * h * w, 1), source, source5),
        Work("conv", "Conv2D", dtype, (n, ho, wo, co, ci, *window, 1), source5 + weights, target5),
        Work("layout", "TransData", dtype, (n * outer * ho * wo, 1), target5, target),
    ]
    if "TransDatax3" in row["kernels"]:  # the weights are converted too
        works.append(Work("layout", "TransData", dtype, (weights // size, 1), tensors[1].bytes, weights))
    return Case("conv", tuple(works))


def _two(value: object) -> list[int]:
    """3 -> [3, 3]; [3, 5] stays."""
    return value if isinstance(value, list) else [int(str(value))] * 2


def _vector(row: Mapping[str, str], tensors: list[Tensor]) -> Case | None:
    """Any kernel of the vector forms: the largest of inputs and outputs is its number of elements."""
    op = row["op_type"]
    form, family = next((place for names, place in VECTOR_FAMILIES if op in names), ("", ""))
    if not form or not tensors:
        return None
    if op == "Transpose":
        tensors = tensors[:1]
    first = tensors[0]
    shapes = _shapes(row["output_shapes"]) if row["output_shapes"] else [first.dims]
    written = sum(prod(s) for s in shapes) * (1 if op.endswith("DynamicQuant") else itemsize(first.dtype))
    elements = max(max(t.elements for t in tensors), max(prod(s) for s in shapes))
    axis = json.loads(row["attrs"] or "{}").get("num_groups")
    if axis is not None:
        rows = first.dims[0] * int(axis)
    else:
        rows = elements // first.dims[-1] if first.dims and first.dims[-1] else 1
    return Case(family, (Work(form, op, first.dtype, (elements, rows), sum(t.bytes for t in tensors), written),))


def case(row: Mapping[str, str]) -> Case | None:
    """What a row measured, or None where it is not a kernel the model has a family for."""
    op, tensors = row["op_type"], _inputs(row)
    if row["task_type"] == "AI_CPU" or tensors is None:
        return None
    if op in ("Conv2D", "CANNBench_conv_2d"):
        return _conv(row, tensors)
    if op == "GroupedMatmul":
        return _grouped(row, tensors)
    if op in MATMULS or op == "QuantBatchMatmulV3":
        return _matmul(row, tensors)
    if op.startswith(("FusedInferAttentionScore", "FlashAttention")):
        return _attention(row, tensors)
    if op == "GroupedMatmul_MoE":
        return _moe(row, tensors)
    return _vector(row, tensors)


def modelled_us(made: Case, chip: Soc) -> float:
    return made.overhead_us + sum(kernel(work, chip).duration for work in made.works) / 1000


def errors(rows: Iterable[Mapping[str, str]]) -> tuple[dict[str, list[float]], Counter[str]]:
    """(family -> signed relative errors, operator -> rows that could not be mapped)."""
    found: dict[str, list[float]] = defaultdict(list)
    left: Counter[str] = Counter()
    for row in rows:
        made = case(row)
        if made is None:
            left[row["op_type"]] += 1
            continue
        measured = float(row["duration_us"])
        chip = soc.find(CHIPS.get(row["soc"], row["soc"]))
        found[made.family].append(modelled_us(made, chip) / measured - 1)
    return dict(found), left


def collective_us(row: Mapping[str, str]) -> float | None:
    """Modelled time of a measured collective or transfer; None where the row is neither, or gives no size."""
    op, soc_name = row["op"], row["soc"]
    if not row["message_bytes"] or not row["latency_us"]:
        return None
    size, ranks = int(row["message_bytes"]), int(row["ranks"])
    if op in WIRE and "A3" in soc_name:
        return fabric_ns(op, ranks, size) / 1000
    if op.endswith("_D2D") and "A2" in soc_name:
        far = row["transport"].startswith("RDMA")
        link = topology.of("910B", 2, 1 if far else 2).link(0, 1)
        return (link.latency + size / min(gbps for _, gbps in link.resources)) / 1000
    return None


def collective_errors(rows: Iterable[Mapping[str, str]]) -> tuple[dict[str, list[float]], Counter[str]]:
    """As errors(), for collectives: by operation."""
    found: dict[str, list[float]] = defaultdict(list)
    left: Counter[str] = Counter()
    for row in rows:
        modelled = collective_us(row)
        if modelled is None:
            left[row["op"]] += 1
        else:
            found[row["op"]].append(modelled / float(row["latency_us"]) - 1)
    return dict(found), left


def summary(found: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    """Per family: rows, median and mean of |error|, and the median of the signed error."""
    return {
        family: {
            "rows": len(values), "median": statistics.median(map(abs, values)), "mean": statistics.fmean(map(abs, values)),
            "bias": statistics.median(values),
        }
        for family, values in sorted(found.items())
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Error of the cost model against measured kernels.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="print figures for scripts")
    options = parser.parse_args()
    with options.file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        found, left = (collective_errors if "message_bytes" in (reader.fieldnames or ()) else errors)(reader)
    figures = summary(found)
    if options.json:
        print(json.dumps({"schema": 1, "families": figures, "unmapped": dict(left)}, indent=1))
        return 0
    print(f"{'family':<20}{'rows':>6}{'median':>9}{'mean':>9}{'bias':>9}")
    for family, f in figures.items():
        print(f"{family:<20}{f['rows']:>6.0f}{f['median']:>9.1%}{f['mean']:>9.1%}{f['bias']:>+9.1%}")
    print(f"{sum(left.values())} rows of {len(left)} operators not mapped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
