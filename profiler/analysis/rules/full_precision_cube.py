"""Rule 18: products run in full precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu.cost.tiling import slowdown
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.edits import SetTo
from profiler.analysis.judge import REPEAT_MIN, Name
from profiler.analysis.rules.kernels import CUBE, computing, of_type, said_of
from profiler.findings import Finding

NAME = Name("full-precision-cube", 18, "graph")
SHARE = 0.10  # of the computing time
ASKED = ("command", "precision_mode", "env")  # facts of a trace that may say so
FORCED = ("must_keep_origin_dtype", "force_fp32")


def full_precision_cube(context: Context) -> Iterator[Finding]:
    """Fires when products and convolutions of DT_FLOAT take 10 % of the computing time. Gain: their time by the ratio of the
    cube's rates (fp32 has a quarter of fp16's; convolutions run in HF32 by default, half of it), but never below what half the
    bytes take. Silent where full precision was asked for."""
    if "in_dtypes" not in context.trace.task or any(_forced(context.trace.meta.get(n, "")) for n in ASKED):
        return
    found = context.views.roofline
    rows = found.row
    first = of_type(context, rows, lambda text: text.startswith(CUBE))
    kinds = context.trace.strings.matching(lambda text: text.split(";")[0] in ("FLOAT", "DT_FLOAT"))
    first &= ~np.isin(column(context.trace, "task", "model")[rows], _kept(context))
    mask = first & np.isin(column(context.trace, "task", "in_dtypes")[rows], kinds)
    chosen = rows[mask]
    duration = context.basis.durations(chosen)
    total = int(duration.sum())
    if len(chosen) < REPEAT_MIN or total < SHARE * computing(context):
        return
    conv = of_type(context, chosen, lambda text: text.startswith(("Conv", "Depthwise")))
    ratio = np.where(conv, slowdown("float32", context.chip, hf32=True), slowdown("float32", context.chip))
    floor = found.bytes[mask] / 2 / context.chip.memory_gbps
    shorter = np.minimum(np.maximum(duration / ratio, floor), duration).astype(np.int64)
    facts = {
        "count": len(chosen),
        "total_ns": total,
        "computing_share": total / computing(context),
        "ratio": float(ratio.max()),
        "saved_ns": int((duration - shorter).sum()),
    }
    yield said_of(context, NAME, facts, chosen, (SetTo(chosen, shorter),), "medium", "model", at_most=True)


def _forced(fact: object) -> bool:
    return any(word in str(fact) for word in FORCED)


def _kept(context: Context) -> list[int]:
    """Models that were converted to keep full precision (meta "model_<number>")."""
    found = []
    for name, facts in context.trace.meta.items():
        head, _, number = name.partition("_")
        build = facts.get("build", {}) if head == "model" and number.isdigit() and isinstance(facts, dict) else {}
        if isinstance(build, dict) and _forced(build.get("precision_mode", "")):
            found.append(int(number))
    return found
