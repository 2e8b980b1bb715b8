"""Processes and threads of a Chrome trace: what their names say about layers, devices, communication groups and planes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from npu import events
from profiler.read import tables
from profiler.read.events_json import Event, opened, unpacked
from profiler.trace import Array, Columns, Missing, Strings

MOST_NAMES = 20_000  # places looked at for process names before the pass; later ones are still heard in the pass
THREADS = 1 << 30  # numbers from here on stand for threads that have texts or huge numbers as ids
GROUP = re.compile(r"(?:Group (?P<group>.*) )?Communication")
PLANE = re.compile(r"Plane (\d+)")
DEVICE = re.compile(r"(?:NPU|Device|GPU|Ascend Hardware|HCCL|Communication)\s+(\d+)")
CPU = "CPU"


class Processes:
    """The processes of one file. Numbers are theirs in order of appearance; pids in files are synthetic and may be texts."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._numbers: dict[Any, int] = {}
        self._facts: list[dict[str, Any]] = []
        self._threads: dict[tuple[int, int], str] = {}
        self._odd_tids: dict[str, int] = {}
        self.problems: list[Missing] = []
        for path in paths:
            for value in _named_early(path):
                self._hear("process_name", value.get("pid", 0), 0, value.get("args"))

    def number(self, pid: Any) -> int:
        key = pid if isinstance(pid, int | str) else str(pid)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._facts)
            self._facts.append({"pid": key})
        return found

    def name(self, number: int) -> str:
        return str(self._facts[number].get("name", ""))

    def threads(self, tids: Sequence[Any]) -> Array:
        """Thread ids as int32: numbers as they are, all others numbered from THREADS on."""
        if set(map(type, tids)) == {int} and max(tids) < THREADS and min(tids) >= 0:
            return np.array(tids, np.int32)
        return np.fromiter((self._thread(t) for t in tids), np.int32, len(tids))

    def _thread(self, tid: Any) -> int:
        if type(tid) is str and tid.isascii() and tid.isdigit() and len(tid) < 10:
            tid = int(tid)
        if type(tid) is int and 0 <= tid < THREADS:
            return tid
        number = re.fullmatch(r"stream (\d{1,8})", tid) if isinstance(tid, str) else None
        if number is not None:
            return int(number[1])
        return self._odd_tids.setdefault(str(tid), THREADS + len(self._odd_tids))

    def tell(self, metadata: list[Event]) -> None:
        for event in metadata:
            try:
                args = msgspec.json.decode(event.args)
            except (msgspec.DecodeError, ValueError):
                continue
            self._hear(event.name, event.pid, event.tid, args)

    def _hear(self, what: str, pid: Any, tid: Any, args: Any) -> None:
        if not isinstance(args, dict):
            return
        facts = self._facts[self.number(pid)]
        if what == "process_name" and isinstance(args.get("name"), str):
            known = facts.setdefault("name", args["name"])
            if known != args["name"] and not facts.get("shared"):
                facts["shared"] = True
                self.problems.append(
                    Missing(
                        f"which process is which under pid {facts['pid']}",
                        f"two processes share it ({known}, {args['name']}): the file was merged without renaming them",
                    )
                )
        elif what == "process_labels":
            facts["labels"] = str(args.get("labels", ""))
        elif what == "process_sort_index" and isinstance(args.get("sort_index"), int):
            facts["sort"] = args["sort_index"]
        elif what == "thread_name":
            self._threads[self.number(pid), self._thread(tid)] = str(args.get("name", ""))

    def devices(self, numbers: Array, strict: bool = False) -> Array:
        """Device of each row by its process. strict: -1 for host processes; else processes without a device count up."""
        made: dict[int, int] = {}
        unknown = 0
        for number in np.unique(numbers).tolist():
            found = self._device(number)
            if found is None and strict and self._facts[number].get("labels") == CPU:
                found = -1
            if found is None:
                found, unknown = unknown, unknown + 1
            made[number] = found
        return np.array([made[n] for n in numbers.tolist()], np.int32)

    def _device(self, number: int) -> int | None:
        """Labels say it (NPU 1); the pid holds it (its lowest five bits) when the layer's sort index stands above them, as in
        files of msprof. Other names may end in it."""
        facts = self._facts[number]
        for text in (str(facts.get("labels", "")), str(facts.get("name", ""))):
            found = DEVICE.fullmatch(text)
            if found and len(found[1]) < 6:
                return int(found[1])
        pid, sort = facts["pid"], facts.get("sort")
        if isinstance(pid, int) and pid >= 1 << 10 and (sort is None or (pid >> 5) & 31 == sort) and facts.get("labels") == "NPU":
            return pid & 31
        return None

    def real_ids(self, numbers: Array) -> Array:
        """The pids of the file, where they are numbers that fit; else the number of the process."""
        pids = [f["pid"] for f in self._facts]
        fitting = [p if isinstance(p, int) and 0 <= p < 1 << 62 else n for n, p in enumerate(pids)]
        made: Array = np.array(fitting, np.int64)[numbers]
        return made

    def collectives(self, comm: Columns, strings: Strings) -> Columns:
        """Level, group and plane of communication rows by the names of their threads, and for each part its operator: the last
        one of its group that began before it."""
        level, plane = comm["level"].copy(), np.full(len(comm), -1, np.int32)
        group = np.full(len(comm), -1, np.int32)
        key = comm["_pid"].astype(np.int64) << 32 | comm["_tid"]
        owner = {pid: self._groups(pid) for pid in np.unique(comm["_pid"]).tolist()}
        unique, where = np.unique(key, return_inverse=True)
        for number, value in enumerate(unique.tolist()):
            pid, tid = value >> 32, value & 0xFFFFFFFF
            rows = where == number
            name = self._threads.get((pid, tid), "")
            lane = PLANE.fullmatch(name)
            if lane:
                plane[rows] = int(lane[1]) if len(lane[1]) < 8 else -1
                level[rows] = events.COMM_LEVELS.index("part")
            elif GROUP.fullmatch(name):
                level[rows] = events.COMM_LEVELS.index("op")
            title = next((g for first, g in reversed(owner[pid]) if first <= tid), "")
            if title:
                group[rows] = strings.id(title)
        given = comm.get("group")
        if given is not None:
            group = np.where(given >= 0, given, group)
        return comm.with_columns(
            level=level, plane=plane, group=group, op=operators_of(comm["_pid"], group, level, comm["start"])
        )

    def _groups(self, pid: int) -> list[tuple[int, str]]:
        """(first thread, group) of a communication process, ascending: planes follow the thread of their group."""
        found = [(tid, GROUP.fullmatch(name)) for (p, tid), name in self._threads.items() if p == pid]
        return sorted((tid, match["group"] or "") for tid, match in found if match)

    def meta(self, beside: dict[str, Any]) -> dict[str, Any]:
        """What the file says of itself: rank, world size, zero of its clock, producer."""
        names = {str(f.get("name", "")) for f in self._facts}
        ours = any(tables.first_match("layers.csv", "process", "layer", n) for n in names)
        made: dict[str, Any] = {"generator": "chrome"}
        if ours:
            made["generator"] = "torch_npu" if "Python" in names else "msprof"
        info = beside.get("distributedInfo")
        if isinstance(info, dict):
            made |= {n: info[n] for n in ("rank", "world_size") if isinstance(info.get(n), int)}
        base = beside.get("baseTimeNanoseconds")
        extra = beside.get("metadata")
        if isinstance(extra, dict) and str(extra.get("unix_zero_ns", "")).isdigit():
            made["unix_zero_ns"] = int(extra["unix_zero_ns"])
        elif isinstance(extra, dict) and isinstance(extra.get("unix_minus_clock_us"), int | float):
            made["unix_zero_ns"] = int(extra["unix_minus_clock_us"] * 1000)
        elif isinstance(base, int):
            made["unix_zero_ns"] = base
        host = [f["pid"] for f in self._facts if f.get("name") == "Python" and isinstance(f["pid"], int)]
        if len(host) == 1:
            made["pid"] = host[0]
        return made


