"""The task lists of a loaded model: one for a static model, one per gear, and those of a model of open shapes by their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from npu import om
from npu.cost.work import scaled
from npu.device.task import Step

Make = Callable[[om.Kernel], Step]
MOST = 256  # sizes of an open shape that are kept


class Programs:
    """Steps are made when they are first needed: a model of many gears is rarely run in all of them."""

    def __init__(self, model: om.Model, make: Make) -> None:
        self.model, self.make = model, make
        self._made: dict[float, list[Step]] = {}
        self.only: list[Step] | None = None  # of a static model without gears, once it was made

    def forget(self) -> None:
        """Make them anew when they are next needed: what is recorded of a step has changed."""
        self._made.clear()
        self.only = None

    def of(self, gear: int, dims: Sequence[tuple[int, ...]]) -> list[Step]:
        """The task list of a run. gear: number of the chosen one, -1 for none; dims: of the inputs in this run."""
        share = self._share(dims) if self.model.dynamic else 1.0
        key = float(gear) if self.model.gear_kernels else -share
        if key not in self._made:
            if len(self._made) >= MOST:
                self._made.clear()
            kernels = self.model.gear_kernels[gear] if self.model.gear_kernels and gear >= 0 else self.model.kernels
            self._made[key] = [self.make(k if share == 1.0 else replace(k, work=scaled(k.work, share))) for k in kernels]
        if not self.model.dynamic and not self.model.gear_kernels:
            self.only = self._made[key]
        return self._made[key]

    def _share(self, dims: Sequence[tuple[int, ...]]) -> float:
        """How much larger the open inputs are than those the plan was made for."""
        planned = [self.model.planned.get(t.name, t.dims) for t in self.model.inputs]
        opened = [(now, then) for t, now, then in zip(self.model.inputs, dims, planned, strict=False) if -1 in t.dims]
        return max((prod(now) / max(prod(then), 1) for now, then in opened), default=1.0)
