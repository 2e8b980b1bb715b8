"""The profiling interface of the stack as a state: what may follow what, what was asked for, operator times by subscription."""

from __future__ import annotations

import os
import queue
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from npu.errors import NpuError
from npu.events import PROFILED, Profiled, Sink, load_sink
from npu.runtime import model
from npu.runtime.model import LoadedModel, Models
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

METRICS = (*range(9), 255)  # aclprofAicoreMetrics
OPTIONS = (1, *range(3, 17))  # aclprofConfigType
OPTION_BYTES = 256
# One operator in the pipe of a subscription: model id, index, start us, end us, duration us, type, name
RECORD = struct.Struct("<QQQQQ65s257s6x")


@dataclass
class Config:
    """What to collect: device ids, counters (aclprofAicoreMetrics), kinds of data (bit mask)."""

    devices: list[int]
    metrics: int
    mask: int


@dataclass
class Pipe:
    """Operator times of the subscribed models go to a file descriptor, in a thread of their own: a full pipe must not stop the
    stack. opened: which file it was then, as (device, inode)."""

    fd: int
    opened: tuple[int, int]
    models: set[int] = field(default_factory=set)
    pending: queue.SimpleQueue[bytes | None] = field(default_factory=queue.SimpleQueue)


class Profiling:
    """folder: of acl.prof.init, None before; running: the configuration that was started; options: of set_config; sink: what
    writes where nobody else records, and whether it does so now (alone)."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.running: Config | None = None
        self.options: dict[int, str] = {}
        self.subscribed: dict[int, Pipe] = {}
        self.sink: Sink | None = None
        self.alone = False


def _tell(process: Process, what: str, **facts: object) -> None:
    """Hand it on to a recorder that can start and stop; rows go where it says from then on. OSError when it cannot write."""
    sink = process.recording.sink
    if isinstance(sink, Profiled):
        sink.profile(what, **facts)
        process.listen(sink if process.recording.on else None)


def _listen(process: Process, mine: Profiling) -> None:
    """Where nobody records, a sink for acl.prof alone: the same one each time, as it numbers texts. Models that were loaded
    before get the names of their kernels now."""
    if process.recording.on:
        return
    mine.sink = mine.sink or load_sink({"NPU_SINK": PROFILED})
    mine.alone = True
    process.listen(mine.sink)
    process.tell()
    for loaded in process.one(Models).by_id.values():
        loaded.programs.forget()


def init(process: Process, folder: str) -> None:
    """Choose the folder of the results. NpuError invalid_param, prof_running, prof_conflict."""
    mine = process.one(Profiling)
    if mine.subscribed:
        raise NpuError("prof_conflict")
    if mine.folder is not None:
        raise NpuError("prof_running")
    if not folder or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise NpuError("invalid_param", path=folder, reason="not a folder that can be written")
    place = os.path.realpath(folder)
    _listen(process, mine)
    try:
        _tell(process, "init", folder=place)
    except OSError as error:
        _silent(process, mine)
        raise NpuError("invalid_param", path=folder, reason=error.strerror or str(error)) from error
    mine.folder = place


def _silent(process: Process, mine: Profiling) -> None:
    """Nobody records any more where only acl.prof did."""
    if mine.alone:
        mine.alone = False
        process.listen(None)


def config(process: Process, devices: Sequence[int], metrics: int, events: int, mask: int) -> int:
    """A configuration's handle. NpuError prof_config."""
    known = range(len(process.visible()))
    if not devices or len(set(devices)) != len(devices) or any(d not in known for d in devices):
        raise NpuError("prof_config", devices=list(devices), visible=len(known))
    if metrics not in METRICS or events or mask == 0:
        raise NpuError("prof_config", metrics=metrics, events=events, mask=hex(mask))
    return process.register(Config(list(devices), metrics, mask))


def option(process: Process, number: int, value: str) -> None:
    """Take an option for the next start. NpuError prof_config, prof_not_running before init."""
    mine = process.one(Profiling)
    if mine.folder is None:
        raise NpuError("prof_not_running")
    if number not in OPTIONS or not value or len(value) > OPTION_BYTES:
        raise NpuError("prof_config", option=number, value=value)
    mine.options[number] = value


def _present(process: Process, thread: HostThread) -> None:
    """Let the devices come to where the calling thread is, as far as slower threads allow."""
    process.advance(min(thread.clock.now, process.slowest(thread)))


def start(process: Process, thread: HostThread, wanted: Config) -> None:
    """Begin to collect what starts from now on. NpuError prof_not_running without init, prof_running."""
    mine = process.one(Profiling)
    if mine.folder is None:
        raise NpuError("prof_not_running")
    if mine.running is not None:
        raise NpuError("prof_running")
    mine.running = wanted
    _present(process, thread)
    _tell(
        process,
        "start",
        devices=wanted.devices,
        machine_devices=[process.physical(d) for d in wanted.devices],
        metrics=wanted.metrics,
        mask=wanted.mask,
        options=dict(mine.options),
        at=thread.clock.now,
    )


