"""What a pass is: its real name, where it stands, and what one run of it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

GRAPH = "graph_fusion"  # changes the graph
UB = "ub_fusion"  # several operators become one kernel


@dataclass(frozen=True)
class Group:
    """Nodes that become one kernel.

    label names the kernel function, e.g. ConvHardSwish. kernel: the operator that the whole group is (a key of
    npu.ops.fused), "" where the head with a tail behind it is meant. dims: of its Work, where shapes alone do not say them.
    rounds: results inside are rounded to the working precision as they were between kernels (vector chains).
    passes: the fusions that made it, in order.
    """

    nodes: tuple[Any, ...]
    head: Any
    root: Any  # the node whose result leaves the group last
    label: str
    passes: tuple[str, ...]
    kernel: str = ""
    dims: tuple[int, ...] = ()
    rounds: bool = False


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

    def refuse(self, fusion: str, node: Any, reason: str) -> None:
        self.near_misses.append(NearMiss(fusion, str(node.name), reason))


@dataclass
class Work:
    """What passes share: the graph, the group each node lies in, and the name of the chip ("" where it does not matter)."""

    graph: Any
    chip: str = ""
    held: dict[int, Group] = field(default_factory=dict)

    @property
    def groups(self) -> list[Group]:
        """Every group once, in the order they were made."""
        return list({id(g): g for g in self.held.values()}.values())

    def group(
        self,
        nodes: Iterable[Any],
        label: str,
        fused_by: str,
        head: Any = None,
        root: Any = None,
        kernel: str = "",
        dims: tuple[int, ...] = (),
        rounds: bool = False,
    ) -> Group:
        """Make one kernel of these nodes; groups they form already are taken into it whole. head: the first node unless said;
        root: the last one."""
        given = list(nodes)
        members = {id(n): n for n in given}
        earlier: list[str] = []
        for node in given:
            known = self.held.get(id(node))
            if known is not None:
                members |= {id(n): n for n in known.nodes}
                earlier += [p for p in known.passes if p not in earlier]
        made = Group(
            tuple(members.values()), head or given[0], root or given[-1], label, (*earlier, fused_by), kernel, dims, rounds
        )
        for key in members:
            self.held[key] = made
        return made

    def free(self, nodes: Iterable[Any]) -> bool:
        return not any(id(n) in self.held for n in nodes)

    def members(self, node: Any) -> tuple[Any, ...]:
        """The node with those it forms one kernel with."""
        known = self.held.get(id(node))
        return known.nodes if known is not None else (node,)


class Pass(NamedTuple):
    """One fusion pass. priority orders the passes of a kind, lower first. switchable: ALL:off switches it off. fixed: it works on
    fixed shapes only, as its documentation says; opened: on open ones only."""

    name: str
    kind: str
    priority: int
    run: Callable[[Work], Outcome]
    switchable: bool = True
    fixed: bool = False
    opened: bool = False
