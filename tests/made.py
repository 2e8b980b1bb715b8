"""Hand-made traces: a test writes down rows in microseconds and gets a Trace, so expected figures can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npu import events
from profiler.trace import Columns, Strings, Trace

TEXTS = {
    "name",
    "op_type",
    "task_type",
    "op_state",
    "in_shapes",
    "in_dtypes",
    "in_formats",
    "out_shapes",
    "out_dtypes",
    "out_formats",
    "site",
    "reads",
    "writes",
    "component",
    "group",
    "link",
    "transport",
    "algorithm",
    "dtype",
    "domain",
    "stack",
}
ENUMS = {"level": events.LEVELS, "direction": events.DIRECTIONS, "host_kind": events.HOST_KINDS}
BYTES = {"level", "direction", "host_kind", "kind", "event_code", "part", "blocking"}
FLOATS = ("read_bytes", "write_bytes", "_ratio", "_time(us)", "_rate", "(%)", "value")


def ns(us: float) -> int:
    return round(us * 1000)


class Made:
    """Rows by the call, columns at the end. Times are given in us."""

    def __init__(self) -> None:
        self.strings = Strings()
        self.rows: dict[str, list[dict[str, object]]] = {t: [] for t in ("api", "task", "comm", "memory", "counter", "marker")}
        self.meta: dict[str, object] = {"soc": "Ascend910B3", "generator": "npuscope", "simulated": True}

    def api(self, name: str, start: float, end: float, **more: object) -> int:
        """A host call; level acl, thread 0 unless said. Gives the row number."""
        row = {
            "name": name,
            "start": ns(start),
            "end": ns(end),
            "thread": 0,
            "level": "acl",
            "correlation": -1,
            "stream": -1,
            "device": 0,
            "bytes": -1,
            "direction": -1,
            "host_kind": -1,
            "blocking": -1,
            "event": -1,
            "ret": 0,
            "site": "",
            **more,
        }
        self.rows["api"].append(row)
        return len(self.rows["api"]) - 1

    def task(self, kind: str, start: float, end: float, **more: object) -> int:
        """Something the device did: kind of npu.events.KINDS; stream 1, device 0 unless said. Gives the row number."""
        row = {
            "kind": events.KINDS.index(kind),
            "start": ns(start),
            "end": ns(end),
            "device": 0,
            "stream": 1,
            "task_id": len(self.rows["task"]),
            "name": "",
            "op_type": "",
            "task_type": "",
            "correlation": -1,
            "model": -1,
            "block_dim": -1,
            "mix_block_dim": -1,
            "op_state": "",
            "in_shapes": "",
            "in_dtypes": "",
            "in_formats": "",
            "out_shapes": "",
            "out_dtypes": "",
            "out_formats": "",
            "bytes": -1,
            "direction": -1,
            "host_kind": -1,
            "event": -1,
            "reads": "",
            "writes": "",
            "ready": ns(start),
            **more,
        }
        self.rows["task"].append(row)
        return len(self.rows["task"]) - 1

    def comm(self, level: str, name: str, start: float, end: float, **more: object) -> None:
        self.rows["comm"].append(
            {
                "name": name,
                "start": ns(start),
                "end": ns(end),
                "level": events.COMM_LEVELS.index(level),
                "device": 0,
                "rank": 0,
                "group": "",
                "op": -1,
                "plane": -1,
                "part": -1,
                "notify": -1,
                "src": -1,
                "dst": -1,
                "bytes": -1,
                "link": "",
                "transport": "",
                "algorithm": "",
                "count": -1,
                "dtype": "",
                "correlation": -1,
                "stream": -1,
                "task_id": -1,
                **more,
            }
        )

    def marker(self, kind: str, name: str, start: float, end: float, **more: object) -> None:
        self.rows["marker"].append(
            {
                "kind": events.MARKERS.index(kind),
                "name": name,
                "start": ns(start),
                "end": ns(end),
                "thread": 0,
                "device": -1,
                "domain": "",
                "stack": "",
                "correlation": -1,
                **more,
            }
        )

    def memory(self, event: str, time: float, count: int, **more: object) -> None:
        self.rows["memory"].append(
            {
                "event": events.MEMORY_EVENTS.index(event),
                "time": ns(time),
                "bytes": count,
                "address": -1,
                "allocation": -1,
                "device": 0,
                "component": "",
                "allocated": -1,
                "reserved": -1,
                "site": "",
                "correlation": -1,
                **more,
            }
        )

    def counter(self, name: str, time: float, value: float, **more: object) -> None:
        self.rows["counter"].append({"name": name, "time": ns(time), "value": value, "device": 0, **more})

    def _columns(self, table: str) -> Columns:
        rows = self.rows[table]
        if not rows:
            return Columns()
        made = {}
        for name in {n: None for row in rows for n in row}:
            values = [row.get(name, -1) for row in rows]
            if name in TEXTS:
                made[name] = np.array([self.strings.id(str(v)) if v != "" else -1 for v in values], np.int32)
            elif name in ENUMS:
                made[name] = np.array([v if isinstance(v, int) else ENUMS[name].index(v) for v in values], np.int8)
            elif name.endswith(FLOATS):
                made[name] = np.array(values, np.float64)
            elif name in BYTES or (table == "memory" and name == "event"):
                made[name] = np.array(values, np.int8)
            else:
                made[name] = np.array(values, np.int64)
        return Columns(made)

    def trace(self) -> Trace:
        return Trace(Path("made"), strings=self.strings, meta=dict(self.meta), **{t: self._columns(t) for t in self.rows})
