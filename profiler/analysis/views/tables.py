"""The views as tables of plain values, for reports. Units stand in the column names (_ns, _bytes, _share)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from profiler.analysis.context import Context
from profiler.analysis.views.gap_classes import HOST
from profiler.analysis.views.operators import operators, sequences
from profiler.analysis.views.roofline import PIPES
from profiler.findings import View

Row = Mapping[str, object]
ROWS_MOST = 1000  # of one table; what lies behind is counted in View.total


def tables(context: Context) -> tuple[View, ...]:
    """Every view that has something to show, in the order of the catalogue."""
    made = []
    for name, rows_of in VIEWS:
        rows = list(rows_of(context))
        if rows:
            made.append(View(name, tuple(rows[:ROWS_MOST]), len(rows)))
    return tuple(made)


def _inside(context: Context) -> Iterable[Row]:
    for device, split in context.views.exposed.items():
        if split is None:
            continue
        for what in ("transfer", "waiting", "other"):
            yield {
                "device": device,
                "what": what,
                "time_ns": getattr(split, what),
                "exposed_ns": getattr(split, f"exposed_{what}"),
                "window_share": getattr(split, f"exposed_{what}") / context.length,
            }


def _collectives(context: Context) -> Iterable[Row]:
    found, comm, text = context.collectives, context.trace.comm, context.trace.strings
    for i in np.argsort(-(found.waiting + found.transfer), kind="stable").tolist():
        row = int(found.row[i])
        yield {
            "name": text[int(comm["name"][row])],
            "device": int(comm["device"][row]),
            "start_ns": context.cut.back((int(comm["start"][row]),) * 2)[0],
            "time_ns": int(comm["end"][row] - comm["start"][row]),
            "transfer_ns": int(found.transfer[i]) if found.known[i] else None,
            "waiting_ns": int(found.waiting[i]) if found.known[i] else None,
            "other_ns": int(found.other[i]) if found.known[i] else None,
            "last_rank": int(found.last[i]) if found.last[i] >= 0 else None,
            "lag_ns": int(found.lag[i]) if found.known[i] else None,
        }


def _floors(context: Context) -> Iterable[Row]:
    for device, floor in context.views.floors.items():
        if floor.pairs:
            yield {
                "device": device,
                "floor_ns": floor.ns,
                "half_ns": floor.half if floor.ns is not None else None,
                "p95_ns": floor.high if floor.ns is not None else None,
                "pairs": floor.pairs,
                "queued": floor.queued,
                "cost_ns": floor.cost,
            }


def _idle(context: Context) -> Iterable[Row]:
    for device, gaps in context.views.gaps.items():
        for reason, time in gaps.by_class().items():
            side = "host" if reason in HOST else "device"
            yield {"device": device, "side": side, "reason": reason, "time_ns": time, "window_share": time / context.length}


def _launches(context: Context) -> Iterable[Row]:
    found = context.views.launch_bound
    if found.kernels:
        yield {
            "kernels": found.kernels,
            "short_kernels": found.short,
            "launch_ns": found.launch,
            "delay_ns": found.delay,
            "stretches": len(found.first),
            "stretch_ns": int(found.span.sum()),
            "busy_share": float(found.busy.sum() / max(1, int(found.span.sum()))) if len(found.first) else None,
        }


def _queues(context: Context) -> Iterable[Row]:
    for queue in context.views.queues:
        yield queue._asdict()


def _roofline(context: Context) -> Iterable[Row]:
    found = context.views.roofline
    duration = context.basis.durations(found.row)
    known = found.floor_ns > 0
    for side, mask in (("cube", found.cube), ("vector", ~found.cube)):
        for bound in np.unique(found.bound[mask]).tolist():
            mine = mask & (found.bound == bound)
            told = mine & known
            yield {
                "side": side,
                "bound": PIPES[bound] if bound >= 0 else {-1: "no pipe", -2: "not measured"}[bound],
                "count": int(mine.sum()),
                "time_ns": int(duration[mine].sum()),
                "floor_ns": int(found.floor_ns[told].sum()),
                "efficiency_share": float(found.floor_ns[told].sum() / max(1, int(duration[told].sum()))) if told.any() else None,
            }


def _utilisation(context: Context) -> Iterable[Row]:
    for use in context.views.utilisation:
        yield use._asdict()


def _operators(context: Context) -> Iterable[Row]:
    for op in operators(context.basis, context.views.roofline, context.critical):
        yield {
            "op_type": op.op_type,
            "in_shapes": op.in_shapes,
            "in_dtypes": op.in_dtypes,
            "in_formats": op.in_formats,
            "task_type": op.task_type,
            "count": op.count,
            "total_ns": op.total_ns,
            "time_share": op.share,
            "critical_ns": op.critical_ns,
            "min_ns": op.min_ns,
            "median_ns": op.median_ns,
            "p95_ns": op.p95_ns,
            "cv": op.cv,
            "efficiency_share": op.efficiency,
        }


def _sequences(context: Context) -> Iterable[Row]:
    for found in sequences(context.basis):
        yield {"sequence": " + ".join(found.ops), "count": found.count, "total_ns": found.total_ns}


def _memory(context: Context) -> Iterable[Row]:
    for use in context.views.memory:
        yield {
            "device": use.device,
            "peak_bytes": use.peak_bytes,
            "reserved_bytes": use.reserved_bytes,
            "fragmentation_share": use.fragmentation_share,
            "slope_bytes": use.slope,
            "fit": use.fit,
            "allocs": use.allocs,
            "frees": use.frees,
        }


def _owners(context: Context) -> Iterable[Row]:
    for use in context.views.memory:
        for owner in use.owners:
            yield {"device": use.device, "name": owner.name or "-", "peak_bytes": owner.bytes, "blocks": owner.blocks}


def _copies(context: Context) -> Iterable[Row]:
    for cell in context.views.copies:
        yield {
            "direction": cell.direction or "-",
            "host_kind": cell.host_kind or "-",
            "blocking": cell.blocking or "-",
            "count": cell.count,
            "total_bytes": cell.bytes,
            "time_ns": cell.time_ns,
            "gbps": cell.gbps,
            "hidden_share": cell.hidden_share,
            "sizes": "/".join(map(str, cell.sizes)),
            "host_ns": cell.host_ns,
        }


def _threads(context: Context) -> Iterable[Row]:
    for thread in context.views.host.threads:
        yield thread._asdict()


def _apis(context: Context) -> Iterable[Row]:
    for api in context.views.host.apis:
        yield {
            "thread": api.thread,
            "name": api.name,
            "reason": api.kind,
            "count": api.count,
            "per_step": round(api.per_step, 1),
            "total_ns": api.total_ns,
            "self_ns": api.self_ns,
        }


def _ranks(context: Context) -> Iterable[Row]:
    for time in context.views.rank_times:
        yield {
            "rank": time.rank,
            "device": time.device,
            "computing_ns": time.computing,
            "host_late_ns": time.host_late,
            "transfer_ns": time.exposed_transfer,
            "waiting_ns": time.exposed_waiting,
        }


def _peers(context: Context) -> Iterable[Row]:
    for peer in context.views.peers:
        yield peer._asdict()


def _links(context: Context) -> Iterable[Row]:
    for link in context.views.links:
        yield {name: value for name, value in link._asdict().items() if name != "sums"}  # none of these is of sums


def _clocks(context: Context) -> Iterable[Row]:
    for clock in context.views.clocks:
        yield {"device": clock.device, "mhz": clock.mhz, "time_ns": clock.time_ns, "time_share": clock.share}


def _counters(context: Context) -> Iterable[Row]:
    for counter in context.views.counters:
        yield counter._asdict()


def _losses(context: Context) -> Iterable[Row]:
    lost = context.views.losses
    if lost.launches or lost.steps or lost.orphans or lost.dropped:
        yield {
            "lost_launches": lost.launches,
            "operators": ", ".join(f"{n.name or '-'} {n.kernels}/{n.launched}" for n in lost.by_name) or "-",
            "empty_steps": ", ".join(map(str, lost.steps)) or "-",
            "orphans": lost.orphans,
            "dropped": lost.dropped,
        }


VIEWS: tuple[tuple[str, Callable[[Context], Iterable[Row]]], ...] = (
    ("inside-collectives", _inside),
    ("collectives", _collectives),
    ("gap-floor", _floors),
    ("idle", _idle),
    ("launches", _launches),
    ("queues", _queues),
    ("roofline", _roofline),
    ("utilisation", _utilisation),
    ("operators", _operators),
    ("sequences", _sequences),
    ("memory", _memory),
    ("memory-owners", _owners),
    ("copies", _copies),
    ("threads", _threads),
    ("calls", _apis),
    ("rank", _ranks),
    ("peers", _peers),
    ("links", _links),
    ("clocks", _clocks),
    ("counters", _counters),
    ("losses", _losses),
)
