"""What processes share by key: one file per key below the state folder, with who may open it beside it."""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from npu.driver.shared import state_folder
from npu.errors import NpuError
from npu.runtime.process import Process

FOLDER = "shared"
MOST_KEY = 1024


class Facts(NamedTuple):
    """kind: memory | notify | physical; size in bytes; device: machine id; pids: who may open it, None everybody."""

    kind: str
    size: int
    device: int
    pids: list[int] | None
    owner: int


def _path(key: str) -> Path:
    """The file of a key, which comes from a script and names no path."""
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return Path(state_folder()) / FOLDER / name


def _facts(key: str) -> Path:
    return _path(key).with_suffix(".json")


def publish(process: Process, kind: str, size: int, device: int, everybody: bool) -> str:
    """A new key with a file of zeros. NpuError ipc when it cannot be made."""
    key = f"npu-{kind}-{os.getpid()}-{secrets.token_hex(8)}"
    path = _path(key)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.truncate(number, max(1, size))
        finally:
            os.close(number)
    except OSError as error:
        raise NpuError("ipc", reason=error.strerror) from error
    process.temporary += [str(path), str(path) + ".json"]
    _write(key, Facts(kind, size, device, None if everybody else [], os.getpid()))
    return key


def lend(process: Process, key: str, kind: str, size: int, device: int, everybody: bool, number: int) -> None:
    """Publish a file that is already open (file descriptor `number`) under a key: a link to it as this process has it."""
    path = _path(key)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.symlink_to(f"/proc/{os.getpid()}/fd/{number}")
    except OSError as error:
        raise NpuError("ipc", reason=error.strerror) from error
    process.temporary += [str(path), str(path) + ".json"]
    _write(key, Facts(kind, size, device, None if everybody else [], os.getpid()))


def _write(key: str, facts: Facts) -> None:
    path = _facts(key)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(facts._asdict()), encoding="utf-8")
    fresh.replace(path)


def look(key: str) -> Facts:
    """What a key names. NpuError ipc_key for an unknown one."""
    try:
        return Facts(**json.loads(_facts(key).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise NpuError("ipc_key", key=key, reason="nobody exported it, or its owner has ended") from error


def allow(key: str, pids: list[int]) -> None:
    """Let further processes open a key. NpuError ipc_key."""
    facts = look(key)
    _write(key, facts._replace(pids=[*(facts.pids or []), *pids]))


def enter(key: str, kind: str) -> Facts:
    """Facts of a key this process may open. NpuError ipc_key when it is of another kind or this process is not on its list."""
    facts = look(key)
    if facts.kind != kind:
        raise NpuError("ipc_key", key=key, reason=f"it is a {facts.kind}, not a {kind}")
    if facts.pids is not None and os.getpid() not in facts.pids and os.getpid() != facts.owner:
        raise NpuError("ipc_key", key=key, reason=f"process {os.getpid()} is not on its list")
    return facts


def mapped(key: str, size: int) -> tuple[mmap.mmap, int]:
    """The file of a key in this process's memory, and its address. NpuError ipc_key when it is gone."""
    try:
        with _path(key).open("r+b") as file:
            made = mmap.mmap(file.fileno(), max(1, size))
    except (OSError, ValueError) as error:
        raise NpuError("ipc_key", key=key, reason=str(error)) from error
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))


def fd(key: str) -> int:
    """An open file descriptor of a key's file. NpuError ipc_key."""
    try:
        return os.open(_path(key), os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise NpuError("ipc_key", key=key, reason=error.strerror) from error


def withdraw(key: str) -> None:
    """Take a key back; who has its memory mapped keeps it."""
    for path in (_path(key), _facts(key)):
        path.unlink(missing_ok=True)
