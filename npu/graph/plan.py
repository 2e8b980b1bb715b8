"""The task list: every unit's kernel with storage shapes and Work, the conversions between them, streams and memory figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from npu.cost import kernel as kernel_cost
from npu.cost.work import Work
from npu.dtypes import DTYPES
from npu.graph import const_to_attr, custom, format, notask, stream_plan
from npu.graph.bank import EMPTY, Bank
from npu.graph.kernels import Unit
from npu.graph.lowering import Lowering, lower_unit
from npu.graph.precision_modes import FLOAT, Choice, Precision, assign, seen, working
from npu.graph.step import Step
from npu.graph.value_memory import memory
from npu.om import Kernel
from npu.ops.node import Node, Operand, Stored
from npu.ops.registry import lower
from npu.soc import Soc

PLANES = format.PLANES


@dataclass(frozen=True)
class Plan:
    """formats: TransData inserted and cancelled; events: pairs of kernels that order streams; free: pass -> concatenations that
    need no kernel for it, and kernels whose axes became attributes; lifetimes: as of npu.om.Model."""

    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...] = ()  # of the steps, with casts and format conversions in their places
    memory: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    events: tuple[tuple[int, int], ...] = ()
    free: dict[str, int] = field(default_factory=dict)
    lifetimes: tuple[tuple[str, int, int, int], ...] = ()


@dataclass(frozen=True)
class Target:
    """What a plan is made for: chip, working precision, format of the inputs, reuse of memory, one stream only, the passes that
    leave out kernels, tuned schedules."""

    chip: Soc
    precision: Precision
    input_format: str = "NCHW"
    reuse: bool = True
    single_stream: bool = False
    notask: tuple[str, ...] = ()
    bank: Bank = EMPTY
    own_schedules: bool = True  # of operators of one's own, where they have one
    attributes: bool = True  # constant axes are attributes of kernels


@dataclass(frozen=True)
class Placed:
    """A kernel with the values it reads and makes, by name."""

    kernel: Kernel
    reads: tuple[str, ...]
    makes: tuple[str, ...]


class Inserted:
    """Kernels the converter adds: trans_Cast_0, trans_TransData_1 ... with one counter for the whole model."""

    def __init__(self, input_format: str) -> None:
        self.input_format, self.count = input_format, 0

    def cast(self, source: Operand, target: Operand, blocked: bool = False) -> Placed:
        node = Node(self._name("Cast"), "Cast", (source,), (target,), {})
        lowered = lower(node)
        if lowered is None:
            raise ValueError("a cast always has a kernel")
        both = [format.stored(v, blocked, self.input_format) for v in (source, target)]
        return Placed(_kernel(node.name, lowered.op_type, lowered.work, both[:1], both[1:], ""), (source.name,), (target.name,))

    def trans_data(self, value: Operand, to_blocks: bool) -> Placed:
        """Reads one format and writes the other; the blocks hold the padding too."""
        name = self._name("TransData")
        plain, blocks = (format.stored(value, b, self.input_format) for b in (False, True))
        source, target = (plain, blocks) if to_blocks else (blocks, plain)
        read, written = (int(prod(s.dims) * value.element_bytes) for s in (source, target))
        work = Work("layout", "TransData", value.dtype, (prod(target.dims), 1), read, written)
        return Placed(_kernel(name, "TransData", work, [source], [target], ""), (value.name,), (value.name,))

    def _name(self, kind: str) -> str:
        self.count += 1
        return f"trans_{kind}_{self.count - 1}"


def make_plan(
    units: Sequence[Unit], types: Mapping[str, Operand], inputs: Sequence[str], outputs: Sequence[str], target: Target
) -> Plan:
    """The plan of a model whose units run in that order. types: every value's; inputs and outputs: names of the model's."""
    choices, held = assign(units, types, target.precision, target.chip)
    views = [seen(unit, types, choice) for unit, choice in zip(units, choices, strict=True)]
    lowered = [lower_unit(unit, view) for unit, view in zip(units, views, strict=True)]
    lowered = [custom.scheduled(made, target.chip, target.own_schedules) for made in lowered]
    lowered, attributed = const_to_attr.applied(lowered, target.attributes)
    inner = {name: working(value, held.get(name, FLOAT)) for name, value in types.items()}
    for view in views:
        inner |= {n: v for n, v in view.items() if v.constant}
    aliases = reshaped(units, lowered)
    chosen = format.choose(lowered, outputs, aliases, target.input_format == "ND")
    free = notask.found(units, lowered, chosen, {*inputs, *outputs}, target.notask)
    add = Inserted(target.input_format)
    before: dict[int, list[Placed]] = {}
    for at, name, half in _casts(units, choices, types, held, inputs):
        before.setdefault(at, []).append(add.cast(inner[name], working(types[name], half), name in chosen.blocked))
    placed = before.pop(-1, [])
    for at, name, to_blocks in chosen.conversions:
        value = views[at].get(name, inner[name]) if at < len(views) else inner[name]
        before.setdefault(at, []).append(add.trans_data(value, to_blocks))
    steps: list[Step] = []
    for at, (unit, made) in enumerate(zip(units, lowered, strict=True)):
        placed += before.get(at, [])
        if made is None:
            steps.append(Step(unit, None, None, choices[at]))
            continue
        if at in free:
            steps.append(Step(unit, None, made.lowered, choices[at]))
            continue
        kernel = _planned(unit, made, chosen.wants[at], chosen.blocked, target.input_format)
        steps.append(Step(unit, kernel, made.lowered, choices[at]))
        placed.append(Placed(kernel, unit.inputs, unit.outputs))
    placed += before.get(len(units), [])
    placed += [add.cast(inner[n], types[n]) for n in outputs if types[n].dtype != inner[n].dtype]
    if target.bank.entries:
        placed = [replace(p, kernel=target.bank.scheduled(p.kernel)) for p in placed]
    streams = _streams(placed, aliases, notask.places(units, free), target)
    kernels = tuple(replace(p.kernel, stream=s) if s else p.kernel for p, s in zip(placed, streams.stream, strict=True))
    sizes, lifetimes = memory(steps, inner, inputs, outputs, target.reuse)
    return Plan(
        tuple(steps),
        kernels,
        sizes,
        {"trans_data": chosen.inserted, "trans_data_cancelled": chosen.cancelled},
        streams.events,
        dict(Counter(free.values())) | ({const_to_attr.NAME: attributed} if attributed else {}),
        lifetimes,
    )


def unplanned(units: Sequence[Unit], types: Mapping[str, Operand], precision: Precision, chip: Soc) -> Plan:
    """The steps of a model whose plans are those of its gears: only whether a unit computes, and in what type, matters."""
    choices, _ = assign(units, types, precision, chip)
    made = [lower_unit(unit, seen(unit, types, choice)) for unit, choice in zip(units, choices, strict=True)]
    return Plan(tuple(Step(u, None, m.lowered if m else None, c) for u, m, c in zip(units, made, choices, strict=True)))


def _casts(
    units: Sequence[Unit],
    choices: Sequence[Choice],
    types: Mapping[str, Operand],
    held: Mapping[str, str],
    inputs: Sequence[str],
) -> list[tuple[int, str, str]]:
    """(unit it stands before, value, type) of each change of type between kernels, once for a value and type. Inputs of the
    model change at the start (unit -1), in their order."""
    first: list[tuple[int, str, str]] = []
    later: list[tuple[int, str, str]] = []
    known: set[tuple[str, str]] = set()
    outside = set(inputs)
    for at, (unit, choice) in enumerate(zip(units, choices, strict=True)):
        for name in unit.inputs:
            value = types.get(name)
            if value is None or value.constant or value.dtype != FLOAT or held.get(name, FLOAT) == choice.reads:
                continue
            if (name, choice.reads) not in known:
                known.add((name, choice.reads))
                place, where = (-1, first) if name in outside else (at, later)
                where.append((place, name, choice.reads))
    return [*sorted(first, key=lambda c: list(inputs).index(c[1])), *later]


def reshaped(units: Sequence[Unit], lowered: Sequence[Lowering | None]) -> dict[str, str]:
    """Value -> the value it is the same memory as, for units without a kernel."""
    aliases: dict[str, str] = {}
    for unit, made in zip(units, lowered, strict=True):
        if made is None and unit.inputs:
            for name in unit.outputs:
                aliases[name] = aliases.get(unit.inputs[0], unit.inputs[0])
    return aliases


def _planned(unit: Unit, made: Lowering, wants: set[str], blocked: set[str], input_format: str) -> Kernel:
    """The kernel in its storage formats; blocks hold padding, so they weigh more. wants, blocked: what it reads, and what is
    made, in blocks."""
    heavy = made.lowered.work.form in format.HEAVY
    reads: list[Stored] = []
    padding = 0
    for value in made.reads:
        fixed = (made.lowered.stored or {}).get(made.node.inputs.index(value)) if value in made.node.inputs else None
        reads.append(fixed or format.stored(value, value.name in wants, input_format, heavy))
        if value.name in wants:
            padding += int(prod(reads[-1].dims) * value.element_bytes) - value.bytes
    writes = [format.stored(w, w.name in blocked, input_format, heavy) for w in made.writes]
    work = made.lowered.work
    if wants or any(w.name in blocked for w in made.writes):
        grown = sum(int(prod(s.dims) * w.element_bytes) - w.bytes for s, w in zip(writes, made.writes, strict=True))
        work = replace(work, read_bytes=work.read_bytes + padding, write_bytes=work.write_bytes + grown)
    return _kernel(unit.name, made.lowered.op_type, work, reads, writes, unit.origin)


def _kernel(name: str, op_type: str, work: Work, reads: Sequence[Stored], writes: Sequence[Stored], origin: str) -> Kernel:
    def column(tensors: Sequence[Stored], what: str) -> str:
        if what == "shapes":
            return ";".join(",".join(str(d) for d in t.dims) for t in tensors)
        if what == "dtypes":
            return ";".join(DTYPES[t.dtype][2] if t.dtype in DTYPES else t.dtype.upper() or "UNDEFINED" for t in tensors)
        return ";".join(t.format for t in tensors)

    return Kernel(
        name,
        op_type,
        work,
        column(reads, "shapes"),
        column(reads, "dtypes"),
        column(reads, "formats"),
        column(writes, "shapes"),
        column(writes, "dtypes"),
        column(writes, "formats"),
        origin,
    )


def _streams(
    placed: Sequence[Placed], aliases: Mapping[str, str], places: Mapping[str, tuple[str, ...]], target: Target
) -> stream_plan.Streams:
    """places: values that have no kernel of their own, and what they are made of."""
    maker: dict[str, int] = {}
    needs: list[list[int]] = []

    def makers(name: str) -> set[int]:
        name = aliases.get(name, name)
        if name in maker:
            return {maker[name]}
        return {m for part in places.get(name, ()) for m in makers(part)}

    for at, each in enumerate(placed):
        needs.append(sorted({m for r in each.reads for m in makers(r)}))
        maker |= dict.fromkeys(each.makes, at)
    durations = [kernel_cost(p.kernel.work, target.chip).duration for p in placed]
    return stream_plan.assign(needs, durations, target.single_stream)
