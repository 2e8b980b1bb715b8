"""What kind of thing a row is, as one text: the colour of its bar and the line of the statistics it counts for.

Kernels go by operator type, calls by API name, copies by direction, collectives by operation; numbers at the end of a name
(MatMul_12, hcom_allReduce__204_0) say which one it was and not what, so they are cut off.
"""

from __future__ import annotations

import re

import numpy as np

from npu import events
from profiler.report.words import say
from profiler.trace import Array, Columns, Strings

_NUMBER = re.compile(r"[_\-.:/\d]+$")


def family(name: str) -> str:
    """A name without the number at its end; the name itself when nothing would be left."""
    return _NUMBER.sub("", name[:400]) or name[:400]


def categories(table: str, rows: Columns, strings: Strings, names: Strings, lang: str = "en") -> Array:
    """For each row the id (in `names`) of its category."""
    if not rows:
        return np.zeros(0, np.int64)
    if table == "task":
        return _of_tasks(rows, strings, names, lang)
    if table == "marker":
        return _of_markers(rows, strings, names)
    return _of_names(rows["name"], strings, names, keep=table == "api")


def _of_tasks(tasks: Columns, strings: Strings, names: Strings, lang: str) -> Array:
    kind = tasks["kind"]
    made = _of_codes(kind, {n: k.replace("_", " ") for n, k in enumerate(events.KINDS)}, names, "task")
    copies = kind == events.KINDS.index("copy")
    direction = tasks.get("direction")
    if direction is not None and copies.any():
        known = dict(enumerate(say(f"copy.{d}", lang) for d in events.DIRECTIONS))
        made[copies] = _of_codes(direction[copies], known, names, "copy")
    work = np.isin(kind, (events.KINDS.index("kernel"), events.KINDS.index("aicpu")))
    if work.any():
        by_name = _of_names(tasks["name"][work], strings, names, keep=False)
        types = tasks.get("op_type")
        if types is not None:
            blank = [strings.find(""), strings.find("N/A"), -1]
            typed = ~np.isin(types[work], blank)
            by_name[typed] = _of_names(types[work][typed], strings, names, keep=True)
        made[work] = by_name
    return made


def _of_markers(markers: Columns, strings: Strings, names: Strings) -> Array:
    made = _of_codes(markers["kind"], dict(enumerate(events.MARKERS)), names, "marker")
    named = np.isin(markers["kind"], [events.MARKERS.index(k) for k in ("range", "mark", "cpu_op")])
    made[named] = _of_names(markers["name"][named], strings, names, keep=False)
    return made


def _of_codes(codes: Array, texts: dict[int, str], names: Strings, otherwise: str) -> Array:
    found, where = np.unique(codes, return_inverse=True)
    return np.array([names.id(texts.get(int(code), otherwise)) for code in found], np.int64)[where]


def _of_names(ids: Array, strings: Strings, names: Strings, keep: bool) -> Array:
    found, where = np.unique(ids, return_inverse=True)
    texts = (strings[int(i)] for i in found)
    return np.array([names.id((t if keep else family(t)) or "no name") for t in texts], np.int64)[where]
