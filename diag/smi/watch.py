"""`info watch`: a head line and rows for ever."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diag.smi.records import Sample, SmiText

HEAD = re.compile(r"^\s*NpuID\(Idx\)")
COLUMN = re.compile(r"[^\s()][^()]*\([^)]*\)")  # "Ctrl Cpu(%)" touches the next one by a single blank
VALUE = re.compile(r"-|NA|\d+(?:\.\d+)?")


def read(lines: Sequence[str]) -> SmiText | None:
    """Rows below the head line, each as long as the head; a row cut off by the end of the text is left out."""
    start = next((at for at, line in enumerate(lines) if HEAD.match(line)), None)
    if start is None:
        return None
    columns = COLUMN.findall(lines[start])
    named = [column for column in columns if not column.endswith("(Idx)")]
    samples, cut = [], ""
    for line in lines[start + 1 :]:
        words = line.split()
        if not words or not all(VALUE.fullmatch(word) for word in words):
            continue
        if len(words) != len(columns) or not all(word.isdigit() for word in words[: len(columns) - len(named)]):
            cut = "lines"
            continue
        ids = [int(word) for word in words[: len(columns) - len(named)]]
        values = [None if word in ("-", "NA") else float(word) for word in words[len(ids) :]]
        samples.append(Sample(ids[0], ids[1] if len(ids) > 1 else 0, dict(zip(named, values, strict=True))))
    layout = "WATCH-9" if "ChipId(Idx)" in columns else "WATCH-950"
    return SmiText("watch", layout, samples=tuple(samples), cut=cut if samples else "lines")
