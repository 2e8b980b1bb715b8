"""The operator bank: schedules that aoe found, one JSON file a chip, which atc takes for the kernels they were found for.

    {"version": 1, "soc": "Ascend910B3", "entries": [{"op_type", "in_shapes", ..., "dims", ..., "schedule", "ns"}]}

An entry is for one kernel: operator, shapes, types, formats, and the work the cost model sees. It is used only while it is faster
than the library's own schedule, so a bank of an older cost model does no harm. ns: time of the kernel with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from npu.cost import kernel as kernel_cost
from npu.cost.kernel import fits
from npu.graph.errors import AtcError
from npu.om import Kernel
from npu.soc import Soc, find

VERSION = 1
FILE = "tiling.json"
MOST_BYTES = 64 << 20
ROOTS = ("TUNE_BANK_PATH", "ASCEND_CACHE_PATH")  # variables that name the place, the first one set counts
_TEXTS = ("op_type", "in_shapes", "in_dtypes", "in_formats", "out_shapes", "out_dtypes", "out_formats")
_WORK = ("form", "op", "dtype", "dims", "read_bytes", "write_bytes", "epilogue")
Key = tuple[Any, ...]


class BadBank(Exception):
    """A bank file that cannot be used. `reason` is one line."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


@dataclass(frozen=True)
class Entry:
    """A schedule and the time of the kernel with it."""

    schedule: tuple[int, ...]
    ns: int


@dataclass(frozen=True)
class Bank:
    """Entries by kernel. chip: whose they are; None where there is no bank."""

    chip: Soc | None = None
    entries: Mapping[Key, Entry] = field(default_factory=dict)

    def scheduled(self, kernel: Kernel) -> Kernel:
        """The kernel with the schedule the bank has for it, if that is faster."""
        entry = self.entries.get(key(kernel)) if self.entries else None
        if entry is None or self.chip is None or not fits(kernel.work.form, entry.schedule):
            return kernel
        tuned = replace(kernel.work, schedule=entry.schedule)
        faster = kernel_cost(tuned, self.chip).duration < kernel_cost(kernel.work, self.chip).duration
        return replace(kernel, work=tuned) if faster else kernel


EMPTY = Bank()


def key(kernel: Kernel) -> Key:
    """What an entry is found by: all of a kernel but its name, place and schedule."""
    return (*(getattr(kernel, n) for n in _TEXTS), *(getattr(kernel.work, n) for n in _WORK))


def folder(soc: str, environ: Mapping[str, str] | None = None) -> Path:
    """Where the bank of a chip lies by default: below TUNE_BANK_PATH, ASCEND_CACHE_PATH, or Ascend in the home folder."""
    env = os.environ if environ is None else environ
    root = next((Path(env[name]) for name in ROOTS if env.get(name)), None)
    home = Path(env.get("HOME", "~")).expanduser() / "Ascend/latest/data/aoe/custom"
    return (home if root is None else root) / "op" / soc


def found_for(given: Path | None, soc: str) -> Bank:
    """The bank atc uses. given: --op_bank_path; without it the default place, where a missing file is an empty bank.

    AtcError E13000, E21002 for a place that was given and holds none, and for a damaged file wherever it is."""
    path = (folder(soc) if given is None else given) / FILE
    try:
        stamp = path.stat()
    except OSError as error:
        if given is None:
            return EMPTY
        raise AtcError("E13000", path=path, errmsg=f"{error.strerror}: the folder holds no bank of aoe") from error
    try:
        return _read_once(path, soc, stamp.st_mtime_ns, stamp.st_size)
    except BadBank as error:
        more = ("Remove the file, or let aoe write it again; it belongs to the folder of its chip.",)
        raise AtcError("E21002", file_name=path, reason=error.reason, more=more) from error


@cache
def _read_once(path: Path, soc: str, _changed: int, _size: int) -> Bank:
    return read(path, soc)


def read(path: Path, soc: str) -> Bank:
    """The bank of a file. BadBank for one that cannot be read, is no bank, or is of another chip or version."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadBank(path, f"more than {MOST_BYTES} bytes")
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadBank(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadBank(path, f"no JSON ({error})") from error
    if not isinstance(facts, dict) or "entries" not in facts:
        raise BadBank(path, "not an operator bank")
    if facts.get("version") != VERSION:
        raise BadBank(path, f"version {facts.get('version')!r}, and version {VERSION} is read")
    if facts.get("soc") != soc:
        raise BadBank(path, f"made for {facts.get('soc')!r}, not for {soc}")
    try:
        return Bank(find(soc), dict(_entry(e) for e in facts["entries"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:  # Infinity is JSON to Python
        raise BadBank(path, f"an entry is damaged: {error}") from error


def _entry(facts: Mapping[str, Any]) -> tuple[Key, Entry]:
    texts = tuple(str(facts[n]) for n in _TEXTS)
    form, op, dtype, dims, *counts = (facts[n] for n in _WORK)
    place = (*texts, str(form), str(op), str(dtype), tuple(int(d) for d in dims), *(int(c) for c in counts))
    schedule = tuple(int(s) for s in facts["schedule"])
    if not schedule or not fits(str(form), schedule):
        raise ValueError(f"{form} with the schedule {list(schedule)}")
    return place, Entry(schedule, int(facts["ns"]))


def write(path: Path, soc: str, entries: Mapping[Key, Entry]) -> None:
    """Replace a bank file; its folder is made. OSError."""
    rows = [dict(zip((*_TEXTS, *_WORK), k, strict=True)) | {"schedule": e.schedule, "ns": e.ns} for k, e in entries.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps({"version": VERSION, "soc": soc, "entries": rows}, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def distinct(kernels: Iterable[Kernel]) -> list[Kernel]:
    """One kernel for each key, in their order."""
    return list({key(k): k for k in reversed(list(kernels))}.values())[::-1]
