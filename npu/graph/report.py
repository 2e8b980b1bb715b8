"""What became of a model, as facts of its .om: fusions, places left unfused and why, conversions, memory, predicted times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from npu import om
from npu.cost import kernel as kernel_cost
from npu.soc import find

MOST_SEEN = 3  # nodes named of one reason


@dataclass(frozen=True)
class Line:
    """A kernel with its predicted time (ns, uncontended) and the fusions that made it."""

    name: str
    op_type: str
    task_type: str
    origin: tuple[str, ...]
    fused_by: tuple[str, ...]
    duration: int
    bytes: int
    stream: int


@dataclass(frozen=True)
class Unfused:
    """Places where one fusion nearly applied for the same kind of reason."""

    fusion: str
    reason: str
    nodes: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Totals:
    """Kernels, bytes they move through global memory, ns they take one after another, nodes of the original model in them."""

    kernels: int
    bytes: int
    duration: int


@dataclass(frozen=True)
class GraphReport:
    """reuse: share of the memory of all results that reuse saved, 0..1; None when nothing is stored. before: the same model with
    every fusion off, None when the conversion did not measure it. conversions: format conversions there, avoided, and casts."""

    path: str
    soc: str
    cann: str
    precision: str
    kind: str  # static | gears | dynamic
    gears: int
    lines: tuple[Line, ...]
    fusions: dict[str, int]
    unfused: tuple[Unfused, ...]
    conversions: dict[str, int]
    memory: dict[str, int]
    reuse: float | None
    streams: int
    events: int
    after: Totals
    before: Totals | None

    def facts(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self)


def totals(kernels: Iterable[om.Kernel], soc: str) -> Totals:
    chip, rows = find(soc), list(kernels)
    return Totals(
        len(rows),
        sum(k.work.read_bytes + k.work.write_bytes for k in rows),
        sum(kernel_cost(k.work, chip).duration for k in rows),
    )


def read(path: Path) -> GraphReport:
    """The report of a model file; om.BadModel or OSError when it is none."""
    return of(om.load(path), str(path))


def of(model: om.Model, path: str) -> GraphReport:
    """The report of a model; of the largest gear where there are several."""
    build, chip = model.build, find(model.soc)
    fused_by = build.get("fused_by", {})
    lines = []
    for kernel in model.kernels:
        cost = kernel_cost(kernel.work, chip)
        lines.append(
            Line(
                kernel.name,
                kernel.op_type,
                cost.task_type,
                tuple(n for n in kernel.origin.split("+") if n),
                tuple(fused_by.get(kernel.name, ())),
                cost.duration,
                kernel.work.read_bytes + kernel.work.write_bytes,
                kernel.stream,
            )
        )
    memory = dict(model.memory)
    whole = memory.get("feature_map", 0) + memory.get("reuse_saved", 0)
    formats = build.get("formats", {})
    casts = sum(k.op_type == "Cast" and not k.origin for k in model.kernels)
    before = build.get("before")
    return GraphReport(
        path,
        model.soc,
        str(build.get("cann", "")),
        str(build.get("precision_mode", "")),
        "gears" if model.gears else "dynamic" if model.dynamic else "static",
        len(model.gears),
        tuple(lines),
        dict(build.get("fusion", {})),
        grouped(build.get("near_misses", ())),
        {"inserted": int(formats.get("trans_data", 0)), "avoided": int(formats.get("trans_data_cancelled", 0)), "casts": casts},
        memory,
        memory.get("reuse_saved", 0) / whole if whole else None,
        len({k.stream for k in model.kernels}) or 1,
        len(model.events),
        totals(model.kernels, model.soc),
        Totals(*before) if before else None,
    )


def grouped(misses: Sequence[Sequence[str]]) -> tuple[Unfused, ...]:
    """Near misses by fusion and kind of reason (the words without the names in them), the most frequent first."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for fusion, node, reason in misses:
        kind = " ".join(w for w in reason.split() if not any(c in w for c in "/_.:0123456789@"))
        found.setdefault((fusion, kind), []).append((node, reason))
    made = [
        Unfused(fusion, places[0][1], tuple(n for n, _ in places[:MOST_SEEN]), len(places))
        for (fusion, _), places in found.items()
    ]
    return tuple(sorted(made, key=lambda u: (-u.count, u.fusion)))
