"""How long a scheduled vector kernel takes, engine by engine.

A core works tile by tile: MTE2 brings operands into UB, the vector (or scalar) unit computes, MTE3 takes the result out.
  transfer    cycles = bytes / rate + runs * BURST, a run being what lies together in memory
  vector      REPEAT_CYCLES for 256 bytes that lie together; without an instruction the scalar unit takes SCALAR_CYCLES an element
  loops       and the whole chip: npu.cost.scheduled
Rates from the Add and copy samples of asc-devkit on 910B1: one core reads 268 MB in 6032 us (24 bytes a cycle) and writes 134
MB in 2612 us (28), its vector unit takes 760 us for 524288 repeats; runs of 128 bytes instead of 2048 take 2.6 times as long;
the scalar loop takes 18.5 ns an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import NamedTuple

from npu.cost import chip as rates
from npu.cost.chip import itemsize
from npu.cost.scheduled import STEPS, kernel_us
from npu.soc import Soc
from npu.tbe.limits import BLOCK, TbeError, check_aligned, check_capacity
from npu.tbe.schedule import Axis, Schedule
from npu.tbe.tensor import Tensor

IN_BYTES, OUT_BYTES = 24.0, 28.0  # a cycle and core
BURST = 14.0  # cycles each run costs besides its bytes
REPEAT_CYCLES = 2.7
SCALAR_CYCLES = 34.0
TRANSCENDENTAL = 4.0  # exp, log, sqrt, division, transposition: repeats of a plain instruction (unverified)
SLOW = ("vector_exp", "vector_ln", "vector_sqrt", "vector_div", "vector_rec", "vector_transpose")


class Loop(NamedTuple):
    """One tile of a core, us by engine."""

    mte2: float
    vector: float
    scalar: float
    mte3: float

    @property
    def compute(self) -> float:
        return self.vector + self.scalar


class Prediction(NamedTuple):
    """us: of the kernel. held: bytes of UB by tensor. run: bytes that lie together in one transfer of the output."""

    us: float
    loop: Loop
    loops: int
    cores: int
    doubled: bool
    held: dict[str, int]
    run: int
    read: int
    written: int


class Tile(NamedTuple):
    """What one loop handles: elements of the widest tensor, how many of them lie together, loops of one core, cores."""

    elements: int
    run: int
    loops: int
    cores: int


def tile(schedule: Schedule, chip: Soc) -> Tile:
    """The tile all attached stages share; without any, one element at a time on one core."""
    stage = schedule[schedule.out]
    at = [s.attached[1] for s in (*schedule.cached.values(), *schedule.stages.values()) if s.attached is not None]
    cut = max((stage.axes.index(a) for a in at if a in stage.axes), default=-1) + 1
    if not at:
        cut = len(stage.axes)
    bound = stage.bound.extent if stage.bound is not None else 1
    cores = min(bound, rates.vector_cores(chip))
    outer = prod(a.extent for a in stage.axes[:cut]) // bound
    inside = stage.axes[cut:]
    return Tile(prod(a.extent for a in inside), run(inside, schedule.dims()), outer * ceil(bound / cores), cores)


def run(axes: list[Axis], shape: Sequence[int]) -> int:
    """Elements of a tile that lie together: from the innermost axis outward as long as whole last dimensions are covered."""
    dims = list(shape)
    together, last = 1, len(dims) - 1
    left = dims[last]
    for axis in reversed(axes):
        if last < 0 or last not in axis.dims:
            break
        together *= axis.extent
        span = prod(dims[d] for d in axis.dims)
        if len(axis.dims) > 1:
            if axis.extent < span:
                break
            last = min(axis.dims) - 1
            left = dims[last] if last >= 0 else 0
            continue
        left = ceil(left / axis.extent)
        if left <= 1:
            last -= 1
            left = dims[last] if last >= 0 else 0
    return together


def _share(tensor: Tensor, schedule: Schedule, elements: int) -> int:
    """Elements of a tensor that belong to a tile of so many elements of the widest one."""
    return max(1, ceil(elements * tensor.elements / schedule.root.elements))


def predict(schedule: Schedule, chip: Soc) -> Prediction:
    """The time of a vector kernel. TbeError: a tile does not fit UB, or a transfer is not aligned."""
    cut = tile(schedule, chip)
    cached = schedule.cached
    held = {}
    for tensor in schedule.tensors:
        stage = cached.get(tensor) or schedule[tensor]
        if stage.inlined or (tensor not in cached and stage.scope == "global"):
            continue
        size = _share(tensor, schedule, cut.elements) * itemsize(tensor.dtype)
        held[tensor.name] = ceil(size / BLOCK) * BLOCK * (2 if stage.doubled else 1)
    check_capacity("local.UB", held, chip)
    inputs = [t for t in schedule.tensors if t.operation is None]
    read = written = 0.0
    for tensor in inputs:
        read += _transfer(tensor, schedule, cut, IN_BYTES)
    out_run = cut.run if schedule.out.elements == schedule.root.elements else _share(schedule.out, schedule, cut.elements)
    written += _transfer(schedule.out, schedule, cut, OUT_BYTES)
    vector = scalar = 0.0
    for tensor in schedule.tensors:
        if tensor.operation is None:
            continue
        stage = cached[tensor] if tensor in cached and cached[tensor].instruction else schedule[tensor]
        width = max(cut.elements if tensor.operation.kind == "reduce" else 0, _share(tensor, schedule, cut.elements))
        if stage.instruction and stage.instruction != "dma_copy":
            _check_operands(tensor, schedule)
            together = max(1, min(cut.run, width))
            repeats = width / together * ceil(together / rates.lanes(chip, tensor.dtype))
            vector += repeats * REPEAT_CYCLES * (TRANSCENDENTAL if stage.instruction in SLOW else 1)
        else:
            scalar += width * SCALAR_CYCLES
    clock = chip.cube_mhz
    loop = Loop(read / clock, vector / clock, scalar / clock, written / clock)
    doubled = bool(cached) and all(s.doubled for s in cached.values())
    engines = (read * STEPS, (vector + scalar) * STEPS, written * STEPS)
    moved = sum(t.bytes for t in inputs) + schedule.out.bytes
    us = kernel_us(engines, cut.loops, doubled, moved, chip)
    held_run = out_run * itemsize(schedule.out.dtype)
    return Prediction(us, loop, cut.loops, cut.cores, doubled, held, held_run, moved - schedule.out.bytes, schedule.out.bytes)


def _check_operands(tensor: Tensor, schedule: Schedule) -> None:
    """TbeError when a vector instruction would have to read or write global memory."""
    for used in (*(tensor.operation.inputs if tensor.operation is not None else ()), tensor):
        stage = schedule.cached.get(used) or schedule[used]
        if stage.scope == "global" and not stage.inlined:
            raise TbeError(
                f"{tensor.name} is a vector instruction and {used.name} lies in global memory",
                "cache_read operands, cache_write the output, or set_scope local.UB",
            )


def _transfer(tensor: Tensor, schedule: Schedule, cut: Tile, rate: float) -> float:
    """Cycles one tile of a tensor takes between memory and UB."""
    if tensor not in schedule.cached:
        return 0.0  # the scalar unit goes to memory itself, which SCALAR_CYCLES holds
    elements, size = _share(tensor, schedule, cut.elements), itemsize(tensor.dtype)
    together = min(elements, cut.run) if tensor.elements == schedule.root.elements else elements
    whole = elements == tensor.elements or tensor.elements != schedule.root.elements
    check_aligned(tensor.name, together * size, whole)
    runs = elements / together
    return runs * (max(BLOCK, together * size) / rate + BURST)
