"""acl.rt: switches and limits: system parameters, overflow, core limits, time-outs, last error."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import cores, device_op, stream
from npu.runtime.context import current
from npu.runtime.event import WAIT_LIMIT
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread

GROUP = "rt"
__all__ = [
    "ctx_get_sys_param_opt",
    "ctx_set_sys_param_opt",
    "get_device_res_limit",
    "get_device_sat_mode",
    "get_last_error",
    "get_op_execute_timeout",
    "get_op_timeout_interval",
    "get_overflow_status",
    "get_res_in_current_thread",
    "get_stream_res_limit",
    "get_sys_param_opt",
    "peek_at_last_error",
    "reset_device_res_limit",
    "reset_overflow_status",
    "reset_stream_res_limit",
    "set_device_res_limit",
    "set_device_sat_mode",
    "set_op_execute_time_out",
    "set_op_execute_timeout_v2",
    "set_op_wait_timeout",
    "set_stream_res_limit",
    "set_sys_param_opt",
    "unuse_stream_res_in_current_thread",
    "use_stream_res_in_current_thread",
]

OPTIONS = range(4)  # aclSysParamOpt
SATURATE, INF_NAN = 0, 1  # aclrtFloatOverflowMode
KERNEL_LIMIT = "op_execute_timeout"  # process setting, us
INTERVAL_US = 1_000_000  # step in which the device keeps operator time-outs (unverified)


def _option(option: int) -> int:
    if option not in OPTIONS:
        raise NpuError("invalid_param", option=option)
    return option


def set_sys_param_opt(process: Process, thread: HostThread, option: int, value: int) -> None:
    process.settings[f"sys_param_{_option(option)}"] = value


def get_sys_param_opt(process: Process, thread: HostThread, option: int) -> int:
    found = process.settings.get(f"sys_param_{_option(option)}")
    if found is None:
        raise NpuError("sys_param_unset", option=option)
    return found


def ctx_set_sys_param_opt(process: Process, thread: HostThread, option: int, value: int) -> None:
    current(thread).options[_option(option)] = value


def ctx_get_sys_param_opt(process: Process, thread: HostThread, option: int) -> int:
    found = current(thread).options.get(_option(option))
    if found is None:
        raise NpuError("sys_param_unset", option=option)
    return found


def set_device_sat_mode(process: Process, thread: HostThread, mode: int) -> None:
    if mode not in (SATURATE, INF_NAN):
        raise NpuError("invalid_param", mode=mode)
    if mode == INF_NAN and not process.machine.chip.split:
        raise NpuError("not_supported", mode=mode, reason="this chip saturates only")
    current(thread).dev.extra["saturation"] = mode


def get_device_sat_mode(process: Process, thread: HostThread) -> int:
    found = current(thread).dev.extra.get("saturation")
    return found if isinstance(found, int) else INF_NAN if process.machine.chip.split else SATURATE


def get_overflow_status(process: Process, thread: HostThread, output: int, size: int, handle: int) -> None:
    device_op.overflow_status(process, thread, output, size, stream.of(process, thread, handle))


def reset_overflow_status(process: Process, thread: HostThread, handle: int) -> None:
    device_op.reset_overflow(process, thread, stream.of(process, thread, handle))


def peek_at_last_error(process: Process, thread: HostThread, level: int) -> int:
    return thread.last_error


def get_last_error(process: Process, thread: HostThread, level: int) -> int:
    found, thread.last_error = thread.last_error, 0
    return found


def get_device_res_limit(process: Process, thread: HostThread, device: int, kind: int) -> int:
    return cores.of_device(process, device, kind)


def set_device_res_limit(process: Process, thread: HostThread, device: int, kind: int, value: int) -> None:
    cores.limit_device(process, device, kind, value)


def reset_device_res_limit(process: Process, thread: HostThread, device: int) -> None:
    cores.free_device(process, device)


def get_stream_res_limit(process: Process, thread: HostThread, handle: int, kind: int) -> int:
    return cores.of_stream(process, stream.of(process, thread, handle), kind)


def set_stream_res_limit(process: Process, thread: HostThread, handle: int, kind: int, value: int) -> None:
    stream.of(process, thread, handle).cores[kind] = cores.checked(process, kind, value)


def reset_stream_res_limit(process: Process, thread: HostThread, handle: int) -> None:
    stream.of(process, thread, handle).cores.clear()


def use_stream_res_in_current_thread(process: Process, thread: HostThread, handle: int) -> None:
    stream.of(process, thread, handle)
    thread.cores = handle


def unuse_stream_res_in_current_thread(process: Process, thread: HostThread, handle: int) -> None:
    stream.of(process, thread, handle)
    thread.cores = 0


def get_res_in_current_thread(process: Process, thread: HostThread, kind: int) -> int:
    used = process.objects.get(thread.cores)
    if isinstance(used, Stream):
        return cores.of_stream(process, used, kind)
    return cores.of_device(process, current(thread).device, kind)


def set_op_wait_timeout(process: Process, thread: HostThread, seconds: int) -> None:
    process.settings[WAIT_LIMIT] = seconds * 1_000_000_000


def _limit_kernels(process: Process, microseconds: int) -> int:
    process.settings[KERNEL_LIMIT] = microseconds
    for device in process.devices.values():
        device.limit_kernels(microseconds * 1000)
    return microseconds


def set_op_execute_time_out(process: Process, thread: HostThread, seconds: int) -> None:
    _limit_kernels(process, seconds * 1_000_000)


def set_op_execute_timeout_v2(process: Process, thread: HostThread, microseconds: int) -> int:
    return _limit_kernels(process, microseconds)


def get_op_timeout_interval(process: Process, thread: HostThread) -> int:
    return INTERVAL_US


def get_op_execute_timeout(process: Process, thread: HostThread) -> int:
    return process.settings.get(KERNEL_LIMIT, 0) // 1000
