"""A built operator: its predicted time and counters, a picture of its pipeline, and its arithmetic in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu import soc
from npu.cost import Cost, Work, kernel, pmu
from npu.cost.chip import memory_share, vector_task
from npu.soc import Soc
from npu.tbe.picture import picture
from npu.tbe.predict import Prediction, predict
from npu.tbe.schedule import Schedule
from npu.tbe.tensor import Operation, Tensor, evaluate

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
    name = name or out.name
    if out.operation is not None and out.operation.kind == "matmul":
        return Kernel(name, schedule, chip, kernel(_product(out, out.operation), chip), None)
    made = predict(schedule, chip)
    return Kernel(name, schedule, chip, _cost(out, made, chip), made)


def _product(out: Tensor, operation: Operation) -> Work:
    (m, n), k = out.shape, int(str(operation.attributes["k"]))
    return Work("matmul", "MatMulV2", out.dtype, (1, m, n, k), sum(t.bytes for t in operation.inputs), out.bytes)


def _cost(out: Tensor, made: Prediction, chip: Soc) -> Cost:
    """The prediction as the cost of any kernel, so that the counters follow from it."""
    duration = max(1, round(made.us * 1000))
    core = pmu.core_us(made.us)
    ns = 1000 * made.loops
    work = Work("vector", out.name, out.dtype, (out.elements, 1), made.read, made.written)
    units = {u: min(core * 1000, v * ns) for u, v in made.loop._asdict().items()}
    if chip.split:
        units = {f"aiv_{'vec' if u == 'vector' else u}": v for u, v in units.items()} | {"aiv_time": core * 1000}
    else:
        units = {"aiv_vec": units["vector"], "aic_scalar": units["scalar"], "aic_mte2": units["mte2"], "aiv_mte3": units["mte3"],
                 "aic_time": core * 1000}  # fmt: skip
    return Cost(duration, vector_task(chip), made.cores, hbm_share=memory_share(work, duration, chip), **units)
