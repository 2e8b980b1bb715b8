"""Element types and tensor formats by name, with the numbers acl gives them."""

from __future__ import annotations

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
    "bfloat16": (27, 2, "DT_BF16"),
}
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29, "NCDHW": 30, "NDC1HWC0": 32}
