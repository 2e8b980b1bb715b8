"""What the values of a plan take of the device: weights, the feature map by lifetimes, results written over their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npu.graph.memory_plan import Lifetime, aligned, feature_map
from npu.graph.step import Step
from npu.ops.node import Operand

INPLACE = "InplaceAddRmsNorm"  # a group that writes its results over its operands


def memory(
    steps: Sequence[Step], types: Mapping[str, Operand], inputs: Sequence[str], outputs: Sequence[str], reuse: bool
) -> tuple[dict[str, int], tuple[tuple[str, int, int, int], ...]]:
    """Bytes of feature_map, weights, workspace, and what reuse saved (in_place: the part of it that needed no second buffer); and
    the blocks of the feature map, as of npu.om.Model.lifetimes."""
    root: dict[str, str] = {}  # a reshaped value is the same memory, and a part lies in what it is a part of
    for step in steps:
        if step.kernel is None and step.lowered is not None:
            root |= dict.fromkeys(step.unit.inputs, step.unit.outputs[0])

    def of(name: str) -> str:
        while name in root:
            name = root[name]
        return name

    made: dict[str, int] = {}
    last: dict[str, int] = {}
    weights: dict[str, int] = {}
    for at, step in enumerate(steps):
        for name in step.unit.inputs:
            last[of(name)] = at
            if name in types and types[name].constant:
                weights[name] = max(weights.get(name, 0), _weight_bytes(name, step, types))
        for name in step.unit.outputs:
            if step.kernel is None and step.lowered is None and step.unit.inputs:
                root[name] = step.unit.inputs[0]
            else:
                made.setdefault(of(name), at)
    outside = {of(o) for o in outputs} | set(inputs)
    blocks = {n: [types[n].bytes, at, last.get(n, at)] for n, at in made.items() if n in types and n not in outside}
    saved_in_place = _in_place(steps, blocks, of) if reuse else 0
    size, saved = feature_map([Lifetime(*b) for b in blocks.values()], reuse)
    scratch = max((s.lowered.scratch for s in steps if s.lowered is not None), default=0)
    stored = sum(aligned(b) for b in weights.values())
    sizes = {
        "feature_map": size,
        "weights": stored,
        "workspace": aligned(scratch),
        "reuse_saved": saved + saved_in_place,
        "in_place": saved_in_place,
    }
    return sizes, tuple((_called(steps[at]), at, until, aligned(count)) for count, at, until in blocks.values())


def _called(step: Step) -> str:
    """The name of what makes a step's results."""
    return step.kernel.name if step.kernel is not None else step.unit.outputs[0]


def _in_place(steps: Sequence[Step], blocks: dict[str, list[int]], of: Callable[[str], str]) -> int:
    """Let elementwise kernels, and those that work in place by their name, write over an operand that nobody needs afterwards;
    gives the bytes of the buffers that saves."""
    saved = 0
    holder: dict[str, str] = {}
    for at, step in enumerate(steps):
        if step.lowered is None or (step.unit.members.kernel != INPLACE and _several(step)):
            continue
        for result in step.unit.outputs:
            for name in step.unit.inputs:
                source = of(name)
                source = holder.get(source, source)
                if (
                    result in blocks
                    and source in blocks
                    and blocks[source][2] == at
                    and aligned(blocks[source][0]) == aligned(blocks[result][0])
                ):
                    blocks[source][2] = blocks[result][2]
                    saved += aligned(blocks[result][0])
                    del blocks[result]
                    holder[result] = source
                    break
    return saved


def _several(step: Step) -> bool:
    """Whether a kernel is none of elements one by one with one result."""
    return step.lowered is None or step.lowered.work.form != "vector" or len(step.unit.outputs) != 1


def _weight_bytes(name: str, step: Step, types: Mapping[str, Operand]) -> int:
    if step.lowered is not None and step.lowered.stored and name in step.unit.head.input:
        stored = step.lowered.stored.get(list(step.unit.head.input).index(name))
        if stored is not None:
            return replace(types[name], dims=stored.dims).bytes
    return types[name].bytes
