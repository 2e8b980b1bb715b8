"""A computation of the DSL as an ONNX function: each operation is one or two nodes, so that any runtime can compute it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from npu.graph.kernels import DOMAIN
from npu.graph.types import NAMES
from npu.tbe.limits import TbeError
from npu.tbe.tensor import Operation, Tensor, order

# DSL function -> ONNX operator
PLAIN = {
    "vadd": "Add", "vsub": "Sub", "vmul": "Mul", "vdiv": "Div", "vmax": "Max", "vmin": "Min", "vexp": "Exp", "vabs": "Abs",
    "vlog": "Log", "vsqrt": "Sqrt", "vrec": "Reciprocal", "vrelu": "Relu",
}  # fmt: skip
SCALAR = {"vadds": "Add", "vmuls": "Mul", "vmaxs": "Max", "vmins": "Min"}
# DSL function -> (ONNX operator, operator set from which the axes are an input)
REDUCE = {"reduce_sum": ("ReduceSum", 13), "reduce_max": ("ReduceMax", 18), "reduce_min": ("ReduceMin", 18)}
NUMBERS = {name: number for number, name in NAMES.items()}


class Writer:
    """The nodes of a function, as they are written."""

    def __init__(self, opset: int) -> None:
        self.nodes: list[Any] = []
        self.opset = opset

    def add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """A node; gives its output."""
        from onnx import helper

        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def constant(self, values: Any, dtype: str) -> str:
        import numpy as np
        from onnx import numpy_helper

        return self.add("Constant", [], value=numpy_helper.from_array(np.asarray(values, dtype)))

    def operation(self, made: Operation, out: Tensor, inputs: list[str]) -> str:
        """The nodes of one operation. TbeError for one that ONNX has no operator for."""
        facts: dict[str, Any] = dict(made.attributes)
        name = made.name
        if name in PLAIN:
            return self.add(PLAIN[name], inputs)
        if name in SCALAR:
            return self.add(SCALAR[name], [*inputs, self.constant(facts["scalar"], out.dtype)])
        if name in REDUCE:
            return self._reduce(*REDUCE[name], list(facts["axis"]), out, inputs)
        if name == "cast_to":
            return self.add("Cast", inputs, to=NUMBERS[out.dtype])
        if name == "broadcast":
            return self.add("Expand", [*inputs, self.constant(out.shape, "int64")])
        if name == "transpose":
            return self.add("Transpose", inputs, perm=list(facts["axes"]))
        if name == "matmul":
            turned = (facts["trans_a"], facts["trans_b"])
            sides = [self.add("Transpose", [i], perm=[1, 0]) if t else i for i, t in zip(inputs, turned, strict=True)]
            return self.add("MatMul", sides)
        raise TbeError(f"{name} cannot stand in a model", "use other DSL functions")

    def _reduce(self, kind: str, as_input: int, axes: list[int], out: Tensor, inputs: list[str]) -> str:
        if self.opset >= as_input:
            reduced = self.add(kind, [*inputs, self.constant(axes, "int64")], keepdims=1)
        else:
            reduced = self.add(kind, inputs, axes=axes, keepdims=1)
        return self.add("Reshape", [reduced, self.constant(out.shape, "int64")])


def body_of(out: Tensor, operands: Sequence[str], op_type: str, opsets: Any) -> Any:
    """The FunctionProto of a computation on these operands, named by operator and structure. TbeError."""
    from onnx import FunctionProto

    opset = next((int(o.version) for o in opsets if o.domain in ("", "ai.onnx")), 1)
    writer = Writer(opset)
    names: dict[Tensor, str] = {}
    for tensor in order([out]):
        if tensor.operation is None:
            names[tensor] = f"in_{tensor.name}"
        else:
            names[tensor] = writer.operation(tensor.operation, tensor, [names[t] for t in tensor.operation.inputs])
    made = FunctionProto(domain=DOMAIN)
    made.input.extend(f"in_{name}" for name in operands)
    made.output.append(names[out])
    made.node.extend(writer.nodes)
    made.opset_import.extend(o for o in opsets if o.domain in ("", "ai.onnx"))
    made.name = f"{op_type}_{hashlib.sha256(made.SerializeToString(deterministic=True)).hexdigest()[:8]}"
    return made
