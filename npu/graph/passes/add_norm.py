"""AddLayerNormFusionPass and AddRmsNormFusionGraphPass: the addition before a normalisation goes into its kernel.

The sum usually feeds the next residual connection as well: the kernel then has two results.
"""

from __future__ import annotations

from typing import Any

from npu.graph.passes.base import Outcome, Work
from npu.graph.passes.fusing import outer, shape
from npu.patterns import named

LAYER = named("AddLayerNormFusionPass").name
RMS = named("AddRmsNormFusionGraphPass").name


def run_layer(work: Work) -> Outcome:
    return _run(work, LAYER, "LayerNormalization", "LayerNorm")


def run_rms(work: Work) -> Outcome:
    return _run(work, RMS, "RMSNormalization", "RmsNorm")


def _run(work: Work, name: str, operator: str, kernel: str) -> Outcome:
    outcome = Outcome()
    places = [((n,), n) for n in work.graph if n.op_type == operator and not n.domain and id(n) not in work.held]
    places += [(g.nodes, g.root) for g in work.groups if g.kernel == kernel]
    for nodes, root in places:
        added = outer(nodes)
        add = added.producer()
        if add is None or add.op_type != "Add" or add.domain:
            continue
        outcome.matched += 1
        reason = refusal(work, add, nodes, root)
        if reason:
            outcome.refuse(name, root, reason)
            continue
        work.group([add, *nodes], f"Add{kernel}", name, head=root, root=root, kernel=f"Add{kernel}")
        outcome.effected += 1
    return outcome


def refusal(work: Work, add: Any, nodes: tuple[Any, ...], root: Any) -> str:
    if id(add) in work.held:
        return f"{add.name} already belongs to {work.held[id(add)].label}"
    left, right, out = (shape(v) for v in (add.inputs[0], add.inputs[1], add.outputs[0]))
    if out is None or left != right:
        return f"the operands of {add.name} differ in shape ({left} and {right})"
    if add.inputs[0].dtype != add.outputs[0].dtype or any(v.const_value is not None for v in add.inputs):
        return f"{add.name} adds a constant"
    axis = root.attributes.get_int("axis", -1) if len(nodes) == 1 else -1
    if axis not in (-1, len(out) - 1):
        return f"{root.name} normalises from axis {axis}, not the last one only"
    if any(o.uses() or o.is_graph_output() for o in root.outputs[1:]):
        return f"mean or deviation of {root.name} is used"
    return ""
