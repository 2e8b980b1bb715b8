"""Limits of the shell and of shared memory that break programs on many devices."""

from __future__ import annotations

from collections.abc import Iterator

from diag.seen import Seen
from diag.verdict import ERROR, WARNING, Verdict
from npu.host import access
from npu.host.limits import UNLIMITED
from npu.units import GIB, size

# A process on one device holds some hundred files (plog, HDC sockets, libraries); eight of them pass the usual 1024.
FILES_A_DEVICE = 512
LEAST_FILES, LEAST_PROCESSES = 1025, 4096
LEAST_SHM = GIB  # data loaders and collectives of one host; containers start with 64 MiB


def enough(seen: Seen) -> Iterator[Verdict]:
    """Limits of open files, processes and /dev/shm that are below what the devices need."""
    limits = seen.host.limits
    if limits is None:
        return
    count = len(seen.smi.devices) if seen.smi is not None and seen.smi.devices else len(access.ids(seen.host.nodes or ()))
    wanted = max(LEAST_FILES, count * FILES_A_DEVICE)
    several = count != 1
    if limits.files is not None and UNLIMITED != limits.files < wanted and several and _asked(seen, count):
        yield Verdict(
            "few_files",
            WARNING,
            {"limit": limits.files, "wanted": max(65535, wanted), "devices": count or "several"},
            ("ulimit -n",),
        )
    if limits.processes is not None and UNLIMITED != limits.processes < LEAST_PROCESSES and several:
        yield Verdict("few_processes", WARNING, {"limit": limits.processes}, ("ulimit -u",))
    if limits.shm is not None and limits.shm < LEAST_SHM and _asked(seen, count):
        yield Verdict("shm_small", WARNING, {"size": size(limits.shm)}, ("df -h /dev/shm",))
    elif limits.shm and limits.shm_used is not None and limits.shm_used * 20 > limits.shm * 19:
        yield Verdict("shm_full", WARNING, {"size": size(limits.shm), "used": size(limits.shm_used)}, ("df -h /dev/shm",))


def disks(seen: Seen) -> Iterator[Verdict]:
    """File systems without room."""
    if seen.full_disks:
        yield Verdict("disk_full", ERROR, {"mounts": ", ".join(seen.full_disks)}, ("df",))


def _asked(seen: Seen, count: int) -> bool:
    """A pasted answer was asked for a reason; of this machine itself only several devices make the limit matter."""
    return count > 1 or seen.host.simulated is None