def operators_of(pid: Array, group: Array, level: Array, start: Array) -> Array:
    """Number of the operator each row belongs to, counted in start order; -1 for parts before any operator of their group."""
    made = np.full(len(start), -1, np.int32)
    is_op = level == events.COMM_LEVELS.index("op")
    ops = np.flatnonzero(is_op)
    ops = ops[np.argsort(start[ops], kind="stable")]
    made[ops] = np.arange(len(ops))
    parts = np.flatnonzero(~is_op)
    lane = pid.astype(np.int64) << 32 | (group.astype(np.int64) & 0xFFFFFFFF)
    for value in np.unique(lane[parts]):
        own = ops[lane[ops] == value]
        if not len(own):
            continue
        rows = parts[lane[parts] == value]
        at = np.searchsorted(start[own], start[rows], side="right") - 1
        made[rows] = np.where(at >= 0, made[own[np.maximum(at, 0)]], -1)
    return made


def _named_early(path: Path) -> list[dict[str, Any]]:
    """The process_name events of a file, found by their name without decoding the rest."""
    mark, reach = b'"process_name"', 2000
    made: list[dict[str, Any]] = []
    decoder = json.JSONDecoder(strict=False)
    with opened(path) as stream:
        rest, begin = b"", 0  # begin: where in the window the search goes on
        while len(made) < MOST_NAMES:
            try:
                block, _ = unpacked(stream, 4 << 20)
            except OSError:
                break
            window = rest + block
            at = window.find(mark, begin)
            while at >= 0 and (at + reach < len(window) or not block):
                value = _around(window[max(0, at - reach) : at + reach], min(at, reach), decoder)
                if value is not None:
                    made.append(value)
                begin = at + len(mark)
                at = window.find(mark, begin)
            if not block:
                break
            # what is kept holds the mark that waits for more bytes, or else one that may be cut by the window's end
            kept = max(0, (at if at >= 0 else len(window) - len(mark)) - reach)
            rest, begin = window[kept:], max(begin, at if at >= 0 else len(window) - len(mark)) - kept
    return made


def _around(text: bytes, at: int, decoder: json.JSONDecoder) -> dict[str, Any] | None:
    """The innermost object around a place that is an event of that name."""
    shown = text.decode("latin-1")
    begin = shown.rfind("{", 0, at)
    for _ in range(4):
        if begin < 0:
            return None
        try:
            value, _ = decoder.raw_decode(shown, begin)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value.get("name") == "process_name":
            return value
        begin = shown.rfind("{", 0, begin)
    return None
