"""torch_npu.testing: tensors for tests of operators, tests for several types and formats, and what some tests need."""

from __future__ import annotations

import functools
import inspect
import itertools
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npu.torch_npu.fused import npu_format_cast

ANY_FORMAT = -1


def create_common_tensor(item: Sequence[Any], minValue: float, maxValue: float, device: Any = None) -> tuple[Any, Any]:
    """Random values between two bounds as (tensor on the host, tensor on the NPU). item: numpy type, format, shape."""
    kind, form, shape = item[:3]
    values = torch.from_numpy(np.asarray(np.random.uniform(minValue, maxValue, shape)).astype(kind))
    return values, _there(values, form, device)


def create_dtype_tensor(
    shape: Sequence[int], dtype: torch.dtype, npu_format: int = ANY_FORMAT, min_value: float = -5, max_value: float = 5,
    no_zero: bool = False, device: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Random values of a torch type as (tensor on the host, tensor on the NPU). no_zero: ones in place of zeros."""
    if dtype == torch.bool:
        values = torch.from_numpy(np.random.randint(0, 2, shape).astype(bool))
    elif dtype.is_floating_point:
        values = torch.from_numpy(np.asarray(np.random.uniform(min_value, max_value, shape))).to(dtype)
    else:
        values = torch.from_numpy(np.asarray(np.random.randint(int(min_value), int(max_value) + 1, shape))).to(dtype)
    if no_zero:
        values = torch.where(values == 0, torch.ones_like(values), values)
    return values, _there(values, npu_format, device)


def _there(values: Any, form: int, device: Any) -> Any:
    made = values.to("npu" if device is None else device)
    return made if form == ANY_FORMAT else npu_format_cast(made, form)


class _Marked:
    """A decorator that notes what a test is made for."""

    name = ""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        vars(function).setdefault("npu_variants", {})[self.name] = self._values
        return function


class Dtypes(_Marked):
    """For each of these types, as the argument dtype."""

    name = "dtype"


class Formats(_Marked):
    """For each of these formats, as the argument npu_format."""

    name = "npu_format"


def instantiate_tests(case: type | None = None, **_options: Any) -> Any:
    """A class whose tests take dtype, npu_format and device: one test for each combination, on device "npu"."""
    if case is None:
        return instantiate_tests
    for name, function in list(vars(case).items()):
        if not name.startswith("test") or not callable(function):
            continue
        variants = vars(function).get("npu_variants", {})
        takes = inspect.signature(function).parameters
        fixed = {"device": "npu"} if "device" in takes else {}
        if not variants and not fixed:
            continue
        delattr(case, name)
        for values in itertools.product(*variants.values()):
            given = dict(zip(variants, values, strict=True))
            made = "_".join([name, *(str(v).rpartition(".")[2] for v in values)])
            setattr(case, made, _test(function, made, {**given, **fixed}))
    return case


def _test(function: Callable[..., Any], name: str, given: dict[str, Any]) -> Callable[[Any], None]:
    def run(self: Any) -> None:
        function(self, **given)

    run.__name__, run.__doc__ = name, function.__doc__
    return run


def SupportedDevices(names: Sequence[str]) -> Callable[[Any], Any]:
    """A test for chips whose names begin so."""
    from npu.runtime.process import current

    chip = current().machine.chip.name
    return unittest.skipUnless(any(chip.startswith(n) for n in names), f"this is an {chip}")


def skipIfUnsupportMultiNPU(count: int) -> Callable[[Any], Any]:
    """A test that needs that many devices."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            if torch.npu.device_count() < count:
                raise unittest.SkipTest(f"{count} devices are needed")
            return function(*args, **named)

        return run

    return decorate
