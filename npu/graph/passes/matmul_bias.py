"""MatMulBiasAddFusionPass: a constant vector added to a matrix product becomes the bias of its kernel."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.matcher import constant, escapes
from npu.patterns import named

NAME = named("MatMulBiasAddFusionPass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for add in work.graph:
        if add.op_type != "Add" or add.domain or id(add) in work.held:
            continue
        for value, other in (add.inputs[:2], add.inputs[1::-1]):
            product = value.producer() if value is not None else None
            if product is None or product.op_type != "MatMul" or product.domain or id(product) in work.held:
                continue
            outcome.matched += 1
            reason = refusal(product, add, other)
            if reason:
                outcome.refuse(NAME, product, reason)
                continue
            work.group([product, add], "MatMulBias", NAME)
            outcome.effected += 1
            break
    return outcome


def refusal(product: Any, add: Any, bias: Any) -> str:
    array, out = constant(bias), shape(product.outputs[0])
    if array is None:
        return f"what {add.name} adds ({bias.name if bias is not None else ''}) is not constant"
    if out is None:
        return f"the shape of {product.outputs[0].name} is open"
    if array.size != out[-1] or (array.ndim and array.shape[-1] != out[-1]):
        return f"{bias.name} has shape {list(array.shape)}; a bias along the last axis has {out[-1]} elements"
    return escapes([product, add], add)
