"""What a pass is: its real name, where it stands, and what one run of it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

GRAPH = "graph_fusion"  # changes the graph
UB = "ub_fusion"  # several operators become one kernel


@dataclass(frozen=True)
class Group:
    """Nodes that become one kernel: in the order of the graph, the first one is the head and gives the operator type."""

    nodes: tuple[Any, ...]
    label: str  # names the kernel function, e.g. ConvHardSwish
    fused_by: str


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place where a pass almost applied, and why not."""

    fusion: str
    node: str
    reason: str


@dataclass
class Outcome:
    """Counts as fusion_result.json has them: places matched, places changed. near_misses explain the difference."""

    matched: int = 0
    effected: int = 0
    near_misses: list[NearMiss] = field(default_factory=list)


@dataclass
class Work:
    """What passes share: the graph, the groups made so far, and the nodes that already lie in one."""

    graph: Any
    groups: list[Group] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)

    def group(self, nodes: list[Any], label: str, fused_by: str) -> None:
        position = {id(n): at for at, n in enumerate(self.graph)}
        self.groups.append(Group(tuple(sorted(nodes, key=lambda n: position[id(n)])), label, fused_by))
        self.taken |= {id(n) for n in nodes}

    def free(self, nodes: list[Any]) -> bool:
        return not any(id(n) in self.taken for n in nodes)


class Pass(NamedTuple):
    """One fusion pass. priority orders the passes of a kind, lower first. switchable: ALL:off switches it off."""

    name: str
    kind: str
    priority: int
    run: Callable[[Work], Outcome]
    switchable: bool = True
