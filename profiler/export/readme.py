"""README.txt of mindstudio_profiler_output: what each kind of file there holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from profiler.export import words
from profiler.export.files import whole


def write(folder: Path, kinds: Iterable[str]) -> Path:
    """The file, anew at each export. `kinds` are the names of the formats written, in order."""
    texts = {r["file"]: r["text"] for r in words.rows_of("files.csv")}
    path = folder / "README.txt"
    with whole(path, replace=True) as out:
        out.write("Files of this folder; the digits at the end of a name are the local time of the export.\n"
                  "Times are unix time in microseconds, N/A means no value.\n\n")
        out.writelines(f"{kind}: {texts[kind]}\n" for kind in kinds)
    return path
