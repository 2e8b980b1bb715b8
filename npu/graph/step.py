"""One unit of a plan and the kernel it becomes."""

from __future__ import annotations

from dataclasses import dataclass

from npu.graph.kernels import Unit
from npu.graph.precision_modes import Choice
from npu.om import Kernel
from npu.ops.node import Lowered


@dataclass(frozen=True)
class Step:
    """A unit and the kernel it becomes; None where it needs none. choice: the types it reads and writes float32 in."""

    unit: Unit
    kernel: Kernel | None
    lowered: Lowered | None
    choice: Choice
