"""Limits of a process that break programs on many devices: open files, processes, shared memory."""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass

UNLIMITED = -1
SHM = "/dev/shm"
_ULIMIT = {"open files": "files", "max user processes": "processes"}
_PROC = re.compile(r"^Max (open files|processes)\s+(\d{1,18}|unlimited)\s", re.MULTILINE)  # /proc/<pid>/limits
_LINE = re.compile(r"^\s*([a-z][a-z -]*?)\s+\((?:[^)]*)\)\s+(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Limits:
    """-1 = unlimited, None = not known. shm: bytes of /dev/shm, shm_used: bytes taken there."""

    files: int | None = None
    processes: int | None = None
    shm: int | None = None
    shm_used: int | None = None


def here() -> Limits:
    """Of this process and this machine."""
    files, processes = (_soft(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    try:
        shm = os.statvfs(SHM)
    except OSError:  # a machine without /dev/shm: its size is not known
        return Limits(files, processes)
    return Limits(files, processes, shm.f_blocks * shm.f_frsize, (shm.f_blocks - shm.f_bfree) * shm.f_frsize)


def _soft(which: int) -> int:
    soft = resource.getrlimit(which)[0]
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def of_ulimit(text: str) -> Limits | None:
    """From `ulimit -a` or /proc/<pid>/limits; None when no line of it is one of ours."""
    found = {_ULIMIT.get(name, name): value for name, text_ in _PROC.findall(text) if (value := number(text_)) is not None}
    for line in text.splitlines():
        match = _LINE.match(line)
        value = number(match[2]) if match else None
        if match and match[1] in _ULIMIT and value is not None:
            found[_ULIMIT[match[1]]] = value
    return Limits(found.get("files"), found.get("processes")) if found else None


def number(text: str) -> int | None:
    """A limit as ulimit writes it: a number or `unlimited`."""
    if text.strip() == "unlimited":
        return UNLIMITED
    return int(text) if re.fullmatch(r"\s*\d{1,18}\s*", text) else None
