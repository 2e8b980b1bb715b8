"""Conventions of the msprof CSV files: plain commas, LF, N/A, shapes in three quotes, a TAB after timestamps, slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from profiler.export.files import whole
from profiler.trace import Array

NA = "N/A"
NO_ID = "4294967295"  # "no value" for model, subtask and rank ids
SLICE = 1_000_000  # data rows of one file; longer tables are cut into {name}_slice_{i}_{stamp}.csv


def write_table(folder: Path, name: str, stamp: str, header: Sequence[str], lines: Iterable[list[str]], rows: int) -> list[Path]:
    """The files of one table. `lines` gives lists of finished lines without line ends, `rows` is their number."""
    first = ",".join(header) + "\n"
    if rows <= SLICE:
        path = folder / f"{name}_{stamp}.csv"
        with whole(path) as out:
            out.write(first)
            out.writelines("\n".join(chunk) + "\n" for chunk in lines if chunk)
        return [path]
    paths: list[Path] = []
    for part in _slices(lines):
        path = folder / f"{name}_slice_{len(paths)}_{stamp}.csv"
        with whole(path) as out:
            out.write(first)
            out.write("\n".join(part) + "\n")
        paths.append(path)
    return paths


def _slices(lines: Iterable[list[str]]) -> Iterable[list[str]]:
    held: list[str] = []
    for chunk in lines:
        held += chunk
        while len(held) >= SLICE:
            yield held[:SLICE]
            held = held[SLICE:]
    if held:
        yield held


def field(text: str) -> str:
    """A name as a field. The real writer never quotes; a name with a comma or quote is quoted here, so that rows stay whole."""
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def shapes(text: str | None) -> str:
    """A shape list as the files hold it: the reader gets the quotes as part of the text. "" is one scalar, None is N/A."""
    return NA if text is None else f'"""{text}"""'


def short3(value: float) -> str:
    """At most three decimals, no trailing zeros: 12.5, 10, 0.001 (statistics files)."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def counters(name: str, values: Array) -> list[str]:
    """A counter column: cycles whole, cube_utilization with three decimals, others with one to three; N/A for NaN."""
    milli = np.where(np.isnan(values), -1, np.rint(np.nan_to_num(values) * 1000)).astype(np.int64)
    seen, which = np.unique(milli, return_inverse=True)
    if name.endswith("total_cycles"):
        made = [NA if m < 0 else str(round(m / 1000)) for m in seen.tolist()]
    elif name == "cube_utilization(%)":
        made = [NA if m < 0 else f"{m // 1000}.{m % 1000:03d}" for m in seen.tolist()]
    else:
        made = [NA if m < 0 else repr(m / 1000) for m in seen.tolist()]
    return [made[i] for i in which.tolist()]
