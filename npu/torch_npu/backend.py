"""The device `npu` of torch: renamed, hooked, registered, with torch.npu as its module. Everything is done once a process."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

from npu.torch_npu import api_device, api_marks, api_memory, api_random, devices, guards, memory, place, register, streams
from npu.torch_npu.graph import backend as graph

STREAMS = ("Event", "ExternalEvent", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream",
           "set_stream", "stream")  # fmt: skip
TYPED = {"Float": torch.float32, "Half": torch.float16, "BFloat16": torch.bfloat16, "Double": torch.float64, "Int": torch.int32,
         "Long": torch.int64, "Short": torch.int16, "Char": torch.int8, "Byte": torch.uint8, "Bool": torch.bool}  # fmt: skip
PRIVATE = ("_is_in_bad_fork", "_lazy_init", "get_amp_supported_dtype")
kept: list[object] = []  # C++ holds no references to these


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    def is_available(self) -> bool:
        return True

    def has_primary_context(self, dev_id: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


class _Guard(torch._C._acc.DeviceGuard):
    def type_(self) -> Any:
        return torch._C._autograd.DeviceType.PrivateUse1


def _module() -> ModuleType:
    """torch.npu."""
    made = ModuleType("torch_npu.npu", "The simulated NPU as torch's device module.")
    for source, names in (
        (api_device, (*api_device.__all__, *PRIVATE)), (api_memory, api_memory.__all__), (api_random, api_random.__all__),
        (streams, STREAMS),
    ):  # fmt: skip
        for name in names:
            setattr(made, name, getattr(source, name))
    made.__dict__.update(amp=torch.amp, mstx=api_marks.mstx, default_generators=(torch.default_generator,))
    for name, dtype in TYPED.items():
        made.__dict__[f"{name}Tensor"] = api_device.typed(f"{name}Tensor", dtype)
    return made


def _engine(original: Any) -> Any:
    """Runs of the autograd engine: its threads work on the caller's time."""

    def run(*args: Any, **named: Any) -> Any:
        with place.backward():
            return original(*args, **named)

    return run


def start() -> ModuleType:
    """Make the device known to torch; torch.npu. RuntimeError where another device has taken the place, or torch is too old."""
    if torch._C._get_privateuse1_backend_name() == "npu" and hasattr(torch, "npu"):
        return sys.modules["torch.npu"]
    if not hasattr(torch._C, "_acc"):
        raise RuntimeError(f"torch {torch.__version__} has no devices in Python; the simulated NPU needs torch 2.10 or newer")
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    module = _module()
    hooks, guard = _Hooks(), _Guard()
    kept.extend((hooks, guard))
    _setup_privateuseone_for_python_backend("npu", module, hooks, guard)
    register.register()
    guards.install()
    graph.install()
    memory.on_further.append(devices.several)
    engine = torch.autograd.graph._engine_run_backward
    wrapped = _engine(engine)
    for holder in (torch.autograd.graph, torch.autograd):
        if hasattr(holder, "_engine_run_backward"):
            holder._engine_run_backward = wrapped
    return module
