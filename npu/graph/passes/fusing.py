"""The two ways in which nodes become one kernel: a written-out operator is recognised as a whole, or a tail follows a head."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from npu.graph.passes.base import NearMiss, Outcome, Work
from npu.graph.passes.matcher import Match, Op, constant, escapes, match

ACTIVATIONS = ("Gelu", "Swish", "HardSwish", "HardSigmoid", "Mish")  # kernels of npu.ops.fused with one input and output


def anything(_found: Match, _root: Any) -> str:
    return ""


def over_last_axis(found: Match, _root: Any) -> str:
    """The reductions inside must go over the last axis alone and keep it."""
    for node in found.nodes:
        if not node.op_type.startswith("Reduce"):
            continue
        axes = constant(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get_ints("axes", None)
        wanted = [] if axes is None else [int(a) for a in axes]
        dims = node.inputs[0].shape
        if dims is None:
            return f"the rank of {node.inputs[0].name} is not known"
        if wanted not in ([-1], [len(dims) - 1]):
            return f"{node.name} goes over axes {wanted or 'all'}, not over the last one only"
        if not node.attributes.get_int("keepdims", 1):
            return f"{node.name} does not keep the axis"
    return ""


class Form(NamedTuple):
    """What an operator looks like written out. check: why a place that looks so is none, "" when it is one."""

    kernel: str
    pattern: Op
    check: Callable[[Match, Any], str] = anything


def whole(
    work: Work, name: str, forms: Sequence[Form], dims: Callable[[Match, Any], tuple[int, ...]] = lambda _found, _root: ()
) -> Outcome:
    """Make a kernel of each place that has one of the forms, the first that fits; forms go from the bigger to the smaller."""
    outcome = Outcome()
    refused: dict[int, NearMiss] = {}
    seen: set[int] = set()
    roots = by_type(work.graph)
    for form in forms:
        for root in (r for t in form.pattern.types for r in roots.get(t, ())):
            if id(root) in work.held:
                continue
            found = match(form.pattern, root)
            if found is None or not work.free(found.nodes):
                continue
            seen.add(id(root))
            reason = form.check(found, root) or escapes(found.nodes, root)
            if reason:
                refused.setdefault(id(root), NearMiss(name, str(root.name), reason))
                continue
            refused.pop(id(root), None)
            work.group(found.nodes, form.kernel, name, head=root, root=root, kernel=form.kernel, dims=dims(found, root))
            outcome.effected += 1
    outcome.matched = len(seen)
    outcome.near_misses = list(refused.values())
    return outcome


def behind(work: Work, name: str, forms: Sequence[tuple[str, Op]], heads: Collection[str]) -> Outcome:
    """Take the activation behind a head (or behind what it already took along) into its kernel, the biggest form first, where
    no inner value is used elsewhere. Var "x" of a form is the head's result."""
    outcome = Outcome()
    refused: dict[int, NearMiss] = {}
    seen: set[int] = set()

    def take(label: str, tail: Sequence[Any], root: Any, source: Any) -> None:
        maker = source.producer()
        known = work.held.get(id(maker)) if maker is not None else None
        head = known.head if known is not None else maker
        if (
            head is None
            or head.op_type not in heads
            or head.domain
            or source.index()
            or (known and (known.kernel or known.root is not maker))
        ):
            return
        seen.add(id(head))
        reason = escapes([*work.members(maker), *tail], root)
        if reason:
            refused.setdefault(id(head), NearMiss(name, str(head.name), reason))
            return
        refused.pop(id(head), None)
        work.group([maker, *tail], (known.label if known else head.op_type) + label, name, head=head, root=root)
        outcome.effected += 1

    for group in work.groups:
        if group.kernel in ACTIVATIONS:
            take(group.kernel, group.nodes, group.root, outer(group.nodes))
    roots = by_type(work.graph)
    for label, form in forms:
        for root in (r for t in form.types for r in roots.get(t, ())):
            if id(root) in work.held:
                continue
            found = match(form, root)
            if found is not None and work.free(found.nodes):
                take(label, found.nodes, root, found.values["x"])
    outcome.matched = len(seen)
    outcome.near_misses = list(refused.values())
    return outcome


def by_type(graph: Any) -> dict[str, list[Any]]:
    """The nodes of a graph by operator type, in their order."""
    found: dict[str, list[Any]] = {}
    for node in graph:
        found.setdefault(node.op_type, []).append(node)
    return found


def outer(nodes: Sequence[Any]) -> Any:
    """The value an activation works on: the first that comes from outside its nodes and is no constant."""
    inside = {id(n) for n in nodes}
    return next(v for n in nodes for v in n.inputs if v is not None and v.const_value is None and id(v.producer()) not in inside)


def shape(value: Any) -> tuple[int, ...] | None:
    """The dims of a value; None when the rank or a dim is open."""
    if value is None or value.shape is None or not all(isinstance(d, int) for d in value.shape):
        return None
    return tuple(int(d) for d in value.shape)
