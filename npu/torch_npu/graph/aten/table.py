"""The ATen operators that have a counterpart in the graph engine, as one explicit list of families."""

from __future__ import annotations

from npu.torch_npu.graph.aten import elementwise, products, rows, shapes
from npu.torch_npu.graph.aten.call import Rule

FAMILIES = (products, elementwise, rows, shapes)
RULES: dict[str, Rule] = {name: rule for family in FAMILIES for name, rule in family.RULES.items()}
