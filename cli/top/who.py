"""Whose a process is and what it runs, from /proc. Processes of other pid namespaces are not there."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Who(NamedTuple):
    """user and command line; "" where they are not visible from here."""

    user: str = ""
    command: str = ""


def who(pid: int, proc: Path = PROC) -> Who:
    """Of a living process; empty for one that has gone or is hidden."""
    folder = proc / str(pid)
    try:
        uid = folder.stat().st_uid
        words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return Who()
    return Who(_name(uid), " ".join(word for word in words if word))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a user of a container that the host does not know
        return str(uid)
