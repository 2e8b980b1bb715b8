"""What stands behind each function of the collective library: arguments as the table gives them, one line to the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu.errors import NpuError
from npu.runtime import stream as streams
from npu.runtime.comm import all_to_all, communicator, joining, meeting, operations, point_to_point
from npu.runtime.comm.call import Call
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

DETERMINISTIC = 0  # HcclConfig
# HcclResult by number
RESULTS = (
    "SUCCESS", "E_PARA", "E_PTR", "E_MEMORY", "E_INTERNAL", "E_NOT_SUPPORT", "E_NOT_FOUND", "E_UNAVAIL", "E_SYSCALL", "E_TIMEOUT",
    "E_OPEN_FILE_FAILURE", "E_TCP_CONNECT", "E_ROCE_CONNECT", "E_TCP_TRANSFER", "E_ROCE_TRANSFER", "E_RUNTIME", "E_DRV",
    "E_PROFILING", "E_CCE", "E_NETWORK", "E_AGAIN", "E_REMOTE", "E_SUSPENDING", "E_OPRETRY_FAIL", "E_OOM",
)  # fmt: skip


def _begin(process: Process, thread: HostThread, op: str, comm: int, stream: int, dtype: int = 0) -> Call:
    """A call on a communicator and a stream of its device. NpuError hccl_pointer, hccl_argument."""
    mine = communicator.of(process, thread, comm)
    if stream == 0:
        raise NpuError("hccl_pointer", parameter="stream", value=0)
    on = streams.of(process, thread, stream)
    if on.dev is not mine.dev:
        raise NpuError(
            "hccl_argument", op=op, parameter="stream", value=hex(stream), expected="a stream of the communicator's device"
        )
    return Call(process, thread, mine, on, op, dtype)


def _all_reduce(
    p: Process, t: HostThread, send: int, receive: int, count: int, dtype: int, op: int, comm: int, stream: int
) -> None:
    operations.all_reduce(_begin(p, t, "all_reduce", comm, stream, dtype), send, receive, count, op)


def _broadcast(p: Process, t: HostThread, buffer: int, count: int, dtype: int, root: int, comm: int, stream: int) -> None:
    operations.broadcast(_begin(p, t, "broadcast", comm, stream, dtype), buffer, count, root)


def _reduce(
    p: Process, t: HostThread, send: int, receive: int, count: int, dtype: int, op: int, root: int, comm: int, stream: int
) -> None:
    operations.reduce(_begin(p, t, "reduce", comm, stream, dtype), send, receive, count, op, root)


def _reduce_scatter(
    p: Process, t: HostThread, send: int, receive: int, count: int, dtype: int, op: int, comm: int, stream: int
) -> None:
    operations.reduce_scatter(_begin(p, t, "reduce_scatter", comm, stream, dtype), send, receive, count, op)


def _reduce_scatter_v(
    p: Process, t: HostThread, send: int, counts: list[int], places: list[int], receive: int, count: int, dtype: int, op: int,
    comm: int, stream: int,
) -> None:  # fmt: skip
    call = _begin(p, t, "reduce_scatter", comm, stream, dtype)
    operations.reduce_scatter_v(call, send, counts, places, receive, count, op)


def _all_gather(p: Process, t: HostThread, send: int, receive: int, count: int, dtype: int, comm: int, stream: int) -> None:
    operations.all_gather(_begin(p, t, "all_gather", comm, stream, dtype), send, receive, count)


def _all_gather_v(
    p: Process, t: HostThread, send: int, count: int, receive: int, counts: list[int], places: list[int], dtype: int, comm: int,
    stream: int,
) -> None:  # fmt: skip
    operations.all_gather_v(_begin(p, t, "all_gather", comm, stream, dtype), send, count, receive, counts, places)


def _scatter(
    p: Process, t: HostThread, send: int, receive: int, count: int, dtype: int, root: int, comm: int, stream: int
) -> None:
    operations.scatter(_begin(p, t, "scatter", comm, stream, dtype), send, receive, count, root)


def _same(call_type: int, other: int) -> None:
    if call_type != other:
        raise NpuError(
            "hccl_argument", op="HcclAlltoAll", parameter="recvType", value=other, expected=f"{call_type}, the sendType"
        )


def _all_to_all(
    p: Process, t: HostThread, send: int, send_count: int, send_type: int, receive: int, receive_count: int, receive_type: int,
    comm: int, stream: int,
) -> None:  # fmt: skip
    _same(send_type, receive_type)
    call = _begin(p, t, "all_to_all", comm, stream, send_type)
    all_to_all.all_to_all(call, send, send_count, receive, receive_count)


def _all_to_all_v(
    p: Process, t: HostThread, send: int, counts: list[int], places: list[int], send_type: int, receive: int, into: list[int],
    into_places: list[int], receive_type: int, comm: int, stream: int,
) -> None:  # fmt: skip
    _same(send_type, receive_type)
    call = _begin(p, t, "all_to_all", comm, stream, send_type)
    all_to_all.all_to_all_v(call, send, counts, places, receive, into, into_places)


def _all_to_all_vc(
    p: Process,
    t: HostThread,
    send: int,
    matrix: list[int],
    send_type: int,
    receive: int,
    receive_type: int,
    comm: int,
    stream: int,
) -> None:
    _same(send_type, receive_type)
    all_to_all.all_to_all_vc(_begin(p, t, "all_to_all", comm, stream, send_type), send, matrix, receive)


def _send(p: Process, t: HostThread, buffer: int, count: int, dtype: int, rank: int, comm: int, stream: int) -> None:
    call = _begin(p, t, "send", comm, stream, dtype)
    point_to_point.batch(call, [(point_to_point.SEND, buffer, count, dtype, rank)])


def _receive(p: Process, t: HostThread, buffer: int, count: int, dtype: int, rank: int, comm: int, stream: int) -> None:
    call = _begin(p, t, "receive", comm, stream, dtype)
    point_to_point.batch(call, [(point_to_point.RECV, buffer, count, dtype, rank)])


def _batch(p: Process, t: HostThread, items: list[object], number: int, comm: int, stream: int) -> None:
    call = _begin(p, t, "batch_send_recv", comm, stream)
    if number != len(items):
        call.wrong("itemNum", number, f"{len(items)}, as many as there are items")
    made: list[tuple[int, int, int, int, int]] = []
    for item in items:
        if not isinstance(item, tuple) or len(item) != 5 or not all(isinstance(n, int) for n in item):
            call.wrong("sendRecvInfo", item, "(SEND 0 or RECV 1, buffer, count, type, remote rank)")
        made.append(item)
    point_to_point.batch(call, made)


def _barrier(p: Process, t: HostThread, comm: int, stream: int) -> None:
    operations.barrier(_begin(p, t, "barrier", comm, stream))


def _init_all(p: Process, t: HostThread, number: int, devices: list[int]) -> list[int]:
    if number != len(devices):
        raise NpuError("hccl_param", op="HcclCommInitAll", parameter="ndev", value=number, expected=len(devices))
    return joining.init_all(p, t, devices)


def _split(
    p: Process, t: HostThread, parent: int, number: int, ranks: list[int], identifier: int, rank: int,
    config: dict[str, object] | None = None,
) -> int:  # fmt: skip
    if number != len(ranks):
        raise NpuError("hccl_param", op="HcclCreateSubCommConfig", parameter="rankNum", value=number, expected=len(ranks))
    return joining.split(p, t, communicator.of(p, t, parent), ranks, identifier, rank, config or {})


def _suspend(p: Process, t: HostThread, comm: int) -> None:
    communicator.of(p, t, comm).suspended = True


def _resume(p: Process, t: HostThread, comm: int) -> None:
    communicator.of(p, t, comm).suspended = False


def _async_error(p: Process, t: HostThread, comm: int) -> int:
    """E_REMOTE when an operation waited in vain, E_PARA when ranks differed, else 0."""
    failed = communicator.of(p, t, comm).failed
    return 0 if failed is None else RESULTS.index("E_REMOTE" if failed.situation == "hccl_wait" else "E_PARA")


def _set_config(p: Process, t: HostThread, item: int, value: int) -> None:
    if item != DETERMINISTIC or value not in (0, 1, 2):
        raise NpuError(
            "hccl_param", op="HcclSetConfig", parameter="config", value=(item, value), expected="(0 deterministic, 0 to 2)"
        )
    p.settings["hccl_deterministic"] = value


def _get_config(p: Process, t: HostThread, item: int) -> int:
    if item != DETERMINISTIC:
        raise NpuError("hccl_param", op="HcclGetConfig", parameter="config", value=item, expected="0 deterministic")
    return p.settings.get("hccl_deterministic", 0)


def _error_string(p: Process, t: HostThread, code: int) -> str:
    return f"HCCL_{RESULTS[code]}" if 0 <= code < len(RESULTS) else "HCCL_E_RESERVED"


# name of the table -> what stands behind it
BODIES: dict[str, Callable[..., Any]] = {
    "HcclGetRootInfo": lambda p, t: meeting.root_info(),
    "HcclCommInitRootInfo": lambda p, t, ranks, info, rank: joining.init_root(p, t, ranks, info, rank, {}),
    "HcclCommInitRootInfoConfig": joining.init_root,
    "HcclCommInitAll": _init_all,
    "HcclCommInitClusterInfo": lambda p, t, path, rank: joining.init_table(p, t, path, rank, {}),
    "HcclCommInitClusterInfoConfig": joining.init_table,
    "HcclCreateSubCommConfig": _split,
    "HcclCommDestroy": lambda p, t, comm: communicator.of(p, t, comm).close(p),
    "HcclGetRankId": lambda p, t, comm: communicator.of(p, t, comm).rank,
    "HcclGetRankSize": lambda p, t, comm: communicator.of(p, t, comm).size,
    "HcclGetCommName": lambda p, t, comm: communicator.of(p, t, comm).name,
    "HcclGetCommAsyncError": _async_error,
    "HcclCommSuspend": _suspend,
    "HcclCommResume": _resume,
    "HcclSetConfig": _set_config,
    "HcclGetConfig": _get_config,
    "HcclGetErrorString": _error_string,
    "HcclAllReduce": _all_reduce,
    "HcclBroadcast": _broadcast,
    "HcclReduce": _reduce,
    "HcclReduceScatter": _reduce_scatter,
    "HcclReduceScatterV": _reduce_scatter_v,
    "HcclAllGather": _all_gather,
    "HcclAllGatherV": _all_gather_v,
    "HcclScatter": _scatter,
    "HcclAlltoAll": _all_to_all,
    "HcclAlltoAllV": _all_to_all_v,
    "HcclAlltoAllVC": _all_to_all_vc,
    "HcclSend": _send,
    "HcclRecv": _receive,
    "HcclBatchSendRecv": _batch,
    "HcclBarrier": _barrier,
}
