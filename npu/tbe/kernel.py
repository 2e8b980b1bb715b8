"""A built operator: its predicted time and counters, a picture of its pipeline, and its arithmetic in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu import soc
from npu.cost import Cost, Work, kernel
from npu.cost.scheduled import STEPS
from npu.soc import Soc
from npu.tbe.picture import picture
from npu.tbe.predict import Prediction, predict
from npu.tbe.schedule import Schedule
from npu.tbe.tensor import Tensor, evaluate

if TYPE_CHECKING:
    from npu.tbe.tensor import Array


@dataclass(frozen=True)
class Kernel:
    """name: of the kernel; prediction: None for a product of matrices, which the cost model tiles itself."""

    name: str
    schedule: Schedule
    chip: Soc
    cost: Cost
    prediction: Prediction | None

    @property
    def us(self) -> float:
        """Predicted time of one run."""
        return self.cost.duration / 1000

    def run(self, **feeds: Array) -> Array:
        """The output for operands by name, computed by numpy; TbeError when one is missing or does not fit."""
        return evaluate([self.schedule.out], feeds)[0]

    def picture(self, width: int = 72) -> str:
        """Who works when over the first tiles of a core, as text."""
        return picture(self.prediction, width) if self.prediction is not None else f"{self.name}: {self.us:.2f} us on the cube"


def build(schedule: Schedule, name: str = "", chip: Soc | None = None) -> Kernel:
    """The kernel of a schedule on a chip (default: the default machine's). TbeError when the schedule does not fit it."""
    chip = soc.find(soc.DEFAULT) if chip is None else chip
    out = schedule.out
    made = None if is_product(out) else predict(schedule, chip)
    return Kernel(name or out.name, schedule, chip, kernel(work_of(schedule, out.name, chip, made), chip), made)


def is_product(out: Tensor) -> bool:
    """Whether the last operation is a product of matrices, which the cost model tiles itself."""
    return out.operation is not None and out.operation.kind == "matmul"


def work_of(schedule: Schedule, name: str, chip: Soc, made: Prediction | None = None) -> Work:
    """The Work of a schedule, as a model file stores it. made: its prediction, if there is one. TbeError as for build()."""
    out = schedule.out
    if out.operation is not None and is_product(out):
        (m, n), k = out.shape, int(str(out.operation.attributes["k"]))
        return Work("matmul", "MatMulV2", out.dtype, (1, m, n, k), sum(t.bytes for t in out.operation.inputs), out.bytes)
    made = predict(schedule, chip) if made is None else made
    engines = (round(us * chip.cube_mhz * STEPS) for us in (made.loop.mte2, made.loop.vector, made.loop.scalar, made.loop.mte3))
    dims = (*engines, made.loops, made.cores, 2 if made.doubled else 1)
    return Work("scheduled", name, out.dtype, dims, made.read, made.written)
