"""Files that are whole or absent: written under a hidden name beside their place, renamed when complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole(path: Path, replace: bool = False) -> Iterator[TextIO]:
    """A UTF-8 text file with LF line ends that appears at `path` when the block ends well, and never otherwise.

    FileExistsError when something is there already, unless `replace`. OSError (disk full ...) leaves nothing behind.
    """
    if not replace and path.exists():
        raise FileExistsError(f"{path} exists and is not overwritten")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as out:
            yield out
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
