"""Which formats the switches of a collection leave out. files.csv names the switch of each, and whether it is usually off."""

from __future__ import annotations

from profiler.export import words
from profiler.trace import Trace


def switched_off(trace: Trace) -> set[str]:
    """The formats that the capture's collection switched off."""
    collection = trace.meta.get("collection")
    asked = collection if isinstance(collection, dict) else {}
    rows = words.rows_of("files.csv")
    off = {r["file"] for r in rows if r["switch"] and asked.get(r["switch"], r["usual"] != "off") is False}
    return off | {r["file"] for r in rows if r["level"] == "l1" and asked.get("level") in ("off", "l0")}
