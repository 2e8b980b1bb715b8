"""The schedule found without help: cores, tile and buffers, by trying what fits and predicting each."""

from __future__ import annotations

from npu import soc
from npu.cost.chip import itemsize, vector_cores
from npu.soc import Soc
from npu.tbe.limits import BLOCK, TbeError
from npu.tbe.predict import predict
from npu.tbe.schedule import Schedule, create_schedule
from npu.tbe.tensor import Tensor

MULTI_CORE = 1024  # elements from which on more than one core is used
SMALLEST = 128


def auto_schedule(out: Tensor, chip: Soc | None = None) -> Schedule:
    """The fastest of the schedules tried, by the prediction. TbeError when none fits the chip.

    A product of matrices needs no choice here: the cost model searches its tiling.
    """
    chip = soc.find(soc.DEFAULT) if chip is None else chip
    plain = create_schedule(out)
    if out.operation is not None and out.operation.kind == "matmul":
        return plain
    best: tuple[float, Schedule] | None = None
    refused: TbeError | None = None
    for cores in _core_counts(plain.root.elements, chip):
        for tile in _tiles(plain, cores):
            for doubled in (True, False):
                try:
                    made = _schedule(out, cores, tile, doubled)
                    us = predict(made, chip).us
                except TbeError as error:
                    refused = error
                    continue
                if best is None or us < best[0]:
                    best = us, made
    if best is None:
        raise refused or TbeError(f"{out.name} has no schedule", "give a larger tensor")
    return best[1]


def _core_counts(elements: int, chip: Soc) -> list[int]:
    every = vector_cores(chip)
    return [1] if elements <= MULTI_CORE else sorted({every, every // 2, 8, 1} - {0}, reverse=True)


def _tiles(schedule: Schedule, cores: int) -> list[int]:
    """Elements of a tile: powers of two up to what a core has to do; with a reduction, rows of whole last dimensions."""
    share = -(-_steps(schedule) // cores)
    tiles = [1 << n for n in range(17) if (1 << n) < share]
    return [*(t for t in tiles if _reduces(schedule) or t >= SMALLEST), share]


def _reduces(schedule: Schedule) -> bool:
    return any(t.operation is not None and t.operation.kind in ("reduce", "transpose", "broadcast") for t in schedule.tensors)


def _steps(schedule: Schedule) -> int:
    elements = schedule.root.elements
    return elements // schedule.root.shape[-1] if _reduces(schedule) and len(schedule.root.shape) > 1 else elements


def _schedule(out: Tensor, cores: int, tile: int, doubled: bool) -> Schedule:
    made = create_schedule(out)
    stage = made[out]
    outer = stage.axes[:-1] if _reduces(made) and len(stage.axes) > 1 else list(stage.axes)
    fused = stage.fuse(*outer) if len(outer) > 1 else outer[0]
    share = -(-fused.extent // cores)
    align = 1 if _reduces(made) else BLOCK // min(itemsize(t.dtype) for t in made.tensors)
    share = -(-share // align) * align
    block, inside = stage.split(fused, factor=share)
    loop, _ = stage.split(inside, factor=min(share, -(-tile // align) * align))
    stage.bind(block)
    for tensor in made.tensors:
        if tensor.operation is None or tensor is out:
            cached = made.cache_read(tensor) if tensor.operation is None else made.cache_write(tensor)
            cached.compute_at(stage, loop)
            cached.emit_insn(None, "vector_auto")
            if doubled:
                cached.double_buffer()
        else:
            made[tensor].set_scope("local.UB")
            made[tensor].compute_at(stage, loop)
            made[tensor].emit_insn(None, "vector_auto")
    stage.emit_insn(None, "dma_copy")
    return made
