"""FlashAttentionFusionPass: MatMul, scale, mask, Softmax, MatMul become one kernel that never writes the scores to memory."""

from __future__ import annotations

from math import prod
from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import Form, shape, whole
from npu.graph.passes.matcher import Const, Match, Op, Var
from npu.patterns import named

NAME = named("FlashAttentionFusionPass").name
Q, K, V, MASK = Var("q"), Var("k"), Var("v"), Var("mask")
SCALE = Const(name="scale")


def _scaled(what: Op | Var, by: Const) -> tuple[Op, Op]:
    return Op(("Mul",), (what, by), commutes=True), Op(("Div",), (what, by))


def _forms() -> tuple[Op, ...]:
    scores = Op(("MatMul",), (Q, K))
    both = [Op(("MatMul",), (q, k)) for q in _scaled(Q, SCALE) for k in _scaled(K, Const(name="scale_k"))]
    weighed = (*both, *_scaled(scores, SCALE), *(Op(("MatMul",), (q, K)) for q in _scaled(Q, SCALE)), scores)
    masked = [*(Op(("Add",), (w, MASK), commutes=True) for w in weighed), *weighed]
    soft = [Op(("Softmax",), (m,)) for m in masked]
    # torch replaces rows without any key, whose softmax is not a number, by zeros
    clean = [Op(("Where",), (Op(("IsNaN",), (s,)), Const(0.0), s)) for s in soft]
    return tuple(Op(("MatMul",), (s, V)) for s in (*clean, *soft))


def check(found: Match, root: Any) -> str:
    soft = next(n for n in found.nodes if n.op_type == "Softmax")
    q, k, v = (shape(found.values[n]) for n in ("q", "k", "v"))
    out = shape(root.outputs[0])
    if q is None or k is None or v is None or out is None:
        return f"a shape around {soft.name} is open"
    axis = soft.attributes.get_int("axis", -1)
    if axis not in (-1, len(out) - 1):
        return f"{soft.name} goes along axis {axis}, not along the keys (the last one)"
    for name in ("scale", "scale_k"):
        if name in found.values and found.values[name].const_value.size != 1:
            return f"{found.values[name].name} scales single scores, not all alike"
    if len(q) not in (3, 4) or len(k) != len(q) or len(v) != len(q):
        return f"the operands of {root.name} have ranks {len(q)}, {len(k)}, {len(v)}; 3 or 4 are wanted"
    return ""


def dims(found: Match, _root: Any) -> tuple[int, ...]:
    """(batch, heads, queries, keys, width)."""
    q, k = shape(found.values["q"]), shape(found.values["k"])
    if q is None or k is None:
        return ()
    lead = q[:-2]
    return prod(lead[:-1]), lead[-1], q[-2], k[-1], q[-1]


FORMS = tuple(Form("FlashAttentionScore", f, check) for f in _forms())


def run(work: Work) -> Outcome:
    return whole(work, NAME, FORMS, dims)
