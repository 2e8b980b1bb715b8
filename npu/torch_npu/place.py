"""Where the calling thread is: its device as the script counts them, its streams, and calls of the runtime made from there."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar

import torch

from npu.cost import call_ns
from npu.errors import NpuError
from npu.events import LEVELS, MARKERS
from npu.runtime import context
from npu.runtime import process as processes
from npu.runtime import stream as streams
from npu.runtime.context import Context
from npu.runtime.messages import message
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

T = TypeVar("T")
ACL = LEVELS.index("acl")
ENQUEUE, DEQUEUE = MARKERS.index("enqueue"), MARKERS.index("dequeue")
ENGINE = "autograd::engine"
LIBRARY = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))  # frames in there are not the script's


class Seat:
    """What each thread has for itself. device: logical id; streams: the current one by device; site: what its calls count as
    where no line of a script is below them."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, Stream] = {}
        self.site = -1


class Seats(threading.local):
    """The calling thread's seat."""

    def __init__(self) -> None:
        self.mine = Seat()


class State:
    """What the process has once. engine: the seat of the threads of the autograd engine; lent: their host threads; backward: who
    waits for them, None outside a backward pass."""

    def __init__(self) -> None:
        self.contexts: dict[int, Context] = {}
        self.ready = False
        self.engine = Seat()
        self.lent: list[HostThread] = []
        self.backward: HostThread | None = None
        self.known: dict[int, tuple[CodeType, bool]] = {}  # by address: code, and whether it is the library's


seats = Seats()


def state(process: Process) -> State:
    return process.one(State)


def script_site(process: Process, frame: FrameType | None) -> int:
    """The id of the line of the script that a call comes from: the first frame that is neither torch's nor ours."""
    known = state(process).known
    while frame is not None:
        code = frame.f_code
        found = known.get(id(code))  # hashing a code object would cost more than all the rest
        if found is None:
            inner = code.co_filename.startswith(LIBRARY) or code.co_filename.startswith("<frozen")
            found = known[id(code)] = code, inner
        if not found[1]:
            return process.recording.site(frame)
        frame = frame.f_back
    return seats.mine.site


def enter() -> tuple[Process, HostThread]:
    """The simulator begins; leave() ends it. Every operator and every function of torch.npu stands between the two."""
    process = processes.current()
    try:
        thread: HostThread = process.local.thread
    except AttributeError:
        thread = _arrived(process)
    thread.clock.enter()
    return process, thread


def _arrived(process: Process) -> HostThread:
    """A thread at its first call. One of the autograd engine works while the thread that called backward waits for it, so the two
    have one clock, and the engine's never holds others up."""
    mine = state(process)
    if mine.backward is None or type(threading.current_thread()).__name__ != "_DummyThread":
        return process.thread()
    made = process.lend(mine.backward)
    made.context = mine.backward.context
    mine.lent.append(made)
    seats.mine = mine.engine
    return made


@contextmanager
def backward() -> Iterator[None]:
    """Around a run of the autograd engine: its threads take the caller's clock, device and streams, and count as its line."""
    process, thread = enter()
    mine, here = state(process), seats.mine
    site = script_site(process, sys._getframe(3)) if process.recording.on else -1
    before = mine.backward
    mine.engine.device, mine.engine.streams, mine.engine.site = here.device, here.streams, site
    mine.backward = thread
    for other in mine.lent:
        other.clock, other.context = thread.clock, thread.context
    thread.waiting, thread.until = True, None
    began, tasks = thread.clock.now, {id(other): other.last_task for other in mine.lent}
    thread.clock.leave()
    try:
        yield
    finally:
        thread.waiting = False
        mine.backward = before
        if process.recording.on:
            for other in mine.lent:
                if tasks.get(id(other), -1) != other.last_task:
                    _handed_over(process, thread, other, began)
                    _handed_over(process, other, thread, thread.clock.now)


def _handed_over(process: Process, giver: HostThread, taker: HostThread, ns: int) -> None:
    """One thread goes on at ns with what another left to it: a record for whoever asks what waited for what."""
    recording = process.recording
    correlation, name = recording.correlation(), recording.text(ENGINE)
    for thread, kind in ((giver, ENQUEUE), (taker, DEQUEUE)):
        recording.marker(ns, ns, thread.ordinal, giver.device, name, -1, -1, correlation, kind)


@contextmanager
def inside() -> Iterator[tuple[Process, HostThread]]:
    """enter() and leave() around a block, with the lock held."""
    process, thread = enter()
    try:
        with process.lock:
            yield process, thread
    finally:
        thread.clock.leave()


def called(process: Process, thread: HostThread, name: str, body: Callable[[], T], cost: str = "", level: int = ACL) -> T:
    """One call of the runtime by its C name: its host time, its row, and torch's kind of error for a refusal."""
    start = thread.clock.now
    thread.clear()
    if process.recording.on:
        thread.site = script_site(process, sys._getframe())
    thread.clock.now += call_ns(cost or name)
    code = 0
    try:
        return body()
    except NpuError as error:
        code = error.code
        if error.situation == "no_memory":
            raise
        text = message(name, error)
        process.errors.add(text)
        if process.log is not None:
            process.log(3, "PTA", text)
        raise RuntimeError(text) from error
    finally:
        row(process, thread, name, start, level, code)


def row(process: Process, thread: HostThread, name: str, start: int, level: int, code: int = 0) -> None:
    """The record of a call that began at start, as the thread noted it."""
    recording = process.recording
    if recording.on:
        recording.api(
            start, thread.clock.now, thread.correlation, thread.bytes, thread.ordinal, thread.stream, thread.device,
            recording.text(name), thread.event, code, thread.site, level, thread.direction, thread.host_kind, thread.blocking,
        )  # fmt: skip


def on(process: Process, thread: HostThread, device: int) -> Context:
    """The context of a device, made current for the thread; opened at its first use, as the framework does."""
    mine: State = process.one(State)
    found = mine.contexts.get(device)
    if found is None or not found.alive:
        with process.lock:
            if not mine.ready:
                called(process, thread, "aclInit", lambda: None)
                process.init_count += 1
                mine.ready = True
                atexit.register(_finish, process)
            called(process, thread, "aclrtSetDevice", lambda: context.set_device(process, thread, device), "aclrtSetDevice:open")
        found = mine.contexts[device] = context.current(thread)
    if thread.context is not found:
        thread.context = found
        thread.device = device
    return found


def _finish(process: Process) -> None:
    """At the end of the script the framework waits for what is queued; a forked child queued nothing of its own."""
    if process.pid != os.getpid():
        return
    with inside() as (_, thread), suppress(NpuError, RuntimeError):
        for device, where in state(process).contexts.items():
            if where.alive:
                on(process, thread, device)
                called(process, thread, "aclrtSynchronizeDevice", lambda: streams.synchronize_device(process, thread))


def stream(process: Process, thread: HostThread, device: int) -> Stream:
    """The current stream of the thread on a device."""
    where = on(process, thread, device)
    chosen = seats.mine.streams
    return (chosen.get(device) or where.default) if chosen else where.default
