"""A model as metadata texts of its file, and back. Everything read is checked, because model files come from strangers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from npu.aipp import read as read_aipp
from npu.cost.kernel import FORMS, MAY_BE_ZERO, fits
from npu.cost.work import Work
from npu.dtypes import DTYPES
from npu.om.records import BadModel, Kernel, Model, Tensor

MOST_WORK = 1 << 60  # elements or bytes of a kernel
PREFIX = "npu."
_WORK = ("form", "op", "dtype", "dims", "read_bytes", "write_bytes", "epilogue")
_KERNEL = (
    "name",
    "op_type",
    "in_shapes",
    "in_dtypes",
    "in_formats",
    "out_shapes",
    "out_dtypes",
    "out_formats",
    "origin",
    "stream",
)


def to_metadata(model: Model) -> dict[str, str]:
    """The metadata entries of a model: JSON texts, the kernels as columns."""
    plan = {"memory": model.memory, "gears": model.gears, "dynamic": model.dynamic, "tasks": _columns(model.kernels)}
    if model.gear_kernels:
        plan["gear_tasks"] = [_columns(kernels) for kernels in model.gear_kernels]
    if model.planned:
        plan["planned"] = model.planned
    if model.events:
        plan["events"] = model.events
    if model.lifetimes:
        plan["lifetimes"] = model.lifetimes
    if model.aipp:
        plan["aipp"] = [a.facts() for a in model.aipp]
    return {
        PREFIX + "soc": model.soc,
        PREFIX + "build": json.dumps(model.build),
        PREFIX + "io": json.dumps({"inputs": [asdict(t) for t in model.inputs], "outputs": [asdict(t) for t in model.outputs]}),
        PREFIX + "plan": json.dumps(plan, separators=(",", ":")),
    }


def _columns(kernels: Iterable[Kernel]) -> dict[str, list[Any]]:
    rows = list(kernels)
    tasks: dict[str, list[Any]] = {n: [getattr(k, n) for k in rows] for n in _KERNEL}
    if any(k.work.schedule for k in rows):
        tasks["work_schedule"] = [k.work.schedule for k in rows]
    return tasks | {f"work_{n}": [getattr(k.work, n) for k in rows] for n in _WORK}


def _kernels(tasks: dict[str, list[Any]], path: str) -> tuple[Kernel, ...]:
    """The inverse of _columns. BadModel for columns of unequal length; KeyError, TypeError, ValueError for malformed ones."""
    count = len(tasks["name"])
    if any(len(tasks[n]) != count for n in (*_KERNEL, *(f"work_{w}" for w in _WORK))):
        raise BadModel(path, "the task list has columns of unequal length")
    tuned = tasks.get("work_schedule", [()] * count)
    works = [_work(*row) for row in zip(*(tasks[f"work_{n}"] for n in _WORK), tuned, strict=True)]
    return tuple(
        Kernel(work=w, **dict(zip(_KERNEL, row, strict=True)))
        for w, row in zip(works, zip(*(tasks[n] for n in _KERNEL), strict=True), strict=True)
    )


def from_metadata(meta: dict[str, str], path: str = "") -> Model:
    """The inverse of to_metadata; BadModel names what is missing or malformed."""
    try:
        build, io, plan = (json.loads(meta[PREFIX + n]) for n in ("build", "io", "plan"))
        kernels = _kernels(plan["tasks"], path)
        inputs, outputs = (tuple(_tensor(t) for t in io[n]) for n in ("inputs", "outputs"))
        if not isinstance(build, dict):
            raise ValueError("build is no table")
        gears = tuple({n: tuple(d) for n, d in g.items()} for g in plan.get("gears", ()))
        return Model(
            meta[PREFIX + "soc"],
            build,
            inputs,
            outputs,
            kernels,
            plan.get("memory", {}),
            gears,
            bool(plan.get("dynamic")),
            tuple(_kernels(t, path) for t in plan.get("gear_tasks", ())),
            {n: tuple(int(d) for d in dims) for n, dims in plan.get("planned", {}).items()},
            tuple((int(a), int(b)) for a, b in plan.get("events", ())),
            tuple(read_aipp(a) for a in plan.get("aipp", ())),
            tuple((str(n), int(a), int(b), int(size)) for n, a, b, size in plan.get("lifetimes", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:  # Infinity is JSON to Python
        raise BadModel(path, f"metadata entry missing or malformed: {error}") from error


def _work(
    form: str, op: str, dtype: str, dims: list[int], read_bytes: int, write_bytes: int, epilogue: int, schedule: list[int]
) -> Work:
    """ValueError or TypeError for a Work that the cost model would refuse: it must not come up while a model runs."""
    names = FORMS[form][0]
    if len(dims) != len(names) or dtype not in DTYPES:
        raise ValueError(f"work {form} {dtype} with {len(dims)} dims")
    figures = (*(int(d) for d in dims), int(read_bytes), int(write_bytes), int(epilogue))
    tuned = tuple(int(s) for s in schedule)
    if not fits(form, tuned) or max(tuned, default=0) > MOST_WORK:
        raise ValueError(f"work {form} with the schedule {tuned}")
    if min(figures) < 0 or (names[0] not in MAY_BE_ZERO and min(figures[: len(names)]) < 1) or max(figures) > MOST_WORK:
        raise ValueError(f"work {form} with figures {figures}")
    read, written, behind = figures[len(names) :]
    return Work(form, op, dtype, figures[: len(names)], read, written, behind, tuned)


def _tensor(entry: dict[str, Any]) -> Tensor:
    dims = tuple(int(d) for d in entry["dims"])
    made = Tensor(entry["name"], entry["dtype"], dims, entry["format"], int(entry.get("picture", 0)))
    if made.dtype not in DTYPES:
        raise ValueError(f"data type {made.dtype!r}")
    if made.picture < 0 or (made.picture and len(dims) != 4):
        raise ValueError(f"a picture of {made.picture} bytes in {len(dims)} dims")
    return made
