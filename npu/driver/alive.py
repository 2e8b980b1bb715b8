"""Is that process still there, and is it still the same one? A process number alone can be handed out again."""

from __future__ import annotations

import os
from typing import NamedTuple

DEAD = ("Z", "X", "x")  # zombie and dead: memory and devices are already given back


class Process(NamedTuple):
    """A living process. start: clock ticks since boot, the other half of its identity; name: at most 15 characters."""

    pid: int
    start: int
    name: str


def look(pid: int) -> Process | None:
    """The process of that number, None when it has ended or was never there.

    One read of /proc/<pid>/stat, 10 us. Field 2 is the name in brackets and may hold blanks and brackets itself, field 3
    the state, field 22 the start time (proc(5)).
    """
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(fd, 1024).decode("utf-8", "replace")
    except ProcessLookupError:  # it ended between open and read
        return None
    finally:
        os.close(fd)
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if len(fields) < 20 or fields[0] in DEAD:
        return None
    return Process(pid, int(fields[19]), head.partition("(")[2])
