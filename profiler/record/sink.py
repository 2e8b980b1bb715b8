"""The Sink of a capture: `NPU_SINK=profiler.record.sink:open_sink`. Folder and options come from the launcher's environment."""

from __future__ import annotations

import atexit
import json
import os
import random
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from time import CLOCK_REALTIME, clock_gettime  # not time.time: a recorded script sees the simulated timeline through that

from npu.events import SCHEMA, NullSink, Sink
from profiler.record.layout import FOLDER, META, PROF_NAME, STRINGS, describe
from profiler.record.segments import Segments

OUTPUT = "NPUSCOPE_OUTPUT"  # parent folder of the PROF folders
METRICS = "NPUSCOPE_AIC_METRICS"  # the group of counters the files show; all of them follow from what is recorded


def prof_name(parent: Path, pid: int, now: float) -> str:
    """The next PROF folder's name: running number, local time to the millisecond, process id, eight letters A..R."""
    numbers = [int(p.name[5:11]) for p in parent.glob("PROF_*") if PROF_NAME.match(p.name)]
    number = max(numbers, default=0) % 999_999 + 1
    stamp = time.strftime("%Y%m%d%H%M%S", time.localtime(now)) + f"{int(now * 1000) % 1000:03}"
    letters = "".join(random.SystemRandom().choice("ABCDEFGHIJKLMNOPQR") for _ in range(8))
    return f"PROF_{number:06}_{stamp}_{pid:08}{letters}"


class CaptureSink:
    """Writes one process's capture into PROF_*/npuscope."""

    def __init__(self, parent: Path) -> None:
        now = clock_gettime(CLOCK_REALTIME)
        self.prof = parent / prof_name(parent, os.getpid(), now)
        self.folder = self.prof / FOLDER
        self.folder.mkdir(parents=True)
        self._ids: dict[str, int] = {}
        self._strings = os.open(self.folder / STRINGS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._tables: dict[str, tuple[Segments, Callable[..., None]]] = {}
        self._lost_texts = 0
        self._facts: dict[str, object] = {
            "schema": SCHEMA,
            "generator": "npuscope",
            "tables": describe(),
            "pid": os.getpid(),
            "command": sys.argv,
            "python": sys.version.split()[0],
            "started_unix": now,
            "ended_unix": None,
            "host": _host(),
        }
        if os.environ.get(METRICS):
            self._facts["collection"] = {"aic_metrics": os.environ[METRICS]}
        self._save()

    def text(self, text: str) -> int:
        found = self._ids.get(text)
        if found is not None:
            return found
        data = text.encode("utf-8", "surrogateescape")
        try:
            os.write(self._strings, struct.pack("<I", len(data)) + data)
        except OSError:
            self._lost_texts += 1
            return -1
        self._ids[text] = len(self._ids)
        return self._ids[text]

    def writer(self, table: str) -> Callable[..., None]:
        if table not in self._tables:
            segments = Segments(self.folder, table)
            self._tables[table] = (segments, segments.writer())
        return self._tables[table][1]

    def meta(self, **facts: object) -> None:
        self._facts.update(facts)
        self._save()

    def close(self) -> None:
        self._facts["ended_unix"] = clock_gettime(CLOCK_REALTIME)
        lost = {t: s.lost for t, (s, _) in self._tables.items() if s.lost}
        if lost or self._lost_texts:
            self._facts["lost"] = {**lost, **({"strings": self._lost_texts} if self._lost_texts else {})}
        self._save()

    def _save(self) -> None:
        """Write meta.json whole; a full disk leaves the former one."""
        path = self.folder / META
        fresh = path.with_suffix(".tmp")
        try:
            fresh.write_text(json.dumps(self._facts, indent=1, default=str), encoding="utf-8")
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)


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


def open_sink() -> Sink:
    """A capture under $NPUSCOPE_OUTPUT (default: the current folder). A folder that cannot be written is told on stderr and
    the script goes on unrecorded."""
    parent = Path(os.environ.get(OUTPUT) or ".")
    try:
        sink = CaptureSink(parent)
    except OSError as error:
        print(f"npuscope: nothing is recorded: {error}", file=sys.stderr)
        return NullSink()
    atexit.register(sink.close)
    return sink
