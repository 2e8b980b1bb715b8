"""torch.npu: which devices there are, which one is current, what they are, and waiting for them."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any, NamedTuple

import torch

from npu.device.memory import HUGE_PAGE
from npu.errors import NpuError
from npu.runtime import device as device_facts
from npu.runtime import process as processes
from npu.torch_npu import devices, place, waiting
from npu.torch_npu.kernels import device_index

__all__ = [
    "can_device_access_peer", "clear_npu_overflow_flag", "current_blas_handle", "current_device", "device", "device_count",
    "device_of", "finalize_dump", "get_device_capability", "get_device_limit", "get_device_name", "get_device_properties",
    "get_npu_overflow_flag", "get_soc_version", "get_sync_debug_mode", "init", "init_dump", "ipc_collect", "is_available",
    "is_bf16_supported", "is_initialized", "is_jit_compile_false", "set_compile_mode", "set_device", "set_device_limit",
    "set_dump", "set_option", "set_sync_debug_mode", "stress_detect", "synchronize", "utilization",
]  # fmt: skip


SOC_NUMBERS = (("Ascend910B", 220), ("Ascend910_93", 250), ("Ascend310P", 200), ("Ascend310B", 240))


class Properties(NamedTuple):
    """What get_device_properties answers."""

    name: str
    total_memory: int
    L2_cache_size: int
    cube_core_num: int
    vector_core_num: int


def device_count() -> int:
    """Devices this process may use; 0 where the host has no driver."""
    return len(processes.current().visible())


def is_available() -> bool:
    return device_count() > 0


def is_initialized() -> bool:
    process = processes.started()
    return process is not None and place.state(process).ready


def init() -> None:
    """Open the current device, as its first use would."""
    with place.inside() as (process, thread):
        place.on(process, thread, place.seats.mine.device)


def current_device() -> int:
    return place.seats.mine.device


def _number(which: Any) -> int:
    return current_device() if which is None else device_index(which)


def checked(which: Any) -> int:
    """A logical id that exists. RuntimeError as the framework words it."""
    number = _number(which)
    if not 0 <= number < device_count():
        raise RuntimeError(f"Invalid device id: {number}; this process sees {device_count()} NPU devices")
    return number


def set_device(which: Any) -> None:
    """Make a device current for the calling thread."""
    number = checked(which)
    if number:
        devices.several()
    place.seats.mine.device = number
    with place.inside() as (process, thread):
        place.on(process, thread, number)


class device:
    """A block in which another device is current."""

    def __init__(self, device: Any) -> None:
        self.idx = _number(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        if self.idx >= 0 and self.idx != self.prev_idx:
            set_device(self.idx)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        place.seats.mine.device = self.prev_idx


class device_of(device):
    """The device of a tensor; a CPU tensor changes nothing."""

    def __init__(self, obj: torch.Tensor) -> None:
        super().__init__(obj.get_device() if obj.device.type == "npu" else None)


def synchronize(device: Any = None) -> None:
    """The host waits for all streams of a device."""
    with place.inside() as (process, thread):
        waiting.synchronize_device(process, thread, _number(device))


def get_device_name(device: Any = None) -> str:
    checked(device)
    return processes.current().machine.chip.name


def get_device_properties(device: Any = None) -> Properties:
    checked(device)
    chip = processes.current().machine.chip
    return Properties(chip.name, chip.memory // HUGE_PAGE * HUGE_PAGE, chip.l2, chip.aic, chip.vector_cores)


def get_device_capability(device: Any = None) -> None:
    """Not known for this device; the framework answers None with a warning, too."""
    return None


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    return checked(device) != checked(peer_device)


def utilization(device: Any = None) -> int:
    """Cube load in percent, over all processes, as published last."""
    return device_facts.utilization(processes.current(), checked(device))["cube_utilization"]


def is_bf16_supported() -> bool:
    """From the chips on whose cube and vector cores are apart."""
    return processes.current().machine.chip.split


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def set_compile_mode(jit_compile: bool = False) -> None:
    """Operators come from the built-in library here; a script that wants each compiled at its shape is told that they do."""
    if jit_compile:
        told = "jit_compile=True: operators are not compiled at run time here, their time is that of the built-in library"
        warnings.warn(told, stacklevel=2)


def is_jit_compile_false() -> bool:
    return True


def set_option(options: dict[str, Any]) -> None:
    """Options of the operator library. ValueError for something that is no dict."""
    if not isinstance(options, dict):
        raise TypeError("npu option must be a dict.")


def set_sync_debug_mode(mode: Any) -> None:
    if mode not in (0, "default"):
        raise RuntimeError("set_sync_debug_mode is not simulated; msprof analyze names every synchronising read (implicit-sync)")


def get_sync_debug_mode() -> int:
    return 0


def get_soc_version() -> int:
    """The library's number of the chip: 220 and on for the 910B family, 250 and on for the 910_93, 200 and on for the 310P, 104
    for others (numbers of a family in the order of their names; unverified)."""
    name = processes.current().machine.chip.name
    for family, first in SOC_NUMBERS:
        if name.startswith(family):
            rest = name[len(family) :]
            return first + (int(rest[0]) - 1 if rest[:1].isdigit() else 0)
    return 104


def ipc_collect() -> None:
    """Memory is not shared with other processes, so there is none to give back."""


def set_device_limit(device: Any, cube_num: int = -1, vector_num: int = -1) -> None:
    raise RuntimeError("set_device_limit (cores a process may use) is not simulated for PyTorch; leave it out")


def get_device_limit(device: Any) -> dict[str, int]:
    """Cores a process may use: all."""
    checked(device)
    chip = processes.current().machine.chip
    return {"cube_core_num": chip.aic, "vector_core_num": chip.vector_cores}


def get_npu_overflow_flag() -> bool:
    """Arithmetic here keeps IEEE rules (INF/NAN mode), so no flag is ever raised."""
    return False


def clear_npu_overflow_flag() -> None:
    return None


def init_dump() -> None:
    raise RuntimeError("operator dumps are not simulated")


def set_dump(path: str) -> None:
    raise RuntimeError("operator dumps are not simulated")


def finalize_dump() -> None:
    return None


def stress_detect(*_args: Any) -> int:
    """0: the simulated device is healthy."""
    return 0


def current_blas_handle() -> int:
    return 0


def _is_in_bad_fork() -> bool:
    return False


def _lazy_init() -> None:
    init()


def typed(name: str, dtype: torch.dtype) -> Any:
    """A class as torch.npu.FloatTensor: makes tensors of its type from sizes or values."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, torch.Tensor) and instance.device.type == "npu" and instance.dtype == dtype

    def __new__(cls: Any, *args: Any) -> torch.Tensor:
        if args and all(isinstance(a, int) for a in args):
            return torch.empty(args, dtype=dtype, device="npu")
        return torch.tensor(args[0] if args else [], dtype=dtype, device="npu")

    return Meta(name, (), {"__new__": __new__, "dtype": dtype})


def memory_kinds(which: Any) -> tuple[int, int]:
    """(free, total) bytes of a device. RuntimeError when it cannot be opened."""
    with place.inside() as (process, thread):
        number = checked(which)
        where = place.on(process, thread, number)
        try:
            return place.called(process, thread, "aclrtGetMemInfo", lambda: where.dev.memory_info(1))
        except NpuError as error:
            raise RuntimeError(str(error)) from error
