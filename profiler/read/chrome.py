"""Chrome trace JSON of any producer (msprof_*.json, trace_view.json, Kineto, viztracer ...) -> Trace.

Processes and categories choose the layer (data/layers.csv); what no table knows becomes a range on its thread. One pass over the
events; process names are looked up first, because they may stand behind the events they describe.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npu import events
from profiler.read import clock_signs, flows, nccl, tables, times
from profiler.read.chrome_groups import LAYERS, SIGNS, Groups
from profiler.read.chrome_names import Processes
from profiler.read.collect import Pile
from profiler.read.events_json import Event, NotEvents, Source, one_a_line, opened, unpacked
from profiler.trace import Array, Columns, Missing, Trace, Unreadable

FLOW_PHASES = "stf"
PAIRED = ("B", "E", "b", "e")
ALWAYS = ("name", "_pid", "_tid", "device", "stream", "part")  # columns that stay even when they hold no value
SPENT = ("_pid", "_tid")  # columns of the file that no Trace has


def looks_like_events(path: Path) -> bool:
    """True for a file that begins like a Chrome trace; also for a cut one."""
    try:
        with opened(path) as stream:
            head = unpacked(stream, 1 << 16)[0].lstrip(b"\xef\xbb\xbf \r\n\t")
    except OSError:
        return False
    if head.startswith(b"["):
        return bool(re.match(rb"\[\s*(\{|\]|$)", head)) and (b'"ph"' in head or len(head) < 64)
    return head.startswith(b"{") and (b'"traceEvents"' in head or one_a_line(head))


def read_into(trace: Trace, paths: Sequence[Path]) -> None:
    """Add one timeline to a trace, with the times it holds; several files are slices of it. Unreadable when none holds events."""
    try:
        _Reading(trace, paths).run()
    except OSError as error:
        raise Unreadable(f"{paths[0]} cannot be read: {error.strerror or error}", "check the file and its rights") from error
    except NotEvents as error:
        raise Unreadable(
            f"{paths[0].name} holds no trace events",
            "give a Chrome trace (a JSON array of events, or an object with traceEvents)",
        ) from error


class _Reading:
    """The state of one pass over the files of a timeline."""

    def __init__(self, trace: Trace, paths: Sequence[Path]) -> None:
        self.trace, self.paths = trace, paths
        self.processes = Processes(paths)
        self.groups = Groups(trace.strings)
        self.flows = flows.Flows()
        self.counters, self.instants = Pile(), Pile()
        self.open: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
        self.skipped: dict[str, int] = defaultdict(int)
        self.layers: dict[tuple[int, str], str] = {}
        self.count = 0

    def run(self) -> None:
        beside: dict[str, Any] = {}
        missing = self.trace.missing
        for path in self.paths:
            source = Source(path)
            for found in source.events():
                self._take(found)
            missing += [Missing(what, why) for what, why in source.problems]
            if any(what.startswith("the end of ") for what, _ in source.problems):
                self.trace.meta["cut"] = True
            beside |= source.beside
        left = sum(map(len, self.open.values()))
        if left:
            missing.append(Missing(f"{left} ranges", "they begin but do not end in the file"))
        for phase, count in sorted(self.skipped.items()):
            missing.append(Missing(f"{count} events of phase {phase!r}", "no table holds this kind of event"))
        missing += self.processes.problems
        self.trace.meta |= {n: v for n, v in self.processes.meta(beside).items() if n not in self.trace.meta}
        self._tables()
        clock_signs.tell(self.trace, self.count)

    def _take(self, found: list[Event]) -> None:
        self.count += len(found)
        try:
            groups, others = _sorted(found)
        except TypeError:  # an object or a list where an id should stand
            for event in found:
                event.pid = event.pid if isinstance(event.pid, int | str) else str(event.pid)
            groups, others = _sorted(found)
        for phase, some in others.items():
            if phase == "M":
                self.processes.tell(some)
            elif phase in FLOW_PHASES and phase:
                self.flows.add(some, self.processes)
            elif phase == "C":
                self._counters(some)
            elif phase in ("i", "I", "R", "n"):
                self._instants(some)
            elif phase == "BE":
                for ended in self._ended(some):
                    groups[ended.pid, ended.cat].append(ended)
            else:
                self.skipped[phase] += len(some)
        for (pid, category), group in groups.items():
            self._group(pid, category, group)

    def _group(self, pid: Any, category: str, group: list[Event]) -> None:
        number = self.processes.number(pid)
        layer = self._layer(number, category, group[0])
        if layer == "derived":
            return
        self.groups.add(layer, number, self.processes.threads([e.tid for e in group]), category, group)

    def _layer(self, pid: int, category: str, first: Event) -> str:
        known = self.layers.get((pid, category))
        if known is None:
            known = tables.first_match("layers.csv", "process", "layer", self.processes.name(pid))
            known = known or tables.first_match("layers.csv", "cat", "layer", category)
            if not known:
                keys = bytes(first.args)
                known = next((layer for sign, layer in SIGNS if f'"{sign}"'.encode() in keys), "range")
            self.layers[pid, category] = known
        return known if known == "derived" or known in LAYERS else "range"

    def _ended(self, some: list[Event]) -> list[Event]:
        """Begin and end events -> complete ones. B and E nest per thread; b and e belong together by category and id."""
        made = []
        for event in some:
            key = (event.pid, str(event.tid)) if event.ph in "BE" else (event.cat, str(event.id), event.name)
            if event.ph in "Bb":
                self.open[key].append(event)
            elif self.open[key]:
                begun = self.open[key].pop()
                start, end = times.one(begun.ts), times.one(event.ts)
                length = None if times.NONE in (start, end) else f"{end - start}e-3"
                made.append(
                    Event("X", begun.name, begun.ts, length or "0", begun.pid, begun.tid, begun.cat, begun.id, begun.args)
                )
            else:
                self.skipped["E without B" if event.ph == "E" else "e without b"] += 1
        return made

    def _counters(self, some: list[Event]) -> None:
        """One row a series; a single series carries the name of its event."""
        at, names, values, pids = [], [], [], []
        for event in some:
            try:
                series = json.loads(bytes(event.args))
            except ValueError:
                continue
            if not isinstance(series, dict):
                continue
            unit = series.pop("acc_id", None)
            title = event.name if unit is None else f"{event.name} {unit}"
            for name, value in series.items():
                if isinstance(value, int | float) and abs(value) < 1e300:
                    at.append(event.ts)
                    names.append(title if len(series) == 1 else f"{title}/{name}")
                    values.append(float(value))
                    pids.append(self.processes.number(event.pid))
        if at:
            self.counters.add(
                {
                    "time": times.nanoseconds(at),
                    "name": self.groups.names(names),
                    "value": np.array(values, np.float64),
                    "_pid": np.array(pids, np.int32),
                }
            )

    def _instants(self, some: list[Event]) -> None:
        start = times.nanoseconds([e.ts for e in some])
        self.instants.add(
            {
                "start": start,
                "end": start.copy(),
                "name": self.groups.names([e.name for e in some]),
                "kind": np.full(len(some), events.MARKERS.index("mark"), np.int8),
                "_pid": np.array([self.processes.number(e.pid) for e in some], np.int32),
                "_tid": self.processes.threads([e.tid for e in some]),
            }
        )

    def _tables(self) -> None:
        trace, piles = self.trace, self.groups.piles
        piles["marker"].extend(self.instants)
        task, api, comm, marker = (piles[n].columns(ALWAYS) for n in ("task", "api", "comm", "marker"))
        task, api, marker = self.flows.link(task, api, marker)
        given = task.get("device")
        where = self.processes.devices(task["_pid"]) if task else None
        if where is not None:
            task = task.with_columns(device=where if given is None else np.where(given >= 0, given, where).astype(np.int32))
        if comm:
            comm = self._comm(comm)
        else:
            task, comm = nccl.apart(task, self.trace.strings)
        trace.task, trace.comm = _kept(task), _kept(comm)
        trace.api = _kept(api.with_columns(thread=api["_tid"], **self._pids(api))) if api else api
        trace.marker = _kept(marker.with_columns(thread=marker["_tid"], **self._pids(marker))) if marker else marker
        counter = self.counters.columns(("name", "_pid"))
        trace.counter = (
            _kept(counter.with_columns(device=self.processes.devices(counter["_pid"], strict=True))) if counter else counter
        )

    def _pids(self, table: Columns) -> dict[str, Array]:
        """The real process ids, where more than one process has rows."""
        numbers = np.unique(table["_pid"])
        return {"pid": self.processes.real_ids(table["_pid"])} if len(numbers) > 1 else {}

    def _comm(self, comm: Columns) -> Columns:
        return self.processes.collectives(comm, self.trace.strings).with_columns(device=self.processes.devices(comm["_pid"]))


def _sorted(found: list[Event]) -> tuple[dict[tuple[Any, Any], list[Event]], dict[str, list[Event]]]:
    """Complete events by process and category, others by phase. TypeError where an id is no plain value."""
    groups: dict[tuple[Any, Any], list[Event]] = defaultdict(list)
    others: dict[str, list[Event]] = defaultdict(list)
    for event in found:
        if event.ph == "X":
            groups[event.pid, event.cat].append(event)
        else:
            hash(event.pid)
            others["BE" if event.ph in PAIRED else event.ph].append(event)  # pairs follow from the order of the file
    return groups, others


def _kept(table: Columns) -> Columns:
    return Columns({n: c for n, c in table.items() if n not in SPENT})
