"""One kernel: the family of its Work decides which model computes its Cost."""

from __future__ import annotations

from collections.abc import Callable

from npu.cost.aicpu import aicpu
from npu.cost.attention import attention
from npu.cost.conv import conv, depthwise
from npu.cost.grouped import grouped_matmul
from npu.cost.matmul import matmul
from npu.cost.scheduled import NAMES, scheduled
from npu.cost.vector import vector
from npu.cost.work import Cost, Work
from npu.soc import Soc

# form -> (names of dims, model)
FORMS: dict[str, tuple[tuple[str, ...], Callable[[Work, Soc], Cost]]] = {
    "matmul": (("batch", "m", "n", "k"), matmul),
    "conv": (("n", "ho", "wo", "co", "ci_per_group", "kh", "kw", "groups"), conv),
    "depthwise": (("n", "ho", "wo", "co", "ci_per_group", "kh", "kw", "groups"), depthwise),
    "vector": (("elements", "rows"), vector),
    "row": (("elements", "rows"), vector),
    "across": (("elements", "rows", "steps"), vector),
    "layout": (("elements", "rows"), vector),
    "fill": (("elements", "rows"), vector),
    "attention": (("batch", "heads", "sq", "skv", "d"), attention),
    "grouped_matmul": (("experts", "m", "n", "k"), grouped_matmul),
    "aicpu": (("elements", "rows"), aicpu),
    "scheduled": (NAMES, scheduled),
}
# First dims of the forms whose dims may be 0.
MAY_BE_ZERO = ("elements", NAMES[0])
# form -> what a tuned schedule of it holds; forms not listed have none
SCHEDULES: dict[str, tuple[str, ...]] = {
    "matmul": ("bm", "bn", "split"),
    "conv": ("bm", "bn", "split"),
    "vector": ("block",),
    "row": ("block",),
    "layout": ("block",),
    "fill": ("block",),
    "depthwise": ("block",),
    "scheduled": NAMES,
}


def fits(form: str, schedule: tuple[int, ...]) -> bool:
    """Whether a form can take a schedule; () is always the form's own."""
    least = 0 if form == "scheduled" else 1
    return not schedule or (len(schedule) == len(SCHEDULES.get(form, ())) and min(schedule) >= least)


def kernel(work: Work, soc: Soc) -> Cost:
    """Duration, task type and unit times of one uncontended run of a kernel on a chip.

    An operator the tables do not list takes the generic constants of its form. ValueError: an unknown form, dims that do not
    fit the form or are not positive (elements and rows may be 0), negative bytes, a schedule or type the form cannot have.
    """
    try:
        names, model = FORMS[work.form]
    except KeyError:
        raise ValueError(f"form {work.form!r} has no cost model") from None
    least = 0 if names[0] in MAY_BE_ZERO else 1
    if len(work.dims) != len(names) or min(work.dims) < least:
        raise ValueError(f"{work.form} needs dims ({', '.join(names)}), each at least {least}, not {work.dims}")
    if min(work.read_bytes, work.write_bytes, work.epilogue) < 0:
        raise ValueError(f"{work.form} {work.op}: bytes and epilogue cannot be negative")
    if work.schedule and not fits(work.form, work.schedule):
        raise ValueError(f"{work.form} {work.op} cannot have the schedule {work.schedule}")
    return model(work, soc)
