"""From nodes to kernels: which nodes form one unit, what it reads and writes, and the local function a fused unit becomes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

from npu.graph import walk
from npu.graph.precision import round_results

DOMAIN = "ai.npu"
ORIGIN = "npu.origin"


class Members(NamedTuple):
    """A group of a pass by the names of its nodes; the other fields as in npu.graph.passes.base.Group."""

    names: tuple[str, ...]
    label: str
    head: str
    kernel: str = ""
    dims: tuple[int, ...] = ()
    rounds: bool = False
    passes: tuple[str, ...] = ()
    title: str = ""  # of the kernel, where it is not made of the names of its nodes


ALONE = Members((), "", "")


@dataclass(frozen=True)
class Unit:
    """One node, or the nodes one kernel does together. inputs and outputs are the values that cross its border."""

    nodes: tuple[Any, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    members: Members = ALONE

    @property
    def label(self) -> str:
        """Of the kernel function; "" for a single node."""
        return self.members.label

    @property
    def head(self) -> Any:
        return next((n for n in self.nodes if n.name == self.members.head), self.nodes[0])

    @property
    def tail(self) -> tuple[Any, ...]:
        head = self.head
        return tuple(n for n in self.nodes if n is not head)

    @property
    def name(self) -> str:
        """As profiles print it: the names of the fused operators joined."""
        return self.members.title or "".join(n.name for n in self.nodes)

    @property
    def origin(self) -> str:
        """Names of the nodes of the original model that went into it, joined by +."""
        if self.members.title:
            return ""
        return "+".join(next((p.value for p in n.metadata_props if p.key == ORIGIN), n.name) for n in self.nodes)


def units(graph: Any, groups: Sequence[Members]) -> list[Unit]:
    """The units of a GraphProto in an order in which they can run. The names of each group are those of nodes of the graph."""
    group_of = {name: number for number, group in enumerate(groups) for name in group.names}
    read = Counter(i for node in walk.nodes(graph) for i in node.input) + Counter(
        o.name for g in walk.graphs(graph) for o in g.output
    )
    members: dict[int, list[Any]] = {}
    made: list[Unit] = []
    for node in graph.node:
        number = group_of.get(node.name)
        if number is None:
            made.append(Unit((node,), tuple(dict.fromkeys(_reads(node))), tuple(o for o in node.output if o)))
            continue
        members.setdefault(number, []).append(node)
        if len(members[number]) == len(groups[number].names):  # the last node's place: what the unit reads exists by then
            made.append(_fused(tuple(members[number]), groups[number], read))
    return _ordered(made)


def _reads(node: Any) -> list[str]:
    """Values a node reads; what its subgraphs take from outside is among them."""
    inner = [n for a in node.attribute for g in (*((a.g,) if a.HasField("g") else ()), *a.graphs) for n in walk.nodes(g)]
    return [i for i in node.input if i] + [i for n in inner for i in n.input if i]


def _fused(nodes: tuple[Any, ...], group: Members, read: Mapping[str, int]) -> Unit:
    results = [o for n in nodes for o in n.output if o]
    within = Counter(i for n in nodes for i in n.input)
    inside = set(results)
    inputs = dict.fromkeys(i for n in nodes for i in n.input if i and i not in inside)
    return Unit(nodes, tuple(inputs), tuple(o for o in results if read[o] > within[o]), group)


def _ordered(made: Sequence[Unit]) -> list[Unit]:
    """The units with every reader behind its maker, otherwise as they stand: a group with two results may have come late."""
    maker = {o: at for at, unit in enumerate(made) for o in unit.outputs}
    waits = [{maker[i] for i in unit.inputs if i in maker} for unit in made]
    readers: dict[int, list[int]] = {}
    for at, needed in enumerate(waits):
        for other in needed:
            readers.setdefault(other, []).append(at)
    ready = [at for at, needed in enumerate(waits) if not needed]
    order: list[Unit] = []
    while ready:
        at = heappop(ready)
        order.append(made[at])
        for reader in readers.get(at, ()):
            waits[reader].discard(at)
            if not waits[reader]:
                heappush(ready, reader)
    if len(order) != len(made):
        raise ValueError("groups of nodes that read each other's results cannot be kernels")
    return order


def function(unit: Unit, opsets: Any, rounded: Collection[str] = (), half: str = "float16") -> Any:
    """The local function of a fused unit. Named by its structure, so that equal kernels share one: weights are its inputs.

    rounded: inner results that are rounded to half precision (half: float16 | bfloat16) and back.
    """
    from onnx import FunctionProto, NodeProto

    made = FunctionProto(domain=DOMAIN)
    names: dict[str, str] = {"": ""}
    for number, name in enumerate(unit.inputs):
        names[name] = f"in{number}"
    for number, name in enumerate(o for n in unit.nodes for o in n.output if o):
        names[name] = f"v{number}"
    made.input.extend(names[i] for i in unit.inputs)
    made.output.extend(names[o] for o in unit.outputs)
    for number, node in enumerate(unit.nodes):
        copy = NodeProto()
        copy.CopyFrom(node)
        copy.name = f"n{number}"
        del copy.metadata_props[:]
        copy.ClearField("doc_string")
        for fields in (copy.input, copy.output):
            for at, name in enumerate(fields):
                fields[at] = names[name]
        copy.attribute.sort(key=lambda a: a.name)
        made.node.extend(round_results(copy, {names[o] for o in node.output if o in rounded}, half))
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
