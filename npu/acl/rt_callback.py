"""acl.rt: callbacks, notifies, failed tasks."""

from __future__ import annotations

from collections.abc import Callable

from npu.runtime import callback, notify, shared, stream
from npu.runtime.notify import Notify
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "create_notify",
    "destroy_notify",
    "get_device_id_from_exception_info",
    "get_error_code_from_exception_info",
    "get_notify_id",
    "get_stream_id_from_exception_info",
    "get_task_id_from_exception_info",
    "get_thread_id_from_exception_info",
    "launch_callback",
    "notify_batch_reset",
    "notify_get_export_key",
    "notify_import_by_key",
    "notify_set_import_pid",
    "process_report",
    "record_notify",
    "set_exception_info_callback",
    "subscribe_report",
    "unsubscribe_report",
    "wait_and_reset_notify",
]


def subscribe_report(process: Process, thread: HostThread, ident: int, handle: int) -> None:
    callback.subscribe(process, ident, stream.of(process, thread, handle))


def unsubscribe_report(process: Process, thread: HostThread, ident: int, handle: int) -> None:
    callback.unsubscribe(process, ident, stream.of(process, thread, handle))


def process_report(process: Process, thread: HostThread, timeout: int) -> None:
    callback.process_report(process, thread, timeout)


def launch_callback(
    process: Process, thread: HostThread, function: Callable[[object], object], data: object, block: int, handle: int
) -> None:
    callback.launch(process, thread, function, data, block, stream.of(process, thread, handle))


def set_exception_info_callback(process: Process, thread: HostThread, function: object = None) -> None:
    if function is not None and not callable(function):
        raise TypeError("acl.rt.set_exception_info_callback args parse failed")
    callback.on_exception(process, function)


def get_task_id_from_exception_info(process: Process, thread: HostThread, handle: int) -> int:
    return callback.fact(process, handle, "task")


def get_stream_id_from_exception_info(process: Process, thread: HostThread, handle: int) -> int:
    return callback.fact(process, handle, "stream")


def get_thread_id_from_exception_info(process: Process, thread: HostThread, handle: int) -> int:
    return callback.fact(process, handle, "thread")


def get_device_id_from_exception_info(process: Process, thread: HostThread, handle: int) -> int:
    return callback.fact(process, handle, "device")


def get_error_code_from_exception_info(process: Process, thread: HostThread, handle: int) -> int:
    return callback.fact(process, handle, "code")


def create_notify(process: Process, thread: HostThread, flag: int) -> int:
    return notify.create(process, thread, flag)


def destroy_notify(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, Notify)


def record_notify(process: Process, thread: HostThread, handle: int, on: int) -> None:
    notify.record(process, thread, process.get(handle, Notify), stream.of(process, thread, on))


def wait_and_reset_notify(process: Process, thread: HostThread, handle: int, on: int, timeout: int) -> None:
    notify.wait_and_reset(process, thread, process.get(handle, Notify), stream.of(process, thread, on), timeout)


def get_notify_id(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, Notify).id


def notify_batch_reset(process: Process, thread: HostThread, handles: list[int]) -> None:
    for found in [process.get(handle, Notify) for handle in handles]:
        found.take()


def notify_get_export_key(process: Process, thread: HostThread, handle: int, length: int, flags: int) -> str:
    return notify.export(process, process.get(handle, Notify), length, flags)


def notify_set_import_pid(process: Process, thread: HostThread, key: str, pids: list[int]) -> None:
    shared.allow(key, pids)


def notify_import_by_key(process: Process, thread: HostThread, key: str, flags: int) -> int:
    return notify.import_key(process, thread, key, flags)
