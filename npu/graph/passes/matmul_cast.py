"""MatmulCastFusionPass: a product of half precision whose result is cast to float32 leaves the accumulator as float32."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.matcher import escapes
from npu.patterns import named

NAME = named("MatmulCastFusionPass").name
FROM, TO = ("FLOAT16", "BFLOAT16"), "FLOAT"


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for cast in work.graph:
        value = cast.inputs[0] if cast.op_type == "Cast" and not cast.domain else None
        product = value.producer() if value is not None else None
        if product is None or product.op_type != "MatMul" or product.domain or _type(cast.outputs[0]) != TO:
            continue
        if _type(value) not in FROM or not work.free([product, cast]):
            continue
        outcome.matched += 1
        reason = escapes([product, cast], cast)
        if reason:
            outcome.refuse(NAME, product, reason)
            continue
        work.group([product, cast], "MatMulCast", NAME)
        outcome.effected += 1
    return outcome


def _type(value: Any) -> str:
    return str(value.dtype.name) if value.dtype is not None else ""
