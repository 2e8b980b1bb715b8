"""torch_npu.testing.testcase: the test case that scripts of operators derive from, with comparisons of tensors."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

# Least values beside which a relative difference is looked at, and tolerances, by element type.
LEAST = {"float16": 6e-8}
OTHER_LEAST = 1e-9
COARSE = ("float16", "bfloat16")


def run_tests() -> None:
    """Run the tests of the script."""
    unittest.main(argv=None)


class TestCase(unittest.TestCase):
    """prec: tolerance of assertEqual where none is given."""

    prec = 1e-5
    maxDiff = None

    def assertRtolEqual(
        self, x: Any, y: Any, prec: float = 1e-4, prec16: float = 1e-3, auto_trans_dtype: bool = False, message: str | None = None
    ) -> None:  # fmt: skip
        """Fails where more than the share prec (prec16 of half types) of the elements differs both by more than prec absolutely
        and by more than prec relatively; and for other shapes or, unless auto_trans_dtype, element types."""
        if isinstance(x, list | tuple) and isinstance(y, list | tuple):
            self.assertEqual(len(x), len(y), message=message or "")
            for one, other in zip(x, y, strict=True):
                self.assertRtolEqual(one, other, prec, prec16, auto_trans_dtype, message)
            return
        (a, half), (b, _) = _array(x), _array(y)
        if a.shape != b.shape:
            self.fail(message or f"shape error: {a.shape} and {b.shape}")
        if a.dtype != b.dtype and not auto_trans_dtype:
            self.fail(message or f"dtype error: {a.dtype} and {b.dtype}")
        tolerance = prec16 if half else prec
        one, other = a.astype(np.float64), b.astype(np.float64)
        if not np.array_equal(np.isfinite(one), np.isfinite(other)) or not np.array_equal(
            one[~np.isfinite(one)], other[~np.isfinite(other)], equal_nan=True
        ):
            self.fail(message or "result error: infinities and NaN are in other places")
        kept = np.isfinite(one)
        one, other = one[kept], other[kept]
        far = np.abs(one - other)
        least = LEAST.get(str(a.dtype), OTHER_LEAST)
        beyond = far / (np.maximum(np.abs(one), np.abs(other)) + least) > tolerance
        if min(int(beyond.sum()), int((far > tolerance).sum())) > one.size * tolerance:
            self.fail(message or f"result error: {int(beyond.sum())} of {one.size} elements differ, by {far.max()} at most")

    def assertEqual(  # type: ignore[override]
        self, first: Any, second: Any, prec: Any = None, message: str = "", allow_inf: bool = False, **options: Any
    ) -> None:  # fmt: skip
        """As unittest's, with tensors, arrays and what holds them compared within a tolerance."""
        if isinstance(prec, str):
            message, prec = prec, None
        message = options.pop("msg", None) or message
        atol = options.get("atol") or (self.prec if prec is None else prec)
        rtol = options.get("rtol") or 0.0
        if isinstance(first, torch.Tensor | np.ndarray) or isinstance(second, torch.Tensor | np.ndarray):
            (a, _), (b, _) = _array(first), _array(second)
            super().assertEqual(tuple(a.shape), tuple(b.shape), message)
            same = np.allclose(a, b, rtol, atol, equal_nan=True) if a.size and a.dtype.kind in "fiub" else np.array_equal(a, b)
            if not same:
                self.fail(message or f"tensors differ by more than {atol}:\n{a}\n{b}")
        elif isinstance(first, Mapping) and isinstance(second, Mapping):
            super().assertEqual(set(first), set(second), message)
            for key, value in first.items():
                self.assertEqual(value, second[key], atol, message)
        elif _listed(first) and _listed(second):
            super().assertEqual(len(first), len(second), message)
            for one, other in zip(first, second, strict=True):
                self.assertEqual(one, other, atol, message)
        elif isinstance(first, float) or isinstance(second, float):
            self.assertTrue(np.isclose(first, second, rtol, atol, equal_nan=True), message or f"{first} and {second}")
        else:
            super().assertEqual(first, second, message or None)

    def assertNotEqual(self, first: Any, second: Any, message: str = "", prec: Any = None, **_options: Any) -> None:  # type: ignore[override]
        try:
            self.assertEqual(first, second, prec)
        except self.failureException:
            return
        self.fail(message or f"{first} and {second} do not differ")


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _array(value: Any) -> tuple[Any, bool]:
    """The values on the host, and whether they are of a half type."""
    if isinstance(value, torch.Tensor):
        half = value.dtype in (torch.float16, torch.bfloat16)
        held = value.detach().cpu()
        return (held.float() if held.dtype == torch.bfloat16 else held).numpy(), half
    made = np.asarray(value)
    return made, str(made.dtype) in COARSE
