"""Why a process stands still, as far as /proc and its log tell: `look(pid)`.

1. Two looks at it, SAMPLE apart: who uses the processor is busy, not hanging.
2. Each thread waits for what its system call says (a call on a device node is the driver), else for what the kernel function
   it sleeps in says.
3. The main thread's wait is the process's; when it only waits for its own threads, a thread inside the driver is what all wait
   for (threads on connections are often mere background).
4. The log of the process adds its verdict and last lines.

A process on the simulated device leaves what its threads wait for; where it did, that is the answer (`told`).
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from diag.log_report import LogReport, read
from diag.proc import DEVICES, PROC, Process, Thread, process

SAMPLE = 0.3  # s between the looks
BUSY = 0.5  # of a core; a thread that polls uses less
LAST = 5  # lines of the log that are shown


@dataclass(frozen=True, slots=True)
class Wait:
    thread: Thread
    kind: str  # a table of hang.toml
    place: str


@dataclass(frozen=True, slots=True)
class Told:
    """A wait a simulated process tells of itself. seconds: since it began; chain: sentences up to the cycle or the end."""

    tid: int
    call: str
    site: str
    seconds: float
    chain: str


@dataclass(frozen=True, slots=True)
class Hang:
    """kind: a table of hang.toml. share: cores in use. log: the verdict over its plog, None where none was found."""

    process: Process
    kind: str
    place: str
    waits: tuple[Wait, ...]
    share: float
    thread: str
    log_folder: str
    log: LogReport | None
    last: tuple[str, ...]
    told: tuple[Told, ...] = ()

    @property
    def hangs(self) -> bool:
        return self.kind != "busy"


def look(
    pid: int,
    root: Path = PROC,
    pause: Callable[[float], None] = time.sleep,
    ask: Callable[[Process], tuple[Told, ...]] = lambda _process: (),
) -> Hang:
    """What the process waits for. ask: what a simulated process tells of itself. ProcessLookupError when there is none of that
    number."""
    before = {t.tid: t.ticks for t in process(pid, root).threads}
    pause(SAMPLE)
    now = process(pid, root)
    used = {t.tid: (t.ticks - before.get(t.tid, t.ticks)) / os.sysconf("SC_CLK_TCK") / SAMPLE for t in now.threads}
    share = sum(used.values())
    hottest = max(now.threads, key=lambda t: used[t.tid], default=None)
    waits = tuple(Wait(t, *_wait(t)) for t in now.threads)
    kind, place = _of_all(waits) if share < BUSY else ("busy", "")
    told = ask(now)
    if told and share < BUSY:
        main = next((t for t in told if t.tid == pid), told[0])
        kind, place = "simulated", main.chain
    folder = log_folder(now)
    files = sorted(folder.rglob(f"*-{pid}_*.log*")) if folder is not None else []
    return Hang(
        now,
        kind,
        place,
        waits,
        share,
        f"{hottest.name} ({hottest.tid})" if hottest is not None else "",
        str(folder) if folder is not None and files else "",
        read(files) if files else None,
        _last_lines(files),
        told,
    )


def _of_all(waits: tuple[Wait, ...]) -> tuple[str, str]:
    if not waits:
        return "unknown", "?"
    main = waits[0]
    if main.kind in ("thread", "sleep", "unknown"):
        inside_driver = next((w for w in waits if w.kind == "device"), None)
        if inside_driver is not None:
            return inside_driver.kind, inside_driver.place
    return main.kind, main.place


def _wait(thread: Thread) -> tuple[str, str]:
    """(kind, where) of one thread's wait."""
    place = thread.target or thread.wchan or (thread.stack[0] if thread.stack else "") or "?"
    if thread.state == "Z":
        return "ended", place
    if thread.state in ("T", "t"):
        return "stopped", "signal" if thread.state == "T" else "debugger"
    if thread.state == "R":
        return "busy", place
    if DEVICES.match(thread.target):
        return "device", f"{thread.call} {thread.target}"
    by_kernel = _by_kernel(thread)
    if by_kernel == "device" or thread.kind in ("", "read", "ioctl"):
        if thread.kind == "read" and thread.target.startswith(("pipe:", "/dev/pts", "/dev/tty")):
            return "pipe", thread.target
        if thread.kind == "read" and thread.target.startswith("socket:"):
            return "network", thread.target
        return by_kernel or "unknown", place
    return thread.kind, f"{thread.call} {place}" if thread.call else place


def _by_kernel(thread: Thread) -> str:
    """The kind whose kernel functions the thread sleeps in, "" for none; the driver counts anywhere in the stack."""
    names = [name for name in (thread.wchan, *thread.stack) if name]
    for kind, entry in table().items():
        looked = names if kind == "device" else names[:1]
        if any(name.startswith(start) for name in looked for start in entry["kernel"]):
            return kind
    return ""


def log_folder(of: Process) -> Path | None:
    """Where its plog is: ASCEND_PROCESS_LOG_PATH, else ASCEND_WORK_PATH/log, else ~/ascend/log; None if that does not exist."""
    variables = of.environ
    named = variables.get("ASCEND_PROCESS_LOG_PATH") or ""
    work = variables.get("ASCEND_WORK_PATH") or ""
    home = variables.get("HOME") or ""
    places = [Path(named)] if named else [Path(work) / "log"] if work else [Path(home) / "ascend/log"] if home else []
    return next((place for place in places if place.is_dir()), None)


def _last_lines(files: list[Path]) -> tuple[str, ...]:
    """The end of the file written last."""
    newest = max(files, key=lambda f: f.stat().st_mtime, default=None)
    if newest is None:
        return ()
    with newest.open("rb") as handle:
        handle.seek(max(0, newest.stat().st_size - 8192))
        return tuple(handle.read().decode("utf-8", "replace").splitlines()[-LAST:])


@cache
def table() -> dict[str, Any]:
    """Kinds of waits with their texts."""
    return tomllib.loads(resources.files("diag").joinpath("data/hang.toml").read_text(encoding="utf-8"))
