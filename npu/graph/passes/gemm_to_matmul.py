"""GemmToMatmulFusionPass: a plain Gemm becomes MatMul and Add, which the passes behind it know how to fuse."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import is_constant
from npu.graph.passes.rewriting import weight
from npu.patterns import named

NAME = named("GemmToMatmulFusionPass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for gemm in list(work.graph):
        if gemm.op_type != "Gemm" or gemm.domain:
            continue
        outcome.matched += 1
        reason = refusal(gemm)
        if reason:
            outcome.refuse(NAME, gemm, reason)
            continue
        rewrite(work.graph, gemm)
        outcome.effected += 1
    return outcome


def refusal(gemm: Any) -> str:
    number = gemm.attributes.get_float
    if number("alpha", 1.0) != 1.0 or number("beta", 1.0) != 1.0:
        return f"alpha {number('alpha', 1.0):g} and beta {number('beta', 1.0):g} are not 1"
    if gemm.attributes.get_int("transA", 0):
        return "the left matrix is transposed"
    if gemm.attributes.get_int("transB", 0) and not is_constant(gemm.inputs[1]):
        return f"the transposed matrix {gemm.inputs[1].name} is not constant"
    return ""


def rewrite(graph: Any, gemm: Any) -> None:
    import numpy as np
    import onnx_ir as ir

    right = gemm.inputs[1]
    if gemm.attributes.get_int("transB", 0):
        right = weight(graph, f"{right.name}_transposed", np.ascontiguousarray(right.const_value.numpy().T), right.dtype)
    bias = gemm.inputs[2] if len(gemm.inputs) > 2 else None
    out = gemm.outputs[0]
    product = ir.node("MatMul", [gemm.inputs[0], right], name=gemm.name)
    product.outputs[0].name = f"{out.name}_product" if bias is not None else out.name
    product.outputs[0].shape, product.outputs[0].type = out.shape, out.type
    if "npu.origin" in gemm.metadata_props:
        product.metadata_props["npu.origin"] = gemm.metadata_props["npu.origin"]
    made = [product]
    if bias is not None:
        made.append(ir.node("Add", [product.outputs[0], bias], name=f"{gemm.name}_bias"))
        made[-1].metadata_props["npu.origin"] = str(gemm.name)
    ir.convenience.replace_nodes_and_values(graph, gemm, [gemm], made, [out], [made[-1].outputs[0]])
