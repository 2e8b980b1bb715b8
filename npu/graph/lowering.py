"""From units to kernels without formats: which operator a unit is, its Work, what it reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npu.cost.work import Work
from npu.graph.kernels import Unit
from npu.graph.types import node_of
from npu.ops import fused
from npu.ops.node import Lowered, Node, Operand
from npu.ops.registry import lower

CUBE = ("conv", "matmul")


@dataclass(frozen=True)
class Lowering:
    """A unit's kernel. node: its head as the operator rule saw it; reads: operands that travel, those of `node` first."""

    lowered: Lowered
    node: Node
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]


def lower_unit(unit: Unit, types: Mapping[str, Operand]) -> Lowering | None:
    """The kernel of a unit; None where it needs none. types: every value's, in the precision the device works in."""
    writes = tuple(types[o] for o in unit.outputs if o in types)
    if unit.members.kernel:
        reads = tuple(types[i] for i in unit.inputs if i in types and not _number(types[i]))
        node = Node(unit.name, unit.members.kernel, reads, writes, {})
        return Lowering(fused.lower(unit.members.kernel, node, unit.members.dims), node, reads, writes)
    node = _quantised(unit, types) if unit.label.startswith("Quant") else node_of(unit.head, types)
    if _same_type_cast(node):
        return None
    lowered = lower(node)
    if lowered is None or not unit.tail:
        return None if lowered is None else Lowering(lowered, node, node.given, writes)
    own = {o.name for o in node.given} | {i for i in unit.head.input if i}
    extra = tuple(types[n] for n in unit.inputs if n not in own and n in types and not _number(types[n]))
    work = replace(_with_tail(unit, lowered, types), write_bytes=sum(w.bytes for w in writes))
    work = replace(work, read_bytes=work.read_bytes + sum(o.bytes for o in extra))
    return Lowering(replace(lowered, work=work), node, (*node.given, *extra), writes)


def _with_tail(unit: Unit, lowered: Lowered, types: Mapping[str, Operand]) -> Work:
    """The Work with the element operations behind the head. On the cube an activation with exponentials costs by its name."""
    elements = 0
    for node in unit.tail:
        if node.op_type == "DequantizeLinear":  # a change of scale that the accumulator's output stage does
            continue
        elements += sum(types[o].elements for o in node.output if o in types) * fused.tail_weight(node.op_type)
    work = replace(lowered.work, epilogue=lowered.work.epilogue + elements)
    activation = unit.label.removeprefix("Quant").removeprefix(unit.head.op_type).removeprefix("Bias")
    return replace(work, op=work.op + activation) if work.form in CUBE else work


def _number(value: Operand) -> bool:
    """A constant of one element (the 3 and 6 of a hard-swish) is part of the kernel's code."""
    return value.constant and value.elements <= 1


def _same_type_cast(node: Node) -> bool:
    """A Cast between float32 and float16 while both are held as float16 moves nothing."""
    return node.op_type == "Cast" and node.given[0].dtype == node.outputs[0].dtype


def _quantised(unit: Unit, types: Mapping[str, Operand]) -> Node:
    """The head as it computes: on the stored integers that its dequantised operands come from."""
    node = node_of(unit.head, types)
    stored = {n.output[0]: types[n.input[0]] for n in unit.nodes if n.op_type == "DequantizeLinear" and n.input[0] in types}
    inputs = tuple(stored.get(i.name, i) if i is not None else None for i in node.inputs)
    return replace(node, inputs=inputs, outputs=tuple(types[o] for o in unit.outputs if o in types))
