"""Which chip a profile is from. Files name families only (Ascend910B), so the member is inferred, and the trace says so."""

from __future__ import annotations

import numpy as np

from npu import soc
from profiler.trace import Trace

CUBE, VECTOR = ("AI_CORE", "KERNEL_AICORE", "MIX_AIC", "KERNEL_MIX_AIC"), ("AI_VECTOR_CORE", "KERNEL_AIVEC")


def infer(trace: Trace) -> None:
    """Set meta["soc"]: by its exact name; by the numbers and clock of cores of info.json; by the largest block numbers of the
    kernels and the clock counter. meta["soc_inferred"] names what it was inferred from. Nothing is set when nothing is known."""
    meta = trace.meta
    if "soc" in meta:
        return
    name, cores = str(meta.get("npu_name", "")), meta.get("cores", {})
    # Ascend910B is the name of a family and of one old chip: with members in the table it is taken for the family.
    members = [c for c in soc.table().values() if c.name.startswith(name) and c.name != name] if name else []
    if name and not members:
        try:
            meta["soc"] = soc.find(name).name
        except KeyError:
            return
        return
    fitting = members or list(soc.table().values())
    if cores.get("ai_core_num"):
        exact = [c for c in fitting if c.aic == cores["ai_core_num"] and cores.get("aiv_num", c.aiv) in (c.aiv, 0)]
        _choose(trace, exact, cores.get("aic_frequency", 0), "number and clock of its cores")
        return
    widest = _widest(trace)
    split = any(n.startswith(("aic_", "aiv_")) for n in trace.task) or _larger(widest)
    if widest and (members or split):
        fitting = [c for c in fitting if c.split and (c.aic in widest or c.aiv in widest)]
        _choose(trace, fitting, _clock(trace), "largest block numbers of its kernels")


def _larger(widest: set[int]) -> bool:
    """Kernels fill more cores than the default chip has, as many as another chip of its kind: then it is that one."""
    least = soc.find(soc.DEFAULT).aic
    return any(c.split and c.aic > least and c.aic in widest for c in soc.table().values())


def _choose(trace: Trace, fitting: list[soc.Soc], mhz: int, why: str) -> None:
    """The first of the chips that fit, of those with the right clock when there are any."""
    best = [c for c in fitting if c.cube_mhz == mhz] or fitting
    if best:
        trace.meta["soc"], trace.meta["soc_inferred"] = best[0].name, why


def _clock(trace: Trace) -> int:
    """The highest clock of the frequency counter, MHz; 0 without one."""
    if not trace.counter:
        return 0
    named = np.isin(trace.counter["name"], trace.strings.matching(lambda t: t.startswith("AI Core Freq")))
    known = named & np.isfinite(trace.counter["value"])
    return int(trace.counter["value"][known].max()) if known.any() else 0


def _widest(trace: Trace) -> set[int]:
    """The largest block numbers of cube and of vector kernels: operators that fill the chip use all of its cores."""
    blocks, types = trace.task.get("block_dim"), trace.task.get("task_type")
    if blocks is None or types is None:
        return set()
    made = set()
    for names in (CUBE, VECTOR):
        mine = np.isin(types, [i for i in map(trace.strings.find, names) if i >= 0])
        if mine.any():
            made.add(int(blocks[mine].max()))
    return made - {0, -1}
