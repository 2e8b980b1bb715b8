"""Operators of one's own for models: a computation in the DSL, registered under an ONNX domain and name.

    @tbe.operator("AddRelu", domain="my.ops")
    def add_relu(x, y, *, scale=1.0):
        return tbe.dsl.vrelu(tbe.dsl.vadd(x, tbe.dsl.vmuls(y, scale)))

Parameters without a default are the inputs in order, those with one are attributes. Files lie where the real toolkit looks for
them: ASCEND_CUSTOM_OPP_PATH lists folders, in each of them op_impl/ai_core/tbe/*_impl/*.py.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TypeVar

from npu.soc import Soc
from npu.tbe.limits import TbeError
from npu.tbe.plan import auto_schedule
from npu.tbe.schedule import Schedule
from npu.tbe.tensor import Tensor, placeholder

VARIABLE = "ASCEND_CUSTOM_OPP_PATH"
PLACE = "op_impl/ai_core/tbe"
Compute = Callable[..., Tensor]
Scheduler = Callable[[Tensor, Soc], Schedule]
T = TypeVar("T")


@dataclass(frozen=True)
class Operator:
    """inputs: names of the operands; attributes: name -> default; schedule: the author's own, None leaves it to auto_schedule."""

    name: str
    domain: str
    compute: Compute
    inputs: tuple[str, ...]
    attributes: Mapping[str, object]
    schedule: Scheduler | None = None

    def made(self, operands: Sequence[tuple[Sequence[int], str]], attributes: Mapping[str, object]) -> Tensor:
        """The computation for operands of these shapes and types. TbeError where the operator does not take them."""
        if len(operands) != len(self.inputs):
            raise TbeError(f"{self.name} has {len(operands)} inputs", f"it takes {', '.join(self.inputs)}")
        unknown = sorted(set(attributes) - set(self.attributes))
        if unknown:
            raise TbeError(f"{self.name} has no attribute {unknown[0]}", f"it has {', '.join(self.attributes) or 'none'}")
        tensors = [placeholder(s, n, d) for n, (s, d) in zip(self.inputs, operands, strict=True)]
        out = _theirs(self.name, lambda: self.compute(*tensors, **dict(attributes)))
        if not isinstance(out, Tensor) or out.operation is None:
            given = type(out).__name__
            raise TbeError(f"{self.name} gives {given} and no computed tensor", "return the result of a DSL function")
        return out

    def scheduled(self, out: Tensor, chip: Soc, own: bool = True) -> Schedule:
        """Its schedule on a chip: the author's (own), else the best one found. TbeError when none fits."""
        chosen = self.schedule
        if chosen is None or not own:
            return auto_schedule(out, chip)
        return _theirs(self.name, lambda: chosen(out, chip))


_REGISTRY: dict[tuple[str, str], Operator] = {}


def operator(name: str, domain: str, schedule: Scheduler | None = None) -> Callable[[Compute], Compute]:
    """Register a computation as an operator of a domain; a second one of that name takes the place of the first."""

    def keep(compute: Compute) -> Compute:
        parameters = inspect.signature(compute).parameters.values()
        inputs = tuple(p.name for p in parameters if p.default is p.empty)
        attributes = {p.name: p.default for p in parameters if p.default is not p.empty}
        _REGISTRY[domain, name] = Operator(name, domain, compute, inputs, attributes, schedule)
        return compute

    return keep


def operators(domain: str, environ: Mapping[str, str] | None = None) -> dict[str, Operator]:
    """The operators of a domain by name. TbeError for a file that cannot be run, with the file and its error."""
    listed = (os.environ if environ is None else environ).get(VARIABLE, "")
    for folder in filter(None, listed.split(os.pathsep)):
        for path in sorted((Path(folder) / PLACE).glob("*_impl/*.py")):
            _run(path.resolve(), path.stat().st_mtime_ns)
    return {name: made for (place, name), made in _REGISTRY.items() if place == domain}


@cache
def _run(path: Path, _changed: int) -> None:
    spec = spec_from_file_location(f"npu_custom_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise TbeError(f"{path} is no Python file", f"{VARIABLE} lists folders with {PLACE}/*_impl/*.py")
    loader, module = spec.loader, module_from_spec(spec)
    _theirs(str(path), lambda: loader.exec_module(module))


def _theirs(what: str, act: Callable[[], T]) -> T:
    """Run the author's code. TbeError for whatever it raises: its line is what he has to see."""
    try:
        return act()
    except TbeError:
        raise
    except Exception as error:  # code of the author may raise anything
        raise TbeError(f"{what}: {type(error).__name__}: {error}", "correct the operator") from error


def known(domain: str) -> Mapping[str, Operator]:
    """The operators of a domain that are registered by now; nothing is loaded."""
    return {name: made for (place, name), made in _REGISTRY.items() if place == domain}
