"""The backend `npu` of torch.compile: from Dynamo's graphs through AOT autograd to compiled ones."""

from __future__ import annotations

import itertools
import pkgutil
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx

import npu.torch_npu
from npu.torch_npu.graph.config import MODES, CompilerConfig

NAME = "npu"
DEFAULT = "inductor"
TRACED = ("npu.torch_npu", "npu.torch_npu.fused")  # operators of the library that are made of torch's
_numbers = itertools.count()
_told: set[str] = set()


def tell(text: str) -> None:
    """One warning for each text."""
    if text not in _told:
        _told.add(text)
        warnings.warn(text, stacklevel=4)


def backend(config: CompilerConfig | None = None) -> Callable[..., Any]:
    """A backend for torch.compile with these settings."""
    chosen = CompilerConfig() if config is None else config

    def npu(module: fx.GraphModule, inputs: Sequence[Any], **more: Any) -> Any:
        from torch._dynamo.backends.common import aot_autograd

        if not _all_here(module, inputs):
            tell('torch.compile(backend="npu"): a graph with tensors of the host runs operator by operator; move them first')
            return module.forward
        return aot_autograd(
            fw_compiler=_compiler(chosen, "forward"), bw_compiler=_compiler(chosen, "backward"),
            inference_compiler=_compiler(chosen, "inference"), keep_inference_input_mutations=True,
        )(module, inputs)  # fmt: skip

    return npu


def _all_here(module: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Whether a graph works on the device alone. Numbers of the host count as constants."""
    values = [n.meta.get("example_value") for n in module.graph.nodes]
    tensors = [t for v in (*values, *inputs) for t in (v if isinstance(v, list | tuple) else (v,)) if isinstance(t, Tensor)]
    return all(t.device.type == NAME or t.dim() == 0 for t in tensors) and any(t.device.type == NAME for t in tensors)


def _compiler(config: CompilerConfig, kind: str) -> Callable[..., Any]:
    def compile(module: fx.GraphModule, inputs: Sequence[Any]) -> Any:
        try:
            from npu.torch_npu.graph.planning import Wanted
            from npu.torch_npu.graph.run import Compiled
        except ImportError as error:
            raise RuntimeError(
                f"torch.compile(backend=\"npu\") needs the graph engine ({error}); pip install 'npuscope[sim]'"
            ) from error
        settings = config.__dict__
        wanted = Wanted(
            config.switches(), settings["mode"] == MODES[0], _open(module), settings["ge_config"].enable_single_stream
        )
        return Compiled(module, wanted, f"npu_graph_{next(_numbers)}_{kind}")

    return compile


def _open(module: fx.GraphModule) -> bool:
    """Whether sizes change from run to run."""
    values = [n.meta.get("val") for n in module.graph.nodes if n.op == "placeholder"]
    return any(
        isinstance(v, torch.SymInt) or (isinstance(v, Tensor) and any(isinstance(d, torch.SymInt) for d in v.shape))
        for v in values
    )


class Automatic:
    """What torch.compile does without a backend's name: graphs on the device are ours, all others Inductor's."""

    def __init__(self, mode: Any, options: Any, dynamic: Any) -> None:
        self.choices = mode, options, dynamic
        self.npu = backend()

    def __call__(self, module: fx.GraphModule, inputs: Sequence[Any], **more: Any) -> Any:
        values = (*inputs, *(n.meta.get("example_value") for n in module.graph.nodes))
        if any(isinstance(v, Tensor) and v.device.type == NAME for v in values):
            tell("torch.compile: Inductor does not know the device npu, so its graphs go to the backend \"npu\"")
            return self.npu(module, inputs)
        mode, options, dynamic = self.choices
        if mode is None and options is None:
            mode = "default"
        return torch._TorchCompileInductorWrapper(mode, options, dynamic)(module, inputs)


def install() -> None:
    """Let torch.compile know the backend. Dynamo itself takes seconds to import, so it is told when it is first needed."""
    original = torch.compile

    def compile(model: Any = None, *, backend: Any = DEFAULT, **named: Any) -> Any:
        if model is None:
            return lambda function: compile(function, backend=backend, **named)
        register()
        if backend == DEFAULT:
            mode, options = named.pop("mode", None), named.pop("options", None)
            backend = Automatic(mode, options, named.get("dynamic"))
        return original(model, backend=backend, **named)

    compile.__doc__ = original.__doc__
    torch.compile = compile


def register() -> None:
    """The name `npu` among Dynamo's backends."""
    from torch._dynamo import trace_rules
    from torch._dynamo.backends import registry

    if NAME not in registry._BACKENDS:
        registry.register_backend(backend(), name=NAME)  # type: ignore[arg-type]
        for package in (npu, npu.torch_npu):  # Dynamo looks at every frame: those of the simulator are no part of a model
            for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                if found.name not in TRACED:
                    trace_rules.add(found.name)
