"""From nodes to kernels: which nodes form one unit, what it reads and writes, and the local function a fused unit becomes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DOMAIN = "ai.npu"
ORIGIN = "npu.origin"


@dataclass(frozen=True)
class Unit:
    """One node, or the nodes one kernel does together. inputs and outputs are the values that cross its border."""

    nodes: tuple[Any, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    label: str = ""  # of the kernel function; "" for a single node

    @property
    def head(self) -> Any:
        return self.nodes[0]

    @property
    def name(self) -> str:
        """As profiles print it: the names of the fused operators joined."""
        return "".join(n.name for n in self.nodes)

    @property
    def origin(self) -> str:
        """Names of the nodes of the original model that went into it, joined by +."""
        return "+".join(next((p.value for p in n.metadata_props if p.key == ORIGIN), n.name) for n in self.nodes)


def units(graph: Any, groups: Sequence[tuple[tuple[str, ...], str]]) -> list[Unit]:
    """The units of a GraphProto in the order they run. groups: (names of the nodes in graph order, label)."""
    group_of = {name: number for number, (names, _) in enumerate(groups) for name in names}
    members: dict[int, list[Any]] = {}
    made: list[Unit] = []
    for node in graph.node:
        number = group_of.get(node.name)
        if number is None:
            made.append(Unit((node,), tuple(i for i in node.input if i), tuple(o for o in node.output if o)))
            continue
        members.setdefault(number, []).append(node)
        names, label = groups[number]
        if len(members[number]) == len(names):  # the last node's place: everything the unit reads exists by then
            made.append(_fused(tuple(members[number]), label))
    return made


def _fused(nodes: tuple[Any, ...], label: str) -> Unit:
    inside = {o for n in nodes for o in n.output}
    inputs = dict.fromkeys(i for n in nodes for i in n.input if i and i not in inside)
    return Unit(nodes, tuple(inputs), tuple(o for o in nodes[-1].output if o), label)


def function(unit: Unit, opsets: Any) -> Any:
    """The local function of a fused unit. Named by its structure, so that equal kernels share one: weights are its inputs."""
    from onnx import FunctionProto

    made = FunctionProto(domain=DOMAIN)
    names: dict[str, str] = {"": ""}
    for number, name in enumerate(unit.inputs):
        names[name] = f"in{number}"
    for number, name in enumerate(o for n in unit.nodes for o in n.output if o):
        names[name] = f"v{number}"
    made.input.extend(names[i] for i in unit.inputs)
    made.output.extend(names[o] for o in unit.outputs)
    for number, node in enumerate(unit.nodes):
        copy = made.node.add()
        copy.CopyFrom(node)
        copy.name = f"n{number}"
        del copy.metadata_props[:]
        copy.ClearField("doc_string")
        for fields in (copy.input, copy.output):
            for at, name in enumerate(fields):
                fields[at] = names[name]
        copy.attribute.sort(key=lambda a: a.name)
    made.opset_import.extend(o for o in opsets if o.domain in {n.domain for n in unit.nodes})
    made.name = f"{unit.label}_{hashlib.sha256(made.SerializeToString(deterministic=True)).hexdigest()[:8]}"
    return made


def call(unit: Unit, function_name: str) -> Any:
    """The node that stands for a unit in the model: a call of its function, or the node itself, with its origin."""
    from onnx import NodeProto

    node = NodeProto()
    if unit.label:
        node.domain, node.op_type, node.name = DOMAIN, function_name, unit.name
        node.input.extend(unit.inputs)
        node.output.extend(unit.outputs)
    else:
        node.CopyFrom(unit.head)
        kept: Mapping[str, str] = {p.key: p.value for p in node.metadata_props if p.key != ORIGIN}
        del node.metadata_props[:]
        for key, value in kept.items():
            node.metadata_props.add(key=key, value=value)
    node.metadata_props.add(key=ORIGIN, value=unit.origin)
    return node
