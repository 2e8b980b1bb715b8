"""How a container was started: every device node and mount a program needs was handed in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diag.seen import Seen, Started
from diag.verdict import ERROR, INFO, WARNING, Verdict
from npu.host.access import NODES
from npu.units import GIB, parse_size

DRIVER_MOUNTS = ("/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/version.info")
OTHER_MOUNTS = ("/etc/ascend_install.info", "/usr/local/dcmi", "/usr/local/bin/npu-smi")


def handed_in(seen: Seen) -> Iterator[Verdict]:
    """What a `docker run` line forgets: device nodes, driver mounts, shared memory."""
    started = seen.started
    if started is None or started.runtime:
        return
    if not started.privileged:
        yield from _devices(started)
    missing = [path for path in DRIVER_MOUNTS if not _mounted(path, started.mounts)]
    optional = [path for path in OTHER_MOUNTS if not _mounted(path, started.mounts)]
    if missing:
        options = " ".join(f"-v {p}:{p}" for p in (*missing, *optional))
        yield Verdict("mount_missing", ERROR, {"paths": ", ".join(missing), "options": options}, ("docker run",))
    elif optional:
        options = " ".join(f"-v {p}:{p}" for p in optional)
        yield Verdict("mount_optional", INFO, {"paths": ", ".join(optional), "options": options}, ("docker run",))
    if started.shm and _small(started.shm):
        yield Verdict("shm_small", WARNING, {"size": started.shm}, ("docker run --shm-size",))


def _devices(started: Started) -> Iterator[Verdict]:
    given = {d.partition(":")[0].rpartition("/")[2] for d in started.devices}
    missing = [n for n in NODES if n not in given]
    if not any(re.fullmatch(r"davinci\d+", name) for name in given):
        missing = ["davinci0", *missing]
    if missing:
        yield Verdict(
            "control_node_missing",
            ERROR,
            {"names": ", ".join(f"/dev/{n}" for n in missing), "options": " ".join(f"--device=/dev/{n}" for n in missing)},
            ("docker run",),
        )


def _mounted(path: str, mounts: tuple[str, ...]) -> bool:
    """Whether the path or a folder above it is handed in."""
    return any(path == m.rstrip("/") or path.startswith(m.rstrip("/") + "/") for m in mounts if m.startswith("/"))


def _small(text: str) -> bool:
    try:
        return parse_size(text) < GIB
    except ValueError:  # docker's own spelling, not a size: it will say so itself
        return False
