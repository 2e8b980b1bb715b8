"""The package `torch_npu` as scripts import it: its modules, filled from here."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

from npu.torch_npu import backend, fused

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


class Config:
    """torch_npu.npu.config: switches that are kept and change nothing here."""

    allow_internal_format = True


def install(name: str) -> None:
    """Fill the package of that name (it is being imported)."""
    npu = backend.start()
    top = sys.modules[name]
    top.__dict__.update({"npu": npu, "__version__": VERSION, "_autoload": lambda: None, **fused.FUNCTIONS})
    sys.modules[f"{name}.npu"] = npu
    npu.__dict__["config"] = Config()
    module(f"{name}.npu.amp", "Mixed precision.", autocast=_autocast, GradScaler=_scaler)
    module(f"{name}.optim", "Fused optimizers.", NpuFusedAdamW=NpuFusedAdamW, NpuFusedAdam=NpuFusedAdam)
    for key, function in fused.FUNCTIONS.items():
        setattr(torch, key, function)


def _autocast(enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> Any:
    return torch.amp.autocast("npu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def _scaler(*args: Any, **named: Any) -> Any:
    return torch.amp.GradScaler("npu", *args, **named)
