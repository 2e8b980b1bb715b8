"""onnx's node tests through the whole stack: atc, load, copies, execution, copies back; run by `python -m npu`.

    python -m npu tests/contract/node_suite.py test_abs test_add        these cases, with the traceback of what fails
    python -m npu tests/contract/node_suite.py --part 0/2               every second case; the last line is JSON

A case passes when every output has the expected element type, dims and, within the case's own tolerance, values.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from npu.graph.compile import compile
from npu.graph.errors import AtcError
from npu.graph.options import conversion
from npu.session import InferenceSession, SessionError

KEEP = {"precision_mode": "must_keep_origin_dtype", "newest_opset": str(onnx.defs.onnx_opset_version())}


def cases() -> list[Any]:
    """The cases whose inputs and outputs are all tensors."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [c for c in load_model_tests(kind="node") if all(v.type.HasField("tensor_type") for v in borders(c))]


def borders(case: Any) -> Iterator[Any]:
    yield from case.model.graph.input
    yield from case.model.graph.output


def array(value: Any) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def play(case: Any, folder: Path) -> None:
    """Convert and run one case. AssertionError where a result differs; AtcError, SessionError where something is refused."""
    given, wanted = case.data_sets[0]
    feeds = {v.name: array(x) for v, x in zip(case.model.graph.input, given, strict=True)}
    (folder / "case.onnx").write_bytes(case.model.SerializeToString())
    flags = {
        "framework": "5",
        "model": str(folder / "case.onnx"),
        "output": str(folder / "case"),
        "soc_version": "Ascend910B3",
        "export_compile_stat": "0",
        **KEEP,
    }
    unsized = [
        v for v in case.model.graph.input if not all(d.HasField("dim_value") for d in v.type.tensor_type.shape.dim)
    ]
    if unsized:
        flags["input_shape"] = ";".join(f"{v.name}:{','.join(map(str, feeds[v.name].shape))}" for v in unsized)
    with InferenceSession(compile(conversion(flags, "atc")).path) as session:
        results = session.run(None, feeds)
    for got, right in zip(results, map(array, wanted), strict=True):
        same(got, right, case)


def same(got: np.ndarray, right: np.ndarray, case: Any) -> None:
    assert got.shape == right.shape, f"dims {got.shape}, expected {right.shape}"
    if right.dtype.kind in "OUS":
        assert [str(t) for t in got.ravel()] == [str(t) for t in right.ravel()]
        return
    assert got.dtype == right.dtype, f"type {got.dtype}, expected {right.dtype}"
    if right.dtype.kind in "biu":
        np.testing.assert_array_equal(got, right)
        return
    if right.dtype.kind == "V":  # a type of ml_dtypes; those of integers are exact in float64 too
        got, right = got.astype(np.float64), right.astype(np.float64)
    np.testing.assert_allclose(got, right, rtol=case.rtol, atol=case.atol)


def main(words: list[str]) -> int:
    part, parts = map(int, words[1].split("/")) if words[:1] == ["--part"] else (0, 1)
    names = [] if words[:1] == ["--part"] else words
    chosen = [c for at, c in enumerate(cases()) if (c.name in names if names else at % parts == part)]
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            try:
                play(case, Path(folder))
            except (AssertionError, AtcError, SessionError) as error:
                failed[case.name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                if names:
                    traceback.print_exc()
    print(json.dumps({"cases": len(chosen), "failed": failed}))
    return bool(failed) or not chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
