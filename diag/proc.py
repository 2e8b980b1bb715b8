"""One process as /proc shows it: threads with the call each is in, open devices, connections, children, environment.

What the kernel hides from this user is empty, never an error; a process that is gone raises ProcessLookupError.
"""

from __future__ import annotations

import csv
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

PROC = Path("/proc")
DEVICES = re.compile(r"/dev/(?:davinci\w*|devmm_svm|hisi_hdc|ascend\w*)$")
TCP_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "03": "SYN_RECV", "06": "TIME_WAIT", "08": "CLOSE_WAIT", "0A": "LISTEN"}


@dataclass(frozen=True, slots=True)
class Thread:
    """call: name and kind of the system call it is in ("" unknown), target: what the call's file descriptor is."""

    tid: int
    name: str
    state: str  # R running, S sleeping, D uninterruptible, T stopped, t traced, Z ended
    wchan: str
    call: str
    kind: str
    target: str
    stack: tuple[str, ...]
    ticks: int  # user and system time used so far, clock ticks


@dataclass(frozen=True, slots=True)
class Connection:
    local: str
    peer: str
    state: str


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    command: str
    parent: int
    threads: tuple[Thread, ...]  # main thread first
    devices: tuple[str, ...]
    connections: tuple[Connection, ...]
    children: tuple[tuple[int, str], ...]
    environ: dict[str, str]


def process(pid: int, root: Path = PROC) -> Process:
    """A look at the process now."""
    home = root / str(pid)
    if not home.is_dir():
        raise ProcessLookupError(pid)
    files = dict(_descriptors(home))
    tids = sorted(int(p.name) for p in _listed(home / "task") if p.name.isdigit())
    threads = [_thread(home / "task" / str(tid), tid, files) for tid in sorted(tids, key=lambda t: t != pid)]
    variables = (v.partition("=") for v in _text(home / "environ").split("\0") if "=" in v)
    return Process(
        pid,
        _text(home / "cmdline").replace("\0", " ").strip() or _text(home / "comm").strip(),
        _number(_status(home).get("PPid", "0")),
        tuple(threads),
        tuple(sorted({name for name in files.values() if DEVICES.match(name)})),
        tuple(_connections(home, files)),
        tuple(_children(home, root, tids)),
        {name: value for name, _, value in variables},
    )


def _thread(home: Path, tid: int, files: dict[int, str]) -> Thread:
    stat = _text(home / "stat").rpartition(")")[2].split()  # after the name: state, ppid, ... utime is 14th, stime 15th of all
    words = _text(home / "syscall").split()
    call, kind = _calls().get((platform.machine(), words[0]), ("", "")) if words else ("", "")
    target = files.get(int(words[1], 16), "") if len(words) > 1 and kind in ("read", "ioctl", "network", "lock", "disk") else ""
    stack = tuple(re.sub(r"^\[<[^>]*>\] |\+0x.*$", "", line) for line in _text(home / "stack").splitlines())
    wchan = _text(home / "wchan").strip()
    return Thread(
        tid,
        _text(home / "comm").strip(),
        stat[0] if stat else "",
        "" if wchan == "0" else wchan,
        call,
        kind,
        target,
        stack,
        _number(stat[11]) + _number(stat[12]) if len(stat) > 12 else 0,
    )


@cache
def _calls() -> dict[tuple[str, str], tuple[str, str]]:
    """(machine, number) -> (name, kind) of the calls that wait."""
    text = resources.files("diag").joinpath("data/hang_calls.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {(arch, r[arch]): (r["call"], r["kind"]) for r in rows for arch in ("x86_64", "aarch64") if r[arch]}


def _descriptors(home: Path) -> Iterator[tuple[int, str]]:
    for entry in _listed(home / "fd"):
        try:
            yield int(entry.name), str(entry.readlink())
        except OSError:  # closed meanwhile
            continue


def _connections(home: Path, files: dict[int, str]) -> Iterator[Connection]:
    inodes = {name[8:-1] for name in files.values() if name.startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for row in _text(home / "net" / table).splitlines()[1:]:
            words = row.split()
            if len(words) > 9 and words[9] in inodes:
                yield Connection(_address(words[1]), _address(words[2]), TCP_STATES.get(words[3], words[3]))


def _address(text: str) -> str:
    """0100007F:1F90 -> 127.0.0.1:8080. The kernel writes words of four bytes in the order of the host."""
    host, _, port = text.partition(":")
    if len(host) == 8:
        name = ".".join(str(b) for b in reversed(bytes.fromhex(host)))
    elif host.startswith("0000000000000000FFFF0000"):
        name = ".".join(str(b) for b in reversed(bytes.fromhex(host[24:])))
    else:
        name = "[" + ":".join(bytes.fromhex(host)[i : i + 4][::-1].hex() for i in range(0, 16, 4)) + "]"
    return f"{name}:{int(port, 16)}"


def _children(home: Path, root: Path, tids: list[int]) -> Iterator[tuple[int, str]]:
    for tid in tids:
        for child in _text(home / "task" / str(tid) / "children").split():
            yield int(child), _text(root / child / "cmdline").replace("\0", " ").strip()


def _status(home: Path) -> dict[str, str]:
    rows = (line.partition(":") for line in _text(home / "status").splitlines())
    return {name: value.strip() for name, _, value in rows}


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
