"""Which file a library name really gives along LD_LIBRARY_PATH: the first folder that has it wins, as in the loader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from npu.host.files import Files
from npu.host.parts import Found

RUNTIME, HAL = "libascendcl.so", "libascend_hal.so"
STUBS = ("/stub", "/devlib")  # folders of link-time stand-ins: they have the names and do nothing
MOST_FOLDERS = 200
LOADER_CONF = "/etc/ld.so.conf.d"


@dataclass(frozen=True, slots=True)
class Library:
    """What the loader takes for a name. entry: number in LD_LIBRARY_PATH, 0 for the loader's own configuration.

    owner: "toolkit 8.0.0", "driver" or "" for a folder of somebody else. later: owners of the same name further on.
    """

    name: str
    entry: int
    folder: str
    owner: str
    stub: bool
    later: tuple[str, ...] = ()


def effective(path: str, found: Found, files: Files) -> tuple[Library, ...]:
    """Every library of an install or the driver that can be found along `path`, as the loader would take it."""
    searched = list(folders(path, files))
    holdings = [(entry, folder, frozenset(_libraries(files, folder))) for entry, folder in searched]
    wanted = {RUNTIME, HAL}
    for _, folder, names in holdings:
        if _owner(files.real(folder), found):
            wanted |= names
    made = []
    for name in sorted(wanted):
        holders = [(entry, folder) for entry, folder, names in holdings if name in names]
        if holders:
            owners = [_owner(files.real(folder), found) for _, folder in holders]
            entry, folder = holders[0]
            stub = any(s in files.real(folder) for s in STUBS)
            made.append(Library(name, entry, folder, owners[0], stub, tuple(o for o in owners[1:] if o)))
    return tuple(made)


def folders(path: str, files: Files) -> Iterable[tuple[int, str]]:
    """(entry, folder) in the order of the loader: LD_LIBRARY_PATH from 1 on, then its configuration as 0."""
    yield from ((n, f) for n, f in enumerate(path.split(":")[:MOST_FOLDERS], 1) if f.startswith("/"))
    for name in files.names(LOADER_CONF):
        text = files.read(f"{LOADER_CONF}/{name}") or ""
        yield from ((0, line.strip()) for line in text.splitlines() if line.strip().startswith("/"))


def _libraries(files: Files, folder: str) -> Iterable[str]:
    return (n for n in files.names(folder) if n.endswith(".so") or ".so." in n)


def _owner(real: str, found: Found) -> str:
    for install in found.installs:
        if real == install.path or real.startswith(install.path + "/"):
            return f"{install.kind} {install.version}"
    return "driver" if any(real.startswith(d.path + "/") for d in found.drivers) else ""
