"""Environment knobs of the simulator, read once per process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from npu.units import parse_size

CLOCKS = ("hybrid", "model", "realtime")


@dataclass(frozen=True, slots=True)
class Knobs:
    """clock: NPU_CLOCK; compute: NPU_COMPUTE (off skips arithmetic);
    visible: ASCEND_RT_VISIBLE_DEVICES as written, None when unset; epoch: NPU_EPOCH, unix ns of time zero shared by a job;
    patience: NPU_PATIENCE, real seconds a late rank of a job is waited for; stacks: NPU_STACKS=1, the whole Python stack with
    each recorded call; hazards: NPU_HAZARDS=1, look for accesses that nothing orders; memory_limit: ACL_RT_MEM_MAX_SIZE, bytes a
    process may hold on a device, 0 for all (a size such as 40GB; its real form is unverified); memory_waits: NPU_MEMORY_WAIT,
    whether calls that map or unmap pages of a device wait for its work."""

    clock: str = "hybrid"
    compute: bool = True
    visible: str | None = None
    epoch: int | None = None
    patience: float = 60.0
    stacks: bool = False
    hazards: bool = False
    memory_limit: int = 0
    memory_waits: bool = True

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Knobs:
        """From the environment. ValueError names a clock that does not exist."""
        env = os.environ if environ is None else environ
        clock = env.get("NPU_CLOCK", "hybrid") or "hybrid"
        if clock not in CLOCKS:
            raise ValueError(f"NPU_CLOCK={clock}: choose one of {', '.join(CLOCKS)}")
        epoch = env.get("NPU_EPOCH", "")
        patience = env.get("NPU_PATIENCE", "")
        return cls(
            clock,
            env.get("NPU_COMPUTE", "").lower() not in ("off", "0"),
            env.get("ASCEND_RT_VISIBLE_DEVICES"),
            int(epoch) if epoch.isdigit() else None,
            float(patience) if patience.replace(".", "", 1).isdigit() else 60.0,
            env.get("NPU_STACKS", "") == "1",
            env.get("NPU_HAZARDS", "") == "1",
            _size(env.get("ACL_RT_MEM_MAX_SIZE", "")),
            env.get("NPU_MEMORY_WAIT", "") != "0",
        )


def _size(text: str) -> int:
    """Bytes; 0 for what is no size."""
    try:
        return parse_size(text)
    except ValueError:
        return 0
