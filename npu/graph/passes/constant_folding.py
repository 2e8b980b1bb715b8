"""ConstantFoldingPass: nodes whose inputs are all constant are computed now, and so is the Shape of a known shape.

A result is kept when it is small or not larger than what it is made from: folding must not unpack stored int8 weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npu.graph import walk, weights
from npu.graph.shapes import infer
from npu.graph.types import Operands, node_of
from npu.ops.compute import evaluate
from npu.ops.compute_limits import ComputeError
from npu.ops.node import Operand

NAME = "ConstantFoldingPass"
SMALL = 1024  # elements a result may have whatever it is made from
WEIGHTS = 16 << 20  # elements of a ConstantOfShape: exported test models write their weights so
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}
# Never folded: integer weights stay packed, sequences are no tensors.
KEPT = {
    "DequantizeLinear",
    "QuantizeLinear",
    "DynamicQuantizeLinear",
    "CastLike",
    "SequenceConstruct",
    "SequenceAt",
    "SequenceEmpty",
    "SequenceInsert",
    "SequenceErase",
    "SplitToSequence",
    "ConcatFromSequence",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
}
ROUNDS = 16  # each makes shapes known that the next may fold


def run(proto: Any, large: weights.Weights) -> int:
    """Fold until nothing changes; gives how many nodes went. Types are inferred again after each round. large: the data of the
    weights that the model is without, and of those that folding makes."""
    folded = 0
    for _ in range(ROUNDS):
        gone = _round(proto, large)
        folded += gone
        if not gone:
            break
        infer(proto)
    return folded


def _round(proto: Any, large: weights.Weights) -> int:
    graph = proto.graph
    types = Operands(graph)
    known = {t.name for t in graph.initializer}
    chosen: list[Any] = []
    shapes: dict[str, list[int]] = {}
    for node in graph.node:
        if node.op_type in ("Shape", "Size") and not node.domain and _static(types.get(node.input[0])):
            shapes[node.output[0]] = _shape(node, types[node.input[0]])
            known.add(node.output[0])
        elif _foldable(node, known, types):
            chosen.append(node)
            known |= set(node.output)
    if not chosen and not shapes:
        return 0
    made = _compute(proto, chosen, shapes, large)
    if made is None:
        chosen, made = [], _compute(proto, [], shapes, large) or []
    gone = {o for n in chosen for o in n.output} | set(shapes)
    places = [at for at, node in enumerate(graph.node) if not gone.isdisjoint(node.output)]
    for at in reversed(places):
        del graph.node[at]
    graph.initializer.extend(made)
    large |= weights.set_aside(graph)
    return len(places)


def _static(value: Operand | None) -> bool:
    return value is not None and value.dtype != "" and value.ranked and -1 not in value.dims


def _shape(node: Any, value: Operand) -> list[int]:
    if node.op_type == "Size":
        return [value.elements]
    bounds = {a.name: int(a.i) for a in node.attribute}
    return list(value.dims)[bounds.get("start", 0) : bounds.get("end", len(value.dims))]


def _foldable(node: Any, known: set[str], types: Mapping[str, Operand]) -> bool:
    if node.domain or node.op_type in RANDOM | KEPT or any(a.HasField("g") or a.graphs for a in node.attribute):
        return False
    if any(i and i not in known for i in node.input) or not any(o for o in node.output):
        return False
    results = [types.get(o) for o in node.output if o]
    if not all(_static(r) and r is not None and r.dtype != "string" for r in results):
        return False
    written = sum(r.elements for r in results if r is not None)
    if written <= SMALL:
        return True
    if node.op_type == "ConstantOfShape":
        return written <= WEIGHTS
    made = node_of(node, types)
    return sum(o.bytes for o in made.outputs) <= sum(i.bytes for i in made.given)


def _compute(proto: Any, nodes: list[Any], shapes: dict[str, list[int]], large: weights.Weights) -> list[Any] | None:
    """The values of the chosen nodes that something still reads, as initializers; None when the arithmetic refuses."""
    import numpy as np
    from onnx import numpy_helper

    sizes = {o for n in proto.graph.node if n.op_type == "Size" for o in n.output}
    ready = [numpy_helper.from_array(np.array(d[0] if n in sizes else d, np.int64), n) for n, d in shapes.items()]
    if not nodes:
        return ready
    inside = {id(n) for n in nodes}
    wanted = {i for n in walk.nodes(proto.graph) if id(n) not in inside for i in n.input} | {o.name for o in proto.graph.output}
    outputs = [o for n in nodes for o in n.output if o and o in wanted]
    if not outputs:
        return ready
    small = type(proto)(ir_version=proto.ir_version)
    small.opset_import.extend(proto.opset_import)
    small.graph.name = "constants"
    small.graph.node.extend(nodes)
    read = {i for n in nodes for i in n.input}
    small.graph.initializer.extend(t for t in proto.graph.initializer if t.name in read and t.name not in large)
    small.graph.initializer.extend(numpy_helper.from_array(large[n], n) for n in sorted(read & large.keys()))
    small.graph.initializer.extend(t for t in ready if t.name in read)
    types = {v.name: v for v in (*proto.graph.value_info, *proto.graph.output)}
    small.graph.output.extend(types[o] for o in outputs)
    try:
        arrays = evaluate(small, {})
    except ComputeError:
        return None
    return ready + [numpy_helper.from_array(a, n) for n, a in zip(outputs, arrays, strict=True)]
