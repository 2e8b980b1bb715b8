"""Host times on a machine with a real NPU: the real `acl`, found further on the path, with every function recorded.

Nothing is simulated here. The functions of the real module are replaced in place, so that classes, constants and submodules
stay what they are; a call costs about a microsecond more. Times are real, zero is the start of the process.
"""

from __future__ import annotations

import csv
import functools
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import resources
from types import ModuleType
from typing import Any, NamedTuple

from npu.events import DIRECTIONS, LEVELS, load_sink
from npu.runtime.knobs import Knobs
from npu.runtime.recording import Recording

ACL_LEVEL = LEVELS.index("acl")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onreal")
NOTHING = -1
DEVICE_IS_SET = "aclrtSetDevice"


class Places(NamedTuple):
    """Where a function's arguments tell what the record asks for, -1 for nowhere; blocking: 1 if it waits for the device."""

    bytes: int
    kind: int
    stream: int
    event: int
    blocking: int


NOWHERE = Places(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)


def install(name: str) -> None:
    """Put the real module of that name, with recording functions, in the place of the module that asks. ImportError when no
    real one is on the path."""
    real = _load(name)
    sink = load_sink()
    if sink is None:
        return
    log = _Log(Recording(sink, Knobs.of().stacks), getattr(real, "get_soc_name", None))
    sink.meta(simulated=False, unix_zero_ns=log.unix_zero, threads=log.native)
    c_names = {row["name"]: row["c_name"] for row in _rows("pyacl.csv")}
    places = {row.pop("name"): Places(**{k: int(v) for k, v in row.items()}) for row in _rows("real_calls.csv")}
    for group, module in _modules(real, name):
        for leaf, function in list(vars(module).items()):
            if leaf.startswith("_") or not inspect.isroutine(function):
                continue
            path = f"{group}.{leaf}".lstrip(".")
            c_name = c_names.get(path) or (_derived(group, leaf) if path not in c_names else "")
            if c_name:  # helpers without a C name (pointer conversion) are no calls of the stack
                setattr(module, leaf, log.recording(function, c_name, places.get(path, NOWHERE)))


def _load(name: str) -> ModuleType:
    """The module as the script would have got it without us."""
    paths = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec(name, paths)
    if spec is None or spec.loader is None:
        raise ImportError(f"no real module {name} on the path: source the toolkit's set_env.sh first", name=name)
    real = importlib.util.module_from_spec(spec)
    sys.modules[name] = real  # its own parts import each other by this name, and so does the script afterwards
    spec.loader.exec_module(real)
    return real


def _modules(real: ModuleType, name: str) -> list[tuple[str, ModuleType]]:
    """(group, module): the module itself and its direct submodules, each once."""
    made = [("", real)]
    for group, value in vars(real).items():
        if isinstance(value, ModuleType) and value.__name__.rpartition(".")[2] == group and value.__name__ != name:
            inner = value.__name__.startswith(f"{name}.") or not getattr(value, "__file__", None)
            made += [(group, value)] if inner and value.__name__ not in sys.stdlib_module_names else []
    return made


def _rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(resources.files("npu").joinpath(f"data/{table}").read_text(encoding="utf-8").splitlines()))


def _derived(group: str, leaf: str) -> str:
    """The C name of a function the table does not have: rt.foo_bar -> aclrtFooBar."""
    return f"acl{group}" + "".join(part.capitalize() for part in leaf.split("_"))


class _Log:
    """What the wrappers share: the clock, the threads, ordinals of handles, one lock around each row.

    chip: the real function that names the chip, which it can after the first set_device.
    """

    def __init__(self, recording: Recording, chip: Callable[[], object] | None) -> None:
        self.out, self._chip = recording, chip
        self.zero = time.monotonic_ns()
        self.unix_zero = time.time_ns()
        self.native: list[int] = []
        self._lock = threading.Lock()
        self._threads: dict[int, int] = {}
        self._handles: dict[tuple[str, object], int] = {}

    def recording(self, function: Callable[..., Any], c_name: str, places: Places) -> Callable[..., Any]:
        """The function, with a row in the api table for each call; what it returns and raises passes through."""
        name = self.out.text(c_name)
        now = time.monotonic_ns

        @functools.wraps(function)
        def call(*args: Any, **more: Any) -> Any:
            begin = now()
            answer = function(*args, **more)
            self._row(begin, now(), name, args, answer, places, sys._getframe(1))
            if self._chip is not None and c_name == DEVICE_IS_SET and answer == 0:
                self.out.sink.meta(soc=str(self._chip()))
                self._chip = None
            return answer

        return call

    def _row(self, begin: int, end: int, name: int, args: tuple[Any, ...], answer: Any, places: Places, frame: Any) -> None:
        with self._lock:
            count, kind = _number(args, places.bytes), _number(args, places.kind)
            direction = kind if kind < len(DIRECTIONS) else NOTHING  # kinds of copies are numbered as directions are
            self.out.api(
                begin - self.zero,
                end - self.zero,
                NOTHING,
                count,
                self._thread(),
                self._ordinal("stream", args, places.stream),
                NOTHING,
                name,
                self._ordinal("event", args, places.event),
                _code(answer),
                self.out.site(frame),
                ACL_LEVEL,
                direction,
                NOTHING,
                places.blocking,
            )

    def _thread(self) -> int:
        found = self._threads.get(threading.get_ident())
        if found is None:
            found = self._threads[threading.get_ident()] = len(self.native)
            self.native.append(threading.get_native_id())
            self.out.sink.meta(threads=self.native)
        return found

    def _ordinal(self, kind: str, args: tuple[Any, ...], place: int) -> int:
        """Handles in order of their first use; the default stream is 0."""
        if not 0 <= place < len(args):
            return NOTHING
        handle = args[place]
        if kind == "stream" and not handle:
            return 0
        key = (kind, handle)
        return self._handles.setdefault(key, sum(k == kind for k, _ in self._handles) + (kind == "stream"))


def _number(args: tuple[Any, ...], place: int) -> int:
    return int(args[place]) if 0 <= place < len(args) and isinstance(args[place], int) else NOTHING


def _code(answer: Any) -> int:
    """The error code in what a function of pyACL returns: the whole, or the last of several values."""
    last = answer[-1] if isinstance(answer, tuple) and answer else answer
    return last if isinstance(last, int) and not isinstance(last, bool) and -(1 << 31) <= last < 1 << 31 else 0
