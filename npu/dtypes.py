"""Element types and tensor formats by name, with the numbers acl gives them, and tensors as the bytes that buffers hold."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNDEFINED = -1  # ACL_DT_UNDEFINED: models may hold such a type, acl has no number for it
HEAD = 16  # bytes of one string's entry before the texts: offset and length, as the graph engine's string tensors
# onnx name -> (acl data type number, bytes per element, name in profiles)
DTYPES: dict[str, tuple[int, float, str]] = {
    "float32": (0, 4, "FLOAT"),
    "float16": (1, 2, "FLOAT16"),
    "int8": (2, 1, "INT8"),
    "int32": (3, 4, "INT32"),
    "uint8": (4, 1, "UINT8"),
    "int16": (6, 2, "INT16"),
    "uint16": (7, 2, "UINT16"),
    "uint32": (8, 4, "UINT32"),
    "int64": (9, 8, "INT64"),
    "uint64": (10, 8, "UINT64"),
    "float64": (11, 8, "DOUBLE"),
    "bool": (12, 1, "BOOL"),
    "string": (13, 8, "STRING"),
    "complex64": (16, 8, "COMPLEX64"),
    "complex128": (17, 16, "COMPLEX128"),
    "bfloat16": (27, 2, "DT_BF16"),
    "int4": (29, 0.5, "INT4"),
    "float8_e5m2": (35, 1, "FLOAT8_E5M2"),
    "float8_e4m3fn": (36, 1, "FLOAT8_E4M3FN"),
    "float8_e8m0fnu": (37, 1, "FLOAT8_E8M0"),
    "float4_e2m1fn": (40, 0.5, "FLOAT4_E2M1"),
    "float8_e4m3fnuz": (UNDEFINED, 1, "FLOAT8_E4M3FNUZ"),
    "float8_e5m2fnuz": (UNDEFINED, 1, "FLOAT8_E5M2FNUZ"),
    "uint4": (UNDEFINED, 0.5, "UINT4"),
    "int2": (UNDEFINED, 0.25, "INT2"),
    "uint2": (UNDEFINED, 0.25, "UINT2"),
}
NARROW = frozenset(n for n, (_, size, _) in DTYPES.items() if size <= 1 and n not in ("int8", "uint8", "bool"))
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29, "NCDHW": 30, "NDC1HWC0": 32}


def tensor_bytes(dims: tuple[int, ...], dtype: str) -> int:
    """Bytes of a tensor, elements of less than a byte packed; 0 where a dim is open and for texts, whose length nobody knows."""
    if dtype == "string" or min(dims, default=0) < 0:
        return 0
    return -int(-prod(dims) * DTYPES[dtype][1] // 1)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """The numpy type of an element type; those numpy lacks come from ml_dtypes, texts are objects."""
    import numpy as np

    if dtype == "string":
        return np.dtype(object)
    if dtype in NARROW or dtype == "bfloat16":
        import ml_dtypes

        made: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
        return made
    return np.dtype(dtype)


def to_bytes(array: NDArray[Any], dtype: str) -> bytes:
    """A tensor as a buffer holds it: rows first; elements of less than a byte packed, the first in the lowest bits; texts as one
    entry of offset and length each (int64), then their UTF-8 bytes."""
    import numpy as np

    if dtype == "string":
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.ravel().tolist()]
        ends = np.cumsum([HEAD * len(texts), *map(len, texts)], dtype=np.int64)
        return np.stack([ends[:-1], np.diff(ends)], axis=1).tobytes() + b"".join(texts)
    made = np.ascontiguousarray(array, dtype=numpy_type(dtype))
    each = round(1 / DTYPES[dtype][1]) if DTYPES[dtype][1] < 1 else 1
    if each == 1:
        return bytes(made.tobytes())
    codes = np.zeros(-(-made.size // each) * each, np.uint8)
    codes[: made.size] = made.view(np.uint8).ravel() & ((1 << 8 // each) - 1)
    columns = codes.reshape(-1, each) << (np.arange(each, dtype=np.uint8) * (8 // each))
    return bytes(np.bitwise_or.reduce(columns, axis=1).astype(np.uint8).tobytes())


def from_bytes(data: bytes, dtype: str, dims: tuple[int, ...]) -> NDArray[Any]:
    """The inverse of to_bytes; bytes behind the tensor are left aside. ValueError when there are too few."""
    import numpy as np

    count = prod(dims)
    if dtype == "string":
        entries = np.frombuffer(data, np.int64, 2 * count).reshape(-1, 2).tolist()
        if any(start < 0 or length < 0 or start + length > len(data) for start, length in entries):
            raise ValueError("a text lies outside its buffer")
        return np.array([data[a : a + n].decode("utf-8", "replace") for a, n in entries], object).reshape(dims)
    if DTYPES[dtype][1] >= 1:
        return np.frombuffer(data, numpy_type(dtype), count).reshape(dims)
    each = round(1 / DTYPES[dtype][1])
    packed = np.frombuffer(data, np.uint8, -(-count // each))
    codes = (packed[:, None] >> (np.arange(each, dtype=np.uint8) * (8 // each))) & ((1 << 8 // each) - 1)
    codes = codes.ravel()[:count].astype(np.uint8)
    if dtype in ("int4", "int2"):  # the sign lies in the upper half
        half = 1 << (8 // each - 1)
        return ((codes.astype(np.int8) ^ half) - half).astype(numpy_type(dtype)).reshape(dims)
    if dtype == "float4_e2m1fn":
        return codes.view(numpy_type(dtype)).reshape(dims)
    return codes.astype(numpy_type(dtype)).reshape(dims)
