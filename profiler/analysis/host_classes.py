"""What a host call is about, by its name (data/call_classes.csv): the classes of view V5, most telling first."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

import numpy as np

from profiler.analysis.dispatch import UNKNOWN
from profiler.analysis.groups import distinct
from profiler.trace import Array, Trace

# In order of priority: what two rows of one moment say, the earlier class explains.
CALLS = ("compile", "load", "sync", "alloc", "copy", "gc", "data", "communicator", "cann")
ENTRY = "framework"  # a moment of launching that is no call
MARKERS = {"gc": "gc", "dataloader": "data", "cpu_op": "framework"}  # kind of marker -> class


@cache
def _table() -> tuple[tuple[str, str, str], ...]:
    text = resources.files("profiler.analysis").joinpath("data/call_classes.csv").read_text(encoding="utf-8")
    return tuple((r["class"], r["how"], r["text"]) for r in csv.DictReader(text.splitlines()))


def name_of(code: int) -> str:
    """The class of a code that `classes` gives."""
    return CALLS[code] if code < len(CALLS) else ENTRY


@cache
def class_of(name: str) -> str:
    """Class of a call by its name; "cann" for one the table does not list."""
    for found, how, text in _table():
        if name.startswith(text) if how == "prefix" else text in name:
            return found
    return "cann"


def classes(trace: Trace) -> Array:
    """Per api row the index of its class in CALLS; one behind them all for a moment of launching that is no call."""
    if not trace.api:
        return np.zeros(0, np.int8)
    names, place = distinct(trace.api["name"])
    codes = np.array([CALLS.index(class_of(trace.strings[int(n)])) for n in names[:, 0]], np.int8)
    level = trace.api.get("level")
    found: Array = np.take(codes, place)
    return found if level is None else np.where(level == UNKNOWN, len(CALLS), found)


def of_class(trace: Trace, *wanted: str) -> Array:
    """Mask over api rows of these classes."""
    return np.isin(classes(trace), [CALLS.index(w) for w in wanted])
