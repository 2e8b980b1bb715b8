"""Memory and counters of a database: samples over time, allocations and releases."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu import events
from profiler.read import tables, times
from profiler.read.collect import Pile
from profiler.read.database import Database
from profiler.trace import Trace


def memory(database: Database, trace: Trace) -> None:
    """The memory table: what the device held by time, allocations and frees of operators. Bytes, ns."""
    alloc, free, sample = (events.MEMORY_EVENTS.index(e) for e in ("alloc", "free", "sample"))
    pile = Pile()
    for table in ("MEMORY_RECORD", "NPU_MODULE_MEM", "NPU_MEM"):
        rows = database.read(table)
        if "time" in rows:
            count = len(rows["time"])
            pile.add(rows | {"event": np.full(count, sample, np.int8), "bytes": np.full(count, -1, np.int64)})
    own = database.read("NPU_OP_MEM")
    if "time" in own:
        known = tables.words("memory")
        texts = database.convert.strings
        codes = {i: known.get(texts[i].lower(), sample) for i in np.unique(own["_event"]).tolist()} if "_event" in own else {}
        event = own.pop("_event", np.full(len(own["time"]), -1))
        own["event"] = np.array([codes.get(i, sample) for i in event.tolist()], np.int8)
        pile.add(own | ({"bytes": np.abs(own["bytes"])} if "bytes" in own else {}))
    operators = database.read("OP_MEMORY")
    if "time" in operators:
        release = operators.pop("release", np.full(len(operators["time"]), times.NONE))
        after = {n: operators.pop(f"released_{n}", None) for n in ("allocated", "reserved")}
        begun, ended = operators["time"] != times.NONE, release != times.NONE
        pile.add({n: c[begun] for n, c in operators.items()} | {"event": np.full(int(begun.sum()), alloc, np.int8)})
        rest = {n: c[ended] for n, c in operators.items() if n not in ("time", "allocated", "reserved")}
        rest |= {n: c[ended] for n, c in after.items() if c is not None}
        pile.add(rest | {"time": release[ended], "event": np.full(int(ended.sum()), free, np.int8)})
    if len(pile):
        trace.memory = pile.columns(("event", "bytes", "device"))


def counters(database: Database, trace: Trace) -> None:
    """Samples over time, named as in the timeline; bytes/s become MB/s as there."""
    pile = Pile()
    for row in tables.rows_of("db_counters.csv"):
        by = row["by"].split()
        held = database.columns_of(row["table"])
        if row["value"] not in held or "timestampNs" not in held or not set(by) <= set(held):
            continue
        device = ["deviceId"] if "deviceId" in held else []
        at, value, *others = database.raw(row["table"], ["timestampNs", row["value"], *device, *by])
        if not at:
            continue
        which = others.pop(0) if device else [-1] * len(at)
        labels = [
            [_label(database, v) for v in column] if n in ("type", "mode", "eventName") else column
            for n, column in zip(by, others, strict=True)
        ]
        names = (
            [row["name"].format(**dict(zip(by, values, strict=True))) for values in zip(*labels, strict=True)]
            if by
            else [row["name"]] * len(at)
        )
        pile.add(
            {
                "time": np.array([t if isinstance(t, int) and abs(t) < times.MOST else times.NONE for t in at], np.int64),
                "device": tables.integers(which),
                "name": database.convert.texts(names),
                "value": tables.floats(value) * float(row["scale"]),
            }
        )
    if len(pile):
        trace.counter = pile.columns(("name", "device"))


def _label(database: Database, value: Any) -> str:
    """read -> Read, as the timeline names series."""
    number = int(database.texts([value])[0])
    text = database.convert.strings[number] if number >= 0 else str(value)
    return text[:1].upper() + text[1:]
