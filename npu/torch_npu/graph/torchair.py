"""torchair as programs use it: the backend with its settings, and what of the package is not simulated, refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu.torch_npu.graph.backend import backend
from npu.torch_npu.graph.config import CompilerConfig

REFUSED = ("dynamo_export", "register_fx_node_ge_converter", "get_compiler", "logger", "ge", "llm_datadist", "ops", "scope",
           "inference", "experimental")  # fmt: skip


def get_npu_backend(
    *, compiler_config: CompilerConfig | None = None, decompositions: dict[Any, Any] | None = None
) -> Callable[..., Any]:
    """The backend for torch.compile. Decompositions of the caller's own are refused: they would change what is computed."""
    if decompositions:
        raise RuntimeError("get_npu_backend(decompositions=...) is not simulated; leave it out, the graph engine takes ATen")
    return backend(compiler_config)


def patch_for_hcom() -> None:
    """Collectives in graphs: nothing to patch here."""


def refuse(name: str) -> Any:
    """What a module answers for a name it does not have."""
    if name in REFUSED:
        raise AttributeError(
            f"torchair.{name} is not simulated; torchair.get_npu_backend(compiler_config=...) and CompilerConfig are"
        )
    raise AttributeError(f"module 'torchair' has no attribute {name!r}")
