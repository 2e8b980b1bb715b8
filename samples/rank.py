"""What the samples with several ranks share: meet the others over MASTER_ADDR and MASTER_PORT, exchange numpy arrays."""

from __future__ import annotations

import os
import socket
import sys
import time

import acl
import hccl
import numpy as np

RANK, WORLD, DEVICE = (
    int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0))
)


def ok(code: int) -> None:
    """Leave with the runtime's own words where a call failed."""
    if code != 0:
        sys.exit(f"rank {RANK}: {code}: {acl.get_recent_err_msg()}")


def _root_info() -> bytes:
    """Rank 0 makes it and hands it to all others."""
    place = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "0")))
    if RANK == 0:
        info, code = hccl.HcclGetRootInfo()
        ok(code)
        if WORLD > 1:
            with socket.create_server(place, backlog=WORLD) as server:
                for _ in range(WORLD - 1):
                    other, _ = server.accept()
                    with other:
                        other.sendall(info)
        return info
    while True:
        try:
            with socket.create_connection(place) as link:
                return b"".join(iter(lambda: link.recv(1 << 16), b""))
        except ConnectionRefusedError:  # rank 0 does not listen yet
            time.sleep(0.01)


class Exchange:
    """A communicator, a stream of its own, and sums over all ranks."""

    def __init__(self) -> None:
        ok(acl.init())
        ok(acl.rt.set_device(DEVICE))
        self.comm, code = hccl.HcclCommInitRootInfo(WORLD, _root_info(), RANK)
        ok(code)
        self.stream, code = acl.rt.create_stream()
        ok(code)

    def buffer(self, count: int) -> int:
        """Device memory for that many floats, all zero."""
        address, code = acl.rt.malloc(4 * count, 0)
        ok(code)
        ok(acl.rt.memset(address, 4 * count, 0, 4 * count))
        return address

    def put(self, device: int, array: np.ndarray) -> None:
        ok(acl.rt.memcpy(device, array.nbytes, array.ctypes.data, array.nbytes, 1))

    def get(self, array: np.ndarray, device: int) -> None:
        ok(acl.rt.memcpy(array.ctypes.data, array.nbytes, device, array.nbytes, 2))

    def add_up(self, device: int, count: int) -> None:
        """Queue the sum of a buffer over all ranks; it runs while the host goes on."""
        ok(hccl.HcclAllReduce(device, device, count, hccl.HCCL_DATA_TYPE_FP32, hccl.HCCL_REDUCE_SUM, self.comm, self.stream))

    def spread(self, device: int, count: int) -> None:
        """Queue giving everybody what rank 0 has."""
        ok(hccl.HcclBroadcast(device, count, hccl.HCCL_DATA_TYPE_FP32, 0, self.comm, self.stream))

    def wait(self) -> None:
        ok(acl.rt.synchronize_stream(self.stream))

    def close(self) -> None:
        ok(hccl.HcclCommDestroy(self.comm))
        ok(acl.rt.reset_device(DEVICE))
        ok(acl.finalize())
