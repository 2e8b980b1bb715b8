"""Models in device memory: read from files, loaded, unloaded (npu.runtime.execution runs them)."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npu import om
from npu.errors import NpuError
from npu.host.versions import newer
from npu.runtime import host
from npu.runtime.binding import Binding
from npu.runtime.context import Context, current
from npu.runtime.kernel_step import step_of
from npu.runtime.memory import free, malloc
from npu.runtime.process import Process
from npu.runtime.programs import Programs
from npu.runtime.sunk import Lanes
from npu.runtime.thread import HostThread
from npu.soc import find

if TYPE_CHECKING:
    from npu.ops.compute import Session

READ_BYTES_PER_NS = 2.0  # reading a model file and copying its weights to the device, GB/s (unverified)
GIVEN = ("workspace", "feature_map", "weights")  # parts of a model's memory that a script may bring itself
Heard = Callable[["LoadedModel", Sequence[tuple[int, int]]], None]


class LoadedModel:
    """A model in device memory: weights and workspace are held until it is unloaded. heard: told the times of the kernels after
    each run; output_dims: the outputs' dims of the last run."""

    def __init__(self, process: Process, context: Context, path: str, model: om.Model, held: Sequence[int]) -> None:
        self.id = process.ordinal("model") + 1
        self.path, self.model, self.context = path, model, context
        self.held = list(held)
        self.session: Session | None = None
        self.heard: Heard | None = None
        self.lanes: Lanes | None = None  # of a model on several streams, once it has run
        self.output_dims: tuple[tuple[int, ...], ...] = ()
        self.chosen = -1  # number of the gear that was chosen last
        self.bound: dict[tuple[int, int], Binding] = {}  # data sets (handles) that were checked before
        self.too_new = newer(str(model.build.get("cann", "")), process.machine.cann_version)
        self.name = Path(path).stem
        state = "dynamic" if model.dynamic else "static"
        self.programs = Programs(model, lambda planned: step_of(process, planned, self.name, state))
        if not model.gears and not model.dynamic:
            self.programs.of(-1, ())


class Models:
    """The loaded models of a process, by id."""

    def __init__(self) -> None:
        self.by_id: dict[int, LoadedModel] = {}


def of(process: Process, model_id: int) -> LoadedModel:
    """The loaded model of an id. NpuError model_id."""
    found = process.one(Models).by_id.get(model_id)
    if found is None:
        raise NpuError("model_id", model=model_id)
    return found


def read(path: str) -> om.Model:
    """The model of a file. NpuError model_path when it cannot be read, model_data when it is damaged."""
    try:
        return om.load(path)
    except OSError as error:
        raise NpuError("model_path", path=path, reason=error.strerror or str(error)) from error
    except om.BadModel as error:
        raise NpuError("model_data", path=path, reason=error.reason) from error


def load(process: Process, thread: HostThread, path: str, given: Sequence[str] = ()) -> int:
    """Load a model file; its id. given: parts of its memory the script brings itself.

    NpuError not_initialized, model_path, model_data, model_wrong_chip, no_memory, no_context."""
    process.needs_init("loading a model")
    context = current(thread)
    model = read(path)
    here = process.machine.chip
    try:
        target = find(model.soc)
    except KeyError as error:
        raise NpuError("model_data", path=path, reason=f"unknown chip {model.soc}") from error
    if target.family != here.family:
        raise NpuError("model_wrong_chip", path=path, model_chip=model.soc, device_chip=here.name)
    held = [
        malloc(process, thread, model.memory[part], 0)
        for part in ("weights", "workspace", "feature_map")
        if model.memory.get(part, 0) > 0 and part not in given
    ]
    thread.clock.now += round(os.path.getsize(path) / READ_BYTES_PER_NS)
    loaded = LoadedModel(process, context, path, model, held)
    process.one(Models).by_id[loaded.id] = loaded
    process.recording.sink.meta(
        **{
            f"model_{loaded.id}": {
                "name": loaded.name,
                "path": path,
                "soc": model.soc,
                "kernels": len(model.kernels),
                "build": model.build,
                "memory": model.memory,
                "lifetimes": model.lifetimes,
            }
        }
    )
    return loaded.id


def given(process: Process, path: str, work: int, work_size: int, weight: int, weight_size: int) -> tuple[str, ...]:
    """Which parts of a model's memory the script brings; NULL and 0 leave a part to the loader. NpuError model_io."""
    need = read(path).memory
    parts: tuple[str, ...] = ()
    for address, size, names in ((work, work_size, GIVEN[:2]), (weight, weight_size, GIVEN[2:])):
        wanted = sum(need.get(n, 0) for n in names)
        if address == 0:
            continue
        if size < wanted:
            raise NpuError("model_io", part=names[-1], wanted=wanted, given=size)
        parts += names
    return parts


def staged_file(process: Process, pointer: int, size: int) -> str:
    """A temporary file with a model that lies in host memory: its arithmetic is opened from a path. NpuError invalid_param."""
    if pointer == 0 or size == 0:
        raise NpuError("invalid_param", pointer=pointer, size=size)
    staged = host.Staged(size)
    host.read(staged.address, pointer, size)
    number, path = tempfile.mkstemp(suffix=om.SUFFIX, prefix="npu-model-")
    with os.fdopen(number, "wb") as file:
        file.write(ctypes.string_at(staged.address, size))
    process.temporary.append(path)
    return path


def unload(process: Process, thread: HostThread, model_id: int) -> None:
    """Forget a model and give its memory back. NpuError model_id."""
    loaded = of(process, model_id)
    if loaded.context.alive:  # else its memory went with the device
        if loaded.lanes is not None:
            loaded.lanes.close(process)
        for address in loaded.held:
            free(process, thread, address)
    del process.one(Models).by_id[model_id]
