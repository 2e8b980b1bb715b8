"""The collective library's C functions for Python: positional arguments, (value, ret) or ret as pyACL, from data/hccl_api.csv.

Handles are ints, root information is bytes, arrays are lists, HcclCommConfig is a dict of its fields; an HcclSendRecvItem is a
tuple (SEND 0 or RECV 1, buffer, count, type, remote rank). A code is an HcclResult.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import resources
from typing import Any

from npu.acl.hccl_calls import BODIES, DETERMINISTIC, RESULTS
from npu.acl.table import Function, build
from npu.errors import NpuError
from npu.events import LEVELS
from npu.runtime.comm import meeting
from npu.runtime.messages import sentence
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

LEVEL = LEVELS.index("communication")
DATA_TYPES = {
    "INT8": 0, "INT16": 1, "INT32": 2, "FP16": 3, "FP32": 4, "INT64": 5, "UINT64": 6, "UINT8": 7, "UINT16": 8, "UINT32": 9,
    "FP64": 10, "BFP16": 11, "INT128": 12, "HIF8": 14, "FP8E4M3": 15, "FP8E5M2": 16, "FP8E8M0": 17, "RESERVED": 255,
}  # fmt: skip
REDUCE_OPS = {"SUM": 0, "PROD": 1, "MAX": 2, "MIN": 3, "RESERVED": 255}


@cache
def table() -> tuple[Function, ...]:
    """All functions, in the order of data/hccl_api.csv."""
    text = resources.files("npu").joinpath("data/hccl_api.csv").read_text(encoding="utf-8")
    return tuple(Function(**row) for row in csv.DictReader(text.splitlines()))


def constants() -> dict[str, int]:
    """Enumerations under their names in the public header."""
    return {
        **{f"HCCL_{name}": number for number, name in enumerate(RESULTS)},
        **{f"HCCL_DATA_TYPE_{name}": number for name, number in DATA_TYPES.items()},
        **{f"HCCL_REDUCE_{name}": number for name, number in REDUCE_OPS.items()},
        "HCCL_SEND": 0,
        "HCCL_RECV": 1,
        "HCCL_ROOT_INFO_BYTES": meeting.ROOT_INFO_BYTES,
        "HCCL_DETERMINISTIC": DETERMINISTIC,
    }


def install(name: str) -> None:
    """Put every function and constant on the module of that name."""
    module = sys.modules[name]
    for function in table():
        setattr(module, function.name, build(function, _own_codes(BODIES[function.name]), "hccl", LEVEL))
    for key, value in constants().items():
        setattr(module, key, value)


def _own_codes(body: Callable[..., Any]) -> Callable[..., Any]:
    """A refusal of the runtime below is E_RUNTIME here."""

    @wraps(body)
    def call(process: Process, thread: HostThread, *args: object) -> Any:
        try:
            return body(process, thread, *args)
        except NpuError as error:
            if error.situation.startswith("hccl_"):
                raise
            raise NpuError("hccl_runtime", cause=error.situation, told=sentence(error)) from error

    return call
