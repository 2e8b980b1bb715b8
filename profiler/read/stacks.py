"""Python stacks of an own capture. With --stacks the text of a call site has further lines: the frames of the call's whole stack,
the innermost first, each "file:line function"."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array, Strings


def split(strings: Strings, *tables: dict[str, Array]) -> None:
    """Leave "file:line" in the column `site` and put the frames into `stack`, text ids both; nothing happens without stacks."""
    if not any("\n" in text for text in strings.texts):
        return
    for columns in tables:
        ids = columns["site"]
        known, which = np.unique(ids, return_inverse=True)
        halves = [strings[n].partition("\n") for n in known.tolist()]
        if not any(rest for _, _, rest in halves):
            continue
        for column, texts in (("site", [site for site, _, _ in halves]), ("stack", [rest for _, _, rest in halves])):
            columns[column] = np.array([strings.id(text) if text else -1 for text in texts], np.int32)[which]
