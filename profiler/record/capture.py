"""A capture being written: one PROF folder with the tables of one process, in PROF_*/npuscope."""

from __future__ import annotations

import json
import os
import random
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from time import CLOCK_REALTIME, clock_gettime  # not time.time: a recorded script sees the simulated timeline through that

from npu.events import SCHEMA
from profiler.record.collection import Collection
from profiler.record.layout import FOLDER, META, PROF_NAME, STRINGS, describe
from profiler.record.room import Room
from profiler.record.segments import Segments

PIECE, SPARE = 1 << 12, 1 << 10  # bytes: meta.json is whole pieces with room for what a full disk adds to it
MOST_TEXTS = 1 << 17  # texts remembered; beyond them some are written twice, which the reader puts together again


def prof_name(parent: Path, pid: int, now: float) -> str:
    """The next PROF folder's name: running number, local time to the millisecond, process id, eight letters A..R."""
    numbers = [int(p.name[5:11]) for p in parent.glob("PROF_*") if PROF_NAME.match(p.name)]
    number = max(numbers, default=0) % 999_999 + 1
    stamp = time.strftime("%Y%m%d%H%M%S", time.localtime(now)) + f"{int(now * 1000) % 1000:03}"
    letters = "".join(random.SystemRandom().choice("ABCDEFGHIJKLMNOPQR") for _ in range(8))
    return f"PROF_{number:06}_{stamp}_{pid:08}{letters}"


def framed(text: str) -> bytes:
    """A text as it lies in the file: its length in bytes, then UTF-8."""
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<I", len(data)) + data


class Capture:
    """Strings, rows and facts of one process, or of a stretch of its time. OSError where the folder cannot be made."""

    def __init__(self, parent: Path, collection: Collection) -> None:
        now = clock_gettime(CLOCK_REALTIME)
        self.collection = collection
        self.prof = parent / prof_name(parent, os.getpid(), now)
        self.folder = self.prof / FOLDER
        self.folder.mkdir(parents=True)
        self.texts = 0  # written so far
        self._ids: dict[str, int] = {}
        self._kept: dict[str, int] = {}
        self._strings = os.open(self.folder / STRINGS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._length = 0
        self._tables: dict[str, tuple[Segments, Callable[..., None]]] = {}
        self._lost_texts = 0
        self._gone: dict[str, int] = {}
        self._pid = os.getpid()
        self.room = Room(collection.storage_limit, self._forget)
        self._facts: dict[str, object] = {
            "schema": SCHEMA,
            "generator": "npuscope",
            "tables": describe(),
            "pid": self._pid,
            "command": sys.argv,
            "python": sys.version.split()[0],
            "started_unix": now,
            "ended_unix": None,
            "host": _host(),
        }
        self.collect(collection)

    def collect(self, collection: Collection) -> None:
        """What is collected from now on, as the capture says it."""
        self.collection = collection
        self.room.limit = collection.storage_limit
        if collection.facts():
            self._facts["collection"] = collection.facts()
        self._save()

    def text(self, text: str) -> int:
        """The id of a text, -1 where the disk has no room for it."""
        found = self._ids.get(text)
        if found is not None:
            return found
        if not self.append(framed(text), 1):
            return -1
        if len(self._ids) >= MOST_TEXTS:
            self._ids = dict(self._kept)
        self._ids[text] = self.texts - 1
        return self.texts - 1

    def keep(self, text: str) -> int:
        """The id of a text that stays the only one."""
        self._kept[text] = self.text(text)
        return self._kept[text]

    def append(self, data: bytes, count: int) -> bool:
        """Texts as they lie in the file. All or, on a full disk, none: half a text would number later ones wrongly."""
        try:
            done = os.write(self._strings, data)
            if done < len(data):
                os.ftruncate(self._strings, self._length)
        except OSError:
            done = -1
        if done < len(data):
            self._lost_texts += count
            if self._lost_texts == count:
                self._full()
            return False
        self._length += done
        self.room.take(done)
        self.texts += count
        return True

    def strings(self) -> bytes:
        """All texts so far, as they lie in the file."""
        return os.pread(self._strings, self._length, 0)

    def writer(self, table: str) -> Callable[..., None]:
        """A function that appends one row, whatever the collection says."""
        if table not in self._tables:
            segments = Segments(self.folder, table, self.room, self._full)
            self._tables[table] = (segments, segments.writer())
        return self._tables[table][1]

    def meta(self, **facts: object) -> None:
        self._facts.update(facts)
        self._save()

    def close(self) -> None:
        """Say that the capture has ended, and what is missing. A forked child that ends does not end its parent's."""
        if os.getpid() != self._pid:
            return
        self._facts["ended_unix"] = clock_gettime(CLOCK_REALTIME)
        self._full()

    def _full(self) -> None:
        """Write down what was lost so far: at the first loss, lest the process is killed later, and at the end."""
        lost = {t: s.lost for t, (s, _) in self._tables.items() if s.lost}
        if lost or self._lost_texts:
            self._facts["lost"] = {**lost, **({"strings": self._lost_texts} if self._lost_texts else {})}
        self._save()

    def _forget(self, table: str, rows: int) -> None:
        self._gone[table] = self._gone.get(table, 0) + rows
        self._facts["dropped"] = self._gone
        self._save()

    def _save(self) -> None:
        """Write meta.json whole; where the disk has no room for a second one, over the former, which was made long enough."""
        path = self.folder / META
        fresh = path.with_suffix(".tmp")
        text = json.dumps(self._facts, indent=1, default=str).encode()
        try:
            fresh.write_bytes(text.ljust(-(-(len(text) + SPARE) // PIECE) * PIECE))
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            _overwrite(path, text)


def _overwrite(path: Path, text: bytes) -> None:
    """Put a JSON text into the blocks a file has; it stays as it is where they are too few."""
    try:
        number = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        length = os.fstat(number).st_size
        if len(text) <= length:
            os.pwrite(number, text.ljust(length), 0)
    except OSError:
        pass  # nothing more can be done; what was recorded can be read all the same
    finally:
        os.close(number)


def _host() -> dict[str, object]:
    """The machine as info.json of a profile names it; what /proc does not tell is left out."""
    system = os.uname()
    facts: dict[str, object] = {
        "hostname": system.nodename,
        "os": f"{system.sysname} {system.release}",
        "machine": system.machine,
        "cpus": os.cpu_count() or 1,
    }
    for path, key, name in (("/proc/cpuinfo", "model name", "cpu"), ("/proc/meminfo", "MemTotal", "memory_kb")):
        try:
            with open(path, encoding="utf-8", errors="replace") as lines:
                value = next((v for k, _, v in (line.partition(":") for line in lines) if k.strip() == key), "").strip()
        except OSError:
            continue
        if value:
            facts[name] = int(value.split()[0]) if name == "memory_kb" else value
    return facts
