"""What the threads of a simulated process wait for, left in the state folder for whoever asks why it stands still.

A process writes its file when a wait has lasted longer than a moment, and removes it when none does any more. One of a process
that has ended meanwhile is not believed, even where its number was handed out again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from npu.driver.alive import look
from npu.driver.shared import state_folder

FOLDER = "waits"


class Waiting(NamedTuple):
    """tid: of the system; call: as the script writes it; site: file:line; since: unix ns of real time; chain: what it waits for
    and who would release that, up to the cycle or the end, in sentences."""

    tid: int
    call: str
    site: str
    since: int
    chain: str


def _file(pid: int, environ: Mapping[str, str] | None) -> Path:
    return Path(state_folder(environ)) / FOLDER / f"{pid}.json"


def write(waits: Sequence[Waiting]) -> None:
    """Leave what this process waits for; nothing removes what was left. A folder that cannot be written leaves nothing."""
    path = _file(os.getpid(), None)
    with suppress(OSError):
        if not waits:
            path.unlink(missing_ok=True)
            return
        me = look(os.getpid())
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _tidy(path.parent)
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps({"start": me.start if me is not None else 0, "waits": waits}), encoding="utf-8")
        fresh.replace(path)


def _tidy(folder: Path) -> None:
    """Remove what killed processes have left."""
    for path in folder.glob("*.json"):
        if path.stem.isdigit() and look(int(path.stem)) is None:
            path.unlink(missing_ok=True)


def read(pid: int, environ: Mapping[str, str]) -> tuple[Waiting, ...]:
    """What a process with that environment has left; empty where it has left nothing, or is not the one that did."""
    alive = look(pid)
    try:
        left = json.loads(_file(pid, environ).read_text(encoding="utf-8"))
        if alive is None or left["start"] != alive.start:
            return ()
        return tuple(Waiting(int(t), str(c), str(s), int(n), str(k)) for t, c, s, n, k in left["waits"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()
