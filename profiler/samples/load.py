"""Samples of how busy a device is: its cores, and the power that follows from them (npu.power, as npu-smi shows it)."""

from __future__ import annotations

import numpy as np

from npu import soc
from npu.power import activity, watts
from profiler.samples import hardware_memory, rates
from profiler.trace import Array, Trace

CUBE, VECTOR, POWER = "AI Core Utilization(%)", "AI Vector Utilization(%)", "Power(W)"


def series(trace: Trace, device: int, times: Array) -> list[tuple[str, Array, Array]]:
    """(name, times, values since the time before) of a device; nothing for a chip that is not known or without kernels.

    A core counts as busy while a kernel has a block on it. MIX kernels hold block_dim cores of the kind they are named after and
    mix_block_dim of the other.
    """
    task = trace.task
    try:
        chip = soc.find(str(trace.meta.get("soc", "")))
    except KeyError:
        return []
    kernels = trace.tasks_of("kernel") & (task["device"] == device) if task else np.zeros(0, bool)
    if not kernels.any():
        return []
    block, mixed = (np.maximum(task.filled(n), 0) for n in ("block_dim", "mix_block_dim"))
    type_of, kind = trace.strings, task.filled("task_type")
    named_vector = type_of.flags(lambda text: text in ("AI_VECTOR_CORE", "MIX_AIV"))[kind]
    mix = type_of.flags(lambda text: text in ("MIX_AIC", "MIX_AIV"))[kind]
    cube = np.where(named_vector, np.where(mix, mixed, 0), block)
    vector = np.where(named_vector, block, np.where(mix, mixed, 0))
    length = np.diff(times)

    def share(cores: Array, of: int) -> Array:
        spent = np.where(kernels, np.minimum(cores / max(of, 1), 1.0) * (task["end"] - task["start"]), 0.0)
        made: Array = np.minimum(np.diff(rates.by(task["start"], task["end"], spent, times)) / length, 1.0)
        return made

    aic = share(cube, chip.aic)
    aiv = share(vector, chip.aiv) if chip.aiv else np.zeros(len(length))
    memory = sum(rate for _, _, rate in hardware_memory.traffic(trace, device, times))
    hbm = np.minimum(memory * rates.MB / 1e9 / chip.memory_gbps, 1.0) * np.ones(len(length))
    power = [watts(chip, device, activity(*(round(1000 * x) for x in point))) for point in zip(aic, aiv, hbm, strict=True)]
    made = [(CUBE, times[1:], 100 * aic)]
    if chip.aiv:
        made.append((VECTOR, times[1:], 100 * aiv))
    if all(w is not None for w in power):
        made.append((POWER, times[1:], np.array(power, np.float64)))
    return made
