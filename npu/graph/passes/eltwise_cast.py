"""TbeEltwiseCastFusionPass: a change of floating-point type behind elementwise operators is done by their kernel as it writes."""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import shape
from npu.graph.passes.vector_chain import ELEMENTWISE, FLOATS, LABEL, chain
from npu.patterns import named

NAME = named("TbeEltwiseCastFusionPass").name


def run(work: Work) -> Outcome:
    outcome = Outcome()
    for cast in work.graph:
        value = cast.inputs[0] if cast.op_type == "Cast" and not cast.domain and work.free([cast]) else None
        maker = value.producer() if value is not None else None
        if maker is None or maker.domain or shape(cast.outputs[0]) is None or {_type(value), _type(cast.outputs[0])} - FLOATS:
            continue
        known = work.held.get(id(maker))
        if (known.label != LABEL or known.root is not maker) if known is not None else maker.op_type not in ELEMENTWISE:
            continue
        chain(work, outcome, NAME, f"{LABEL}Cast", maker, cast)
    return outcome


def _type(value: Any) -> str:
    return str(value.dtype.name) if value.dtype is not None else ""
