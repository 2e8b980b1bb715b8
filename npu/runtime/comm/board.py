"""Where ranks leave what the others wait for, each thing under a key and the rank's number.

Ranks of one process share a dict; ranks of several processes share a folder, one file per thing, which appears whole (it is
renamed into place) and is read by mapping it. `Board` is the boundary, `LocalBoard` its smallest form.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from npu.errors import NpuError

HEAD = struct.Struct("<qI")  # arrival in ns, bytes of the facts that follow as JSON; then the data
KEPT = 4  # operations of a line whose things a rank keeps: the others have surely read what is older


Data: TypeAlias = bytes | bytearray | memoryview


class Note(NamedTuple):
    """What one rank left: when it came (ns of its own timeline), facts, data."""

    arrival: int
    facts: Mapping[str, object]
    data: Data


class Board(Protocol):
    """One for each rank."""

    def put(self, rank: int, notes: Mapping[str, Note], line: str | None = "") -> None:
        """Leave what belongs to one operation. line: operations that the same ranks go through one after the other; who has come
        to a later one has read what was left for the earlier ones. None: it stays until it is dropped."""

    def get(self, key: str, rank: int) -> Note | None:
        """What a rank left under a key; None while it has not."""

    def drop(self, rank: int, key: str) -> None:
        """Forget what a rank left under a key."""

    def leave(self, rank: int, ranks: int) -> bool:
        """This rank reads nothing more; whether it was the last of all `ranks`."""


class LocalBoard:
    """Of threads of one process."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[int, Note]] = {}
        self._own: dict[tuple[int, str], deque[tuple[str, ...]]] = defaultdict(deque)
        self._left: set[int] = set()

    def put(self, rank: int, notes: Mapping[str, Note], line: str | None = "") -> None:
        for key, note in notes.items():
            self.notes.setdefault(key, {})[rank] = note
        if line is None:
            return
        mine = self._own[rank, line]
        mine.append(tuple(notes))
        if len(mine) > KEPT:
            for old in mine.popleft():
                self.drop(rank, old)

    def drop(self, rank: int, key: str) -> None:
        left = self.notes.get(key, {})
        left.pop(rank, None)
        if not left:
            self.notes.pop(key, None)

    def get(self, key: str, rank: int) -> Note | None:
        return self.notes.get(key, {}).get(rank)

    def leave(self, rank: int, ranks: int) -> bool:
        self._left.add(rank)
        return len(self._left) >= ranks


class FolderBoard:
    """Of processes, in a folder they all see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own: dict[str, deque[tuple[Path, ...]]] = defaultdict(deque)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise NpuError("hccl_internal", reason=f"{folder}: {error.strerror}") from error

    def put(self, rank: int, notes: Mapping[str, Note], line: str | None = "") -> None:
        written = tuple(self._write(f"{key}.{rank}", note) for key, note in notes.items())
        if line is None:
            return
        mine = self._own[line]
        mine.append(written)
        if len(mine) > KEPT:
            for old in mine.popleft():
                old.unlink(missing_ok=True)

    def drop(self, rank: int, key: str) -> None:
        with suppress(OSError):
            (self.folder / f"{key}.{rank}").unlink()

    def _write(self, name: str, note: Note) -> Path:
        facts = json.dumps(note.facts).encode()
        path = self.folder / name
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with fresh.open("wb") as file:
                file.write(HEAD.pack(note.arrival, len(facts)))
                file.write(facts)
                file.write(note.data)
            fresh.replace(path)
        except OSError as error:
            raise NpuError("hccl_internal", reason=f"{path}: {error.strerror}") from error
        return path

    def get(self, key: str, rank: int) -> Note | None:
        try:
            with (self.folder / f"{key}.{rank}").open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        view = memoryview(mapped)
        arrival, length = HEAD.unpack_from(view)
        facts = json.loads(bytes(view[HEAD.size : HEAD.size + length]))
        return Note(arrival, facts, view[HEAD.size + length :])

    def leave(self, rank: int, ranks: int) -> bool:
        with suppress(OSError):
            (self.folder / f"left.{rank}").touch()
        return len(list(self.folder.glob("left.*"))) >= ranks
