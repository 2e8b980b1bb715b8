"""Normalisations that onnxruntime takes in the default domain and the standard does not, written out in its operators:
LayerNormalization below operator set 17, SimplifiedLayerNormalization (x / sqrt(mean(x^2) + epsilon) * gamma) in any, and
GroupNormalization with a factor per group (18 to 20, deprecated since), which is an InstanceNormalization of the groups.

onnxruntime's optimiser writes the first two; LayerNormONNXFusionPass and RmsNormFusionPass make one kernel of them again. Half
precision is widened to float32 inside them, as stash_type says.
"""

from __future__ import annotations

from typing import Any

from npu.graph.walk import graphs
from npu.ops.registry import DOMAINS

LAYER, SIMPLIFIED = "LayerNormalization", "SimplifiedLayerNormalization"
GROUP, GROUPS_SINCE, GROUPS_UNTIL = "GroupNormalization", 18, 20
STANDARD = 17  # operator set from which LayerNormalization is ONNX's own
AXES_ARE_INPUTS = 18  # of ReduceMean
FLOAT, HALVES = 1, (10, 16)  # TensorProto.DataType: float16, bfloat16
EPSILON = 1e-5


def is_written_out(node: Any, opset: int) -> bool:
    """Whether a node of a model of that operator set is one of these."""
    if node.domain not in DOMAINS:
        return False
    if node.op_type == GROUP:
        return GROUPS_SINCE <= opset <= GROUPS_UNTIL
    return node.op_type == SIMPLIFIED or (node.op_type == LAYER and opset < STANDARD)


def write_out(proto: Any, opset: int) -> None:
    """Replace them everywhere in a model. One whose axes or type cannot be told stays, and is refused like any other operator
    without a parser."""
    for graph in graphs(proto.graph):
        if not any(is_written_out(n, opset) for n in graph.node):
            continue
        kinds = _types(proto.graph) | _types(graph)
        nodes: list[Any] = []
        for node in graph.node:
            made = _Writer(node, graph, opset).nodes(kinds) if is_written_out(node, opset) else None
            nodes += [node] if made is None else made
        copies = [type(n).FromString(n.SerializeToString()) for n in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def _types(graph: Any) -> dict[str, tuple[int, int]]:
    """(element type, rank) of what a graph states."""
    stated = {v.name: v.type.tensor_type for v in (*graph.value_info, *graph.output, *graph.input)}
    found = {n: (t.elem_type, len(t.shape.dim)) for n, t in stated.items() if t.elem_type and t.HasField("shape")}
    return found | {t.name: (t.data_type, len(t.dims)) for t in graph.initializer}


class _Writer:
    """Writes the operators of one node; their names stand under its own."""

    def __init__(self, node: Any, graph: Any, opset: int) -> None:
        self.node, self.graph, self.opset = node, graph, opset
        self.name = node.name or (node.output[0] if node.output else node.op_type)
        self.made: list[Any] = []

    def put(self, op_type: str, *inputs: str, out: str = "", **attributes: object) -> str:
        from onnx import helper

        name = f"{self.name}/{op_type}_{len(self.made)}"
        self.made.append(helper.make_node(op_type, list(inputs), [out or name], name=name, **attributes))
        return out or name

    def constant(self, what: str, values: object, dtype: str) -> str:
        import numpy as np
        from onnx import numpy_helper

        name = f"{self.name}/{what}"
        self.graph.initializer.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def mean(self, value: str, axes: list[int], out: str = "") -> str:
        if self.opset < AXES_ARE_INPUTS:
            return self.put("ReduceMean", value, out=out, axes=axes, keepdims=1)
        name = f"{self.name}/axes"
        if not any(t.name == name for t in self.graph.initializer):
            self.constant("axes", axes, "int64")
        return self.put("ReduceMean", value, name, out=out, keepdims=1)

    def nodes(self, kinds: dict[str, tuple[int, int]]) -> list[Any] | None:
        """The operators; None where the node is malformed or its scale unknown."""
        node = self.node
        attributes = {a.name: a for a in node.attribute}
        if node.op_type == GROUP:
            return self.groups(attributes)
        if len(node.input) < 2 or node.input[1] not in kinds or not node.output or not node.output[0]:
            return None
        kind, rank = kinds[node.input[1]]
        axis = attributes["axis"].i if "axis" in attributes else -1
        if kind not in (FLOAT, *HALVES) or rank < 1 or (axis < 0 and axis < -rank):
            return None
        axes = list(range(axis if axis < 0 else -rank, 0))
        outputs = [*node.output, "", ""]
        x = node.input[0]
        wide = self.put("Cast", x, to=FLOAT) if kind in HALVES else x
        if node.op_type == LAYER:
            wide = self.put("Sub", wide, self.mean(wide, axes, outputs[1]))
        square = self.put("Mul", wide, wide)
        epsilon = float(attributes["epsilon"].f) if "epsilon" in attributes else EPSILON
        root = self.put("Sqrt", self.put("Add", self.mean(square, axes), self.constant("epsilon", epsilon, "float32")))
        deviation = outputs[2] if node.op_type == LAYER else outputs[1]
        if deviation:
            self.put("Reciprocal", root, out=deviation)
        value = self.put("Div", wide, root)
        if kind in HALVES:
            value = self.put("Cast", value, to=kind)
        bias = node.input[2] if len(node.input) > 2 and node.op_type == LAYER else ""
        value = self.put("Mul", value, node.input[1], out="" if bias else node.output[0])
        if bias:
            self.put("Add", value, bias, out=node.output[0])
        return self.made

    def groups(self, attributes: dict[str, Any]) -> list[Any] | None:
        """GroupNormalization: all values of a group in a row are normalised like a channel."""
        node = self.node
        if len(node.input) != 3 or "num_groups" not in attributes or not node.output:
            return None
        epsilon = float(attributes["epsilon"].f) if "epsilon" in attributes else EPSILON
        rows = self.put("Reshape", node.input[0], self.constant("rows", [0, attributes["num_groups"].i, -1], "int64"))
        rows = self.put("InstanceNormalization", rows, node.input[1], node.input[2], epsilon=epsilon)
        self.put("Reshape", rows, self.put("Shape", node.input[0]), out=node.output[0])
        return self.made
