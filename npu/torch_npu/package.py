"""The package `torch_npu` as scripts import it: its modules, filled from here."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

from npu.runtime import process as processes
from npu.torch_npu import (
    api_marks,
    api_memory,
    api_random,
    backend,
    captured,
    distributed,
    fused,
    fused_attention,
    fused_cache,
    fused_experts,
    streams,
)

FUNCTIONS = {**fused.FUNCTIONS, **fused_attention.FUNCTIONS, **fused_cache.FUNCTIONS, **fused_experts.FUNCTIONS}
VERSION = "2.10.0"  # of the interface; what torch is there, torch says itself


def module(name: str, doc: str, **content: Any) -> ModuleType:
    """A module that can be imported by that name, and is an attribute of its parent."""
    made = sys.modules.get(name)
    if made is None:
        made = sys.modules[name] = ModuleType(name, doc)
    made.__dict__.update(content)
    parent, _, leaf = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], leaf, made)
    return made


class NpuFusedAdamW(torch.optim.AdamW):
    """AdamW whose step is one kernel for all parameters of a kind."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False) -> None:  # fmt: skip
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, fused=True)


class NpuFusedAdam(torch.optim.Adam):
    """Adam in one kernel."""

    def __init__(self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False) -> None:  # fmt: skip
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, fused=True)


class Switches:
    """Switches that are kept and change nothing here: of torch_npu.npu.config, npu.matmul and npu.conv."""

    def __init__(self, **values: bool) -> None:
        self.__dict__.update(values)


def _version(name: str) -> Any:
    """Attributes of torch_npu.version that need the machine: a process that only imports torch (the parent of ranks, a loader's
    worker) is none of the stack's and leaves no capture."""
    if name == "cann":
        return processes.current().machine.cann_version
    raise AttributeError(f"module torch_npu.version has no attribute {name}")


def install(name: str) -> None:
    """Fill the package of that name (it is being imported)."""
    npu = backend.start()
    distributed.install()
    top = sys.modules[name]
    top.__dict__.update({"npu": npu, "__version__": VERSION, "_autoload": lambda: None, **FUNCTIONS})
    sys.modules[f"{name}.npu"] = npu
    npu.__dict__.update(captured.NAMES)
    hf32 = {"matmul": Switches(allow_hf32=False), "conv": Switches(allow_hf32=True)}
    npu.__dict__.update(config=Switches(allow_internal_format=True), **hf32)
    for part, source in (("memory", api_memory), ("streams", streams), ("random", api_random), ("mstx", api_marks)):
        inner = module(f"{name}.npu.{part}", source.__doc__ or "", **{k: v for k, v in vars(source).items() if k[0] != "_"})
        npu.__dict__.setdefault(part, inner)
    module(f"{name}.version", "Versions.", __version__=VERSION, __getattr__=_version)
    helpers = {k: getattr(npu, k) for k in ("synchronize", "device", "set_device", "current_device", "get_soc_version")}
    module(f"{name}.npu.utils", "Small answers.", get_cann_version=lambda module="CANN": _version("cann"), **helpers)
    module(f"{name}.npu.amp", "Mixed precision.", autocast=_autocast, GradScaler=_scaler)
    module(f"{name}.optim", "Fused optimizers.", NpuFusedAdamW=NpuFusedAdamW, NpuFusedAdam=NpuFusedAdam)
    for key, function in FUNCTIONS.items():
        setattr(torch, key, function)


def _autocast(enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> Any:
    return torch.amp.autocast("npu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def _scaler(*args: Any, **named: Any) -> Any:
    return torch.amp.GradScaler("npu", *args, **named)
