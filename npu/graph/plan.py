"""The task list: every unit's kernel with storage shapes and Work, the casts at the border, and the memory figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from npu.cost.work import Work
from npu.dtypes import DTYPES
from npu.graph.kernels import Unit
from npu.graph.memory_plan import Lifetime, aligned, feature_map
from npu.graph.types import node_of
from npu.om import Kernel
from npu.ops.node import Lowered, Node, Operand, Stored
from npu.ops.registry import lower

HALF = "force_fp16"
PLANES = {4: "NCHW", 5: "NCDHW"}


@dataclass(frozen=True)
class Step:
    """A unit and the kernel it becomes; None where it needs none."""

    unit: Unit
    kernel: Kernel | None
    lowered: Lowered | None


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]  # of the steps, with the casts of --precision_mode at both ends
    memory: dict[str, int]


def working(value: Operand, precision: str) -> Operand:
    """The operand in the precision the device works in."""
    return replace(value, dtype="float16") if precision == HALF and value.dtype == "float32" else value


def make_plan(units: Sequence[Unit], types: Mapping[str, Operand], inputs: Sequence[str], outputs: Sequence[str],
              precision: str, input_format: str = "NCHW", reuse: bool = True) -> Plan:
    """The plan of a model whose units run in that order. types: every value's; inputs and outputs: names of the model's."""
    inner = {name: working(value, precision) for name, value in types.items()}
    steps = tuple(_step(unit, inner, input_format) for unit in units)
    border = Casts()
    before = [border.cast(types[n], inner[n], input_format) for n in inputs if types[n].dtype != inner[n].dtype]
    after = [border.cast(inner[n], types[n], input_format) for n in outputs if types[n].dtype != inner[n].dtype]
    kernels = (*before, *(s.kernel for s in steps if s.kernel is not None), *after)
    return Plan(steps, kernels, memory(steps, inner, inputs, outputs, reuse))


def _step(unit: Unit, types: Mapping[str, Operand], input_format: str) -> Step:
    node = node_of(unit.head, types)
    if _same_type_cast(node):
        return Step(unit, None, None)
    lowered = lower(node)
    if lowered is None:
        return Step(unit, None, None)
    constant = {name for name in unit.inputs if types.get(name) is not None and types[name].constant}
    # Constants of the fused tail (the 3 and 6 of a hard-swish) are part of the kernel's code.
    reads = list(node.given) + [types[n] for n in unit.inputs if n not in unit.head.input and n not in constant and n in types]
    tail = [types[o] for n in unit.nodes[1:] for o in n.output if o in types]
    writes = [types[o] for o in unit.outputs if o in types]
    work = replace(lowered.work, epilogue=lowered.work.epilogue + sum(t.elements for t in tail))
    if tail:
        extra = sum(r.bytes for r in reads[len(node.given):])
        work = replace(work, read_bytes=work.read_bytes + extra, write_bytes=sum(w.bytes for w in writes))
    stored = [_stored(r, lowered, node, input_format) for r in reads]
    written = [Stored(w.dims, _format(w, lowered, input_format), w.dtype) for w in writes]
    return Step(unit, _kernel(unit.name, lowered.op_type, work, stored, written, unit.origin), lowered)


def _same_type_cast(node: Node) -> bool:
    """A Cast between float32 and float16 while both are held as float16 moves nothing."""
    return node.op_type == "Cast" and node.given[0].dtype == node.outputs[0].dtype


def _stored(value: Operand, lowered: Lowered, node: Node, input_format: str) -> Stored:
    if lowered.stored and value in node.inputs:
        found = lowered.stored.get(node.inputs.index(value))
        if found is not None:
            return found
    return Stored(value.dims, _format(value, lowered, input_format), value.dtype)


def _format(value: Operand, lowered: Lowered, input_format: str) -> str:
    """Convolutions name everything by the image format, the bias too (as profiles do); others by rank."""
    if input_format == "ND":
        return "ND"
    if lowered.work.form in ("conv", "depthwise"):
        return PLANES.get(len(value.dims), "NCHW")
    return PLANES.get(len(value.dims), "ND")


def _kernel(name: str, op_type: str, work: Work, reads: Sequence[Stored], writes: Sequence[Stored], origin: str) -> Kernel:
    def column(tensors: Sequence[Stored], what: str) -> str:
        if what == "shapes":
            return ";".join(",".join(str(d) for d in t.dims) for t in tensors)
        if what == "dtypes":
            return ";".join(DTYPES[t.dtype][2] if t.dtype in DTYPES else t.dtype.upper() or "UNDEFINED" for t in tensors)
        return ";".join(t.format for t in tensors)

    return Kernel(name, op_type, work, column(reads, "shapes"), column(reads, "dtypes"), column(reads, "formats"),
                  column(writes, "shapes"), column(writes, "dtypes"), column(writes, "formats"), origin)


class Casts:
    """Casts the converter inserts: trans_Cast_0, trans_Cast_1 ... with one counter for the whole model."""

    def __init__(self) -> None:
        self.count = 0

    def cast(self, source: Operand, target: Operand, input_format: str) -> Kernel:
        node = Node(f"trans_Cast_{self.count}", "Cast", (source,), (target,), {})
        self.count += 1
        lowered = lower(node)
        if lowered is None:
            raise ValueError("a cast always has a kernel")
        stored = [Stored(v.dims, _format(v, lowered, input_format), v.dtype) for v in (source, target)]
        return _kernel(node.name, lowered.op_type, lowered.work, stored[:1], stored[1:], "")


def memory(steps: Sequence[Step], types: Mapping[str, Operand], inputs: Sequence[str], outputs: Sequence[str],
           reuse: bool) -> dict[str, int]:
    """Bytes of feature_map, weights, workspace, and what reuse saved."""
    root: dict[str, str] = {}  # a reshaped value is the same memory

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
            if step.kernel is None and step.unit.inputs:
                root[name] = step.unit.inputs[0]
            else:
                made[name] = at
    outside = {of(o) for o in outputs} | set(inputs)
    blocks = [Lifetime(types[n].bytes, at, last.get(n, at)) for n, at in made.items() if n in types and n not in outside]
    size, saved = feature_map(blocks, reuse)
    scratch = max((s.lowered.scratch for s in steps if s.lowered is not None), default=0)
    stored = sum(aligned(b) for b in weights.values())
    return {"feature_map": size, "weights": stored, "workspace": aligned(scratch), "reuse_saved": saved}


def _weight_bytes(name: str, step: Step, types: Mapping[str, Operand]) -> int:
    if step.lowered is not None and step.lowered.stored and name in step.unit.head.input:
        stored = step.lowered.stored.get(list(step.unit.head.input).index(name))
        if stored is not None:
            return replace(types[name], dims=stored.dims).bytes
    return types[name].bytes