def stop(process: Process, thread: HostThread, wanted: Config) -> None:
    """End it; what has ended by now is collected. NpuError prof_not_running, prof_config for another configuration than the one
    that runs."""
    mine = process.one(Profiling)
    if mine.running is None:
        raise NpuError("prof_not_running")
    if mine.running is not wanted:
        raise NpuError("prof_config", reason="another configuration was started")
    mine.running = None
    mine.options.clear()
    _present(process, thread)
    _tell(process, "stop")


def finalize(process: Process, thread: HostThread) -> None:
    """Write the rest and end. NpuError prof_not_running without init."""
    mine = process.one(Profiling)
    if mine.folder is None:
        raise NpuError("prof_not_running")
    if mine.running is not None:
        stop(process, thread, mine.running)
    _tell(process, "finalize")
    _silent(process, mine)
    mine.folder = None


def subscribe(process: Process, model_id: int, fd: int) -> None:
    """Send the operator times of a model to a file descriptor. NpuError prof_conflict, prof_repeat, model_id, invalid_param
    when nothing is open there."""
    mine = process.one(Profiling)
    loaded = model.of(process, model_id)
    if mine.folder is not None:
        raise NpuError("prof_conflict")
    if model_id in mine.subscribed:
        raise NpuError("prof_repeat", model=model_id)
    pipe = next((p for p in mine.subscribed.values() if p.fd == fd), None)
    if pipe is None:
        try:
            pipe = Pipe(fd, _file(fd))
        except OSError as error:
            raise NpuError("invalid_param", fd=fd, reason=error.strerror or str(error)) from error
        threading.Thread(target=_write, args=(pipe,), daemon=True, name="npu-prof-pipe").start()
    pipe.models.add(model_id)
    mine.subscribed[model_id] = pipe
    pending = pipe.pending

    def heard(which: LoadedModel, times: Sequence[tuple[int, int]]) -> None:
        pending.put(b"".join(records(which, times)))

    loaded.heard = heard


def unsubscribe(process: Process, model_id: int) -> None:
    """End that, also for a model that was unloaded; the last one of a pipe ends it, so that its reader sees the end of the file
    after what was measured. NpuError invalid_param when not subscribed."""
    pipe = process.one(Profiling).subscribed.pop(model_id, None)
    if pipe is None:
        raise NpuError("invalid_param", model=model_id, reason="the model is not subscribed")
    loaded = process.one(Models).by_id.get(model_id)
    if loaded is not None:
        loaded.heard = None
    pipe.models.discard(model_id)
    if not pipe.models:
        pipe.pending.put(None)


def records(loaded: LoadedModel, times: Sequence[tuple[int, int]]) -> list[bytes]:
    """The operators of one run as they go through the pipe."""
    made = []
    for number, (kernel, (begun, ended)) in enumerate(zip(loaded.model.kernels, times, strict=False)):
        name, op_type = kernel.name.encode()[:256], kernel.op_type.encode()[:64]
        made.append(RECORD.pack(loaded.id, number, begun // 1000, ended // 1000, (ended - begun) // 1000, op_type, name))
    return made


def _file(fd: int) -> tuple[int, int]:
    """Which file is open there. OSError when none is."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _write(pipe: Pipe) -> None:
    """The writer thread: until the last subscription ends or nobody reads any more."""
    while True:
        data = pipe.pending.get()
        try:
            if data is None:
                return _end(pipe)
            while data:
                data = data[os.write(pipe.fd, data) :]
        except OSError:
            return


def _end(pipe: Pipe) -> None:
    """Close the writing end as the profiler does, under a number that stays open: scripts close it once more. A number that
    the script itself has closed, and that may stand for another file by now, is left alone."""
    if _file(pipe.fd) != pipe.opened:
        return
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nothing, pipe.fd)
    os.close(nothing)


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator as read back from the pipe. Times in us."""

    model: int
    start: int
    end: int
    duration: int
    type: str
    name: str


def operator(data: bytes, index: int) -> Operator:
    """An operator by its place in what was read from the pipe. NpuError invalid_param beyond the last."""
    if (index + 1) * RECORD.size > len(data):
        raise NpuError("invalid_param", index=index, count=len(data) // RECORD.size)
    number, _, begun, ended, lasted, op_type, name = RECORD.unpack_from(data, index * RECORD.size)
    return Operator(number, begun, ended, lasted, op_type.rstrip(b"\0").decode(), name.rstrip(b"\0").decode())
