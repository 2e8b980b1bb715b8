"""A planned kernel as a step of a program on a stream: how long it takes here, the cores it holds, what is recorded of it."""

from __future__ import annotations

from npu import om
from npu.cost import kernel as kernel_cost
from npu.cost.work import Cost
from npu.device.task import AICPU, KERNEL, Step
from npu.runtime.process import Process
from npu.soc import Soc


def step_of(process: Process, planned: om.Kernel, model_name: str, state: str) -> Step:
    """A planned kernel as a step of a program on this process's chip."""
    chip = process.machine.chip
    cost = kernel_cost(planned.work, chip)
    aic, aiv = cores(cost, chip)
    recording = process.recording
    return Step(
        cost.duration,
        aic,
        aiv,
        cost.hbm_share,
        AICPU if cost.task_type == "AI_CPU" else KERNEL,
        recording.text(planned.name),
        recording.text(cost.task_type),
        recording.kernel(planned, cost, model_name, state),
        planned.name,
    )


def cores(cost: Cost, chip: Soc) -> tuple[int, int]:
    """Cube and vector cores a kernel holds while it runs; none on the AI CPU."""
    if cost.task_type == "AI_CPU":
        return 0, 0
    vector = cost.task_type in ("AI_VECTOR_CORE", "MIX_AIV")
    blocks = max(1, cost.block_dim)
    return 0 if vector else min(blocks, chip.aic), min(blocks if vector else cost.mix_block_dim, chip.vector_cores)
