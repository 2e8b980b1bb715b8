"""Tensors as the bytes of a buffer, of every element type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from npu.dtypes import DTYPES, NARROW, from_bytes, numpy_type, tensor_bytes, to_bytes

NUMBERS = sorted(set(DTYPES) - {"string"})


@given(st.sampled_from(NUMBERS), st.lists(st.integers(0, 3), max_size=3), st.randoms(use_true_random=False))
def test_there_and_back(dtype: str, dims: list[int], rng: object) -> None:
    count = int(np.prod(dims, dtype=int))
    array = np.array([rng.randrange(-2, 2) for _ in range(count)]).astype(numpy_type(dtype)).reshape(dims)  # type: ignore[attr-defined]
    data = to_bytes(array, dtype)
    assert len(data) == tensor_bytes(tuple(dims), dtype)
    back = from_bytes(data + b"more", dtype, tuple(dims))
    assert back.dtype == array.dtype and back.shape == array.shape
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_as_onnx_stores_it(dtype: str) -> None:
    array = np.array([1, 0, 1, 1, 0, 1, 1]).astype(numpy_type(dtype))
    assert to_bytes(array, dtype) == numpy_helper.from_array(array).raw_data


@pytest.mark.parametrize(("dtype", "values", "data"), [
    ("int4", [1, -1, -8], "f108"),  # 1 and 1111, then 1000 alone
    ("uint4", [3, 15], "f3"),
    ("int2", [1, -1, 0, -2, 1], "8d01"),  # from the lowest bits 01 11 00 10, then 01 alone
    ("uint2", [3, 0, 1], "13"),
    ("float4_e2m1fn", [1.0, -6.0], "f2"),
])  # fmt: skip
def test_elements_of_less_than_a_byte_are_packed(dtype: str, values: list[float], data: str) -> None:
    array = np.array(values).astype(numpy_type(dtype))
    assert to_bytes(array, dtype).hex() == data
    assert from_bytes(bytes.fromhex(data), dtype, (len(values),)).astype(np.float64).tolist() == values


@given(st.lists(st.text(max_size=6), max_size=6))
def test_texts(texts: list[str]) -> None:
    array = np.array([*texts, ""], object)[: len(texts)]
    assert from_bytes(to_bytes(array, "string"), "string", (len(texts),)).tolist() == texts


def test_texts_begin_with_offset_and_length() -> None:
    data = to_bytes(np.array(["ab", "é"], object), "string")
    assert np.frombuffer(data[:32], np.int64).tolist() == [32, 2, 34, 2] and data[32:] == "abé".encode()


@given(st.binary(min_size=32, max_size=64))
def test_texts_from_a_wrong_buffer_are_one_error(data: bytes) -> None:
    try:
        found = from_bytes(data, "string", (2,))
    except ValueError:
        return
    assert all(isinstance(t, str) for t in found.tolist())


@pytest.mark.parametrize("dtype", NUMBERS)
def test_too_few_bytes_are_an_error(dtype: str) -> None:
    with pytest.raises(ValueError):
        from_bytes(b"", dtype, (3,))


def test_bytes_of_open_dims_and_of_texts_are_not_known() -> None:
    assert tensor_bytes((2, -1), "float32") == tensor_bytes((2,), "string") == 0
    assert tensor_bytes((), "float32") == 4 and tensor_bytes((3, 3), "int4") == 5


def test_what_is_narrow() -> None:
    assert {"int4", "float8_e4m3fn", "uint2"} <= NARROW and not {"int8", "uint8", "bool", "bfloat16"} & NARROW
