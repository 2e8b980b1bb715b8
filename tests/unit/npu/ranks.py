"""Ranks as threads of the test: each with a device and a communicator of its own, on a stack of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np

from npu.acl import hccl as hccl_api
from npu.acl import install
from npu.runtime import process as processes

DTYPES = {"int8": 0, "int16": 1, "int32": 2, "float16": 3, "float32": 4, "int64": 5}


def modules() -> tuple[ModuleType, ModuleType]:
    """acl and hccl as the shims fill them."""
    acl, hccl = ModuleType("acl_of_ranks"), ModuleType("hccl_of_ranks")
    for made, fill in ((acl, install.install), (hccl, hccl_api.install)):
        if made.__name__ not in sys.modules:
            sys.modules[made.__name__] = made
            fill(made.__name__)
    return sys.modules["acl_of_ranks"], sys.modules["hccl_of_ranks"]


class Rank:
    """One rank in its thread."""

    def __init__(self, rank: int, size: int, info: object, config: dict[str, object] | None = None) -> None:
        self.acl, self.hccl = modules()
        self.rank, self.size = rank, size
        assert self.acl.rt.set_device(rank % 16) == 0
        made = self.hccl.HcclCommInitRootInfoConfig(size, info, rank, config or {})
        self.comm, self.init = made
        self.stream, _ = self.acl.rt.create_stream()

    def put(self, array: np.ndarray) -> int:
        """Device memory with the array's bytes."""
        address, code = self.acl.rt.malloc(max(1, array.nbytes), 0)
        assert code == 0
        if array.nbytes:
            source = np.ascontiguousarray(array)
            assert self.acl.rt.memcpy(address, source.nbytes, source.ctypes.data, source.nbytes, 1) == 0
        return address

    def get(self, address: int, count: int, dtype: Any) -> np.ndarray:
        array = np.zeros(count, dtype)
        if array.nbytes:
            assert self.acl.rt.memcpy(array.ctypes.data, array.nbytes, address, array.nbytes, 2) == 0
        return array

    def sync(self) -> int:
        return self.acl.rt.synchronize_stream(self.stream)

    @property
    def said(self) -> str:
        return self.acl.rt and (self.acl.get_recent_err_msg() or "")


def play(size: int, body: Callable[[Rank], Any], config: dict[str, object] | None = None) -> list[Any]:
    """What body answers on each rank, in order; the first exception of any is raised."""
    _, hccl = modules()
    processes._forget()
    # not in this thread: one that has called the stack and then does nothing holds the time of the others up
    with ThreadPoolExecutor(1) as once:
        info, code = once.submit(hccl.HcclGetRootInfo).result()
    assert code == 0
    answers: list[Any] = [None] * size
    failed: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            me = Rank(rank, size, info, config)
            answers[rank] = body(me)
            if me.comm:
                hccl.HcclCommDestroy(me.comm)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failed.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if failed:
        raise failed[0]
    assert not any(t.is_alive() for t in threads)
    return answers
