"""acl.*: life cycle, versions, data buffers."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from npu.acl import configured
from npu.errors import NpuError
from npu.runtime import log_lines
from npu.runtime.dataset import DataBuffer
from npu.runtime.process import Process
from npu.runtime.tensor_desc import bytes_of
from npu.runtime.thread import HostThread

GROUP = ""
__all__ = [
    "app_log",
    "create_data_buffer",
    "data_type_size",
    "destroy_data_buffer",
    "finalize",
    "finalize_reference",
    "float16_to_float",
    "float_to_float16",
    "get_cann_attribute",
    "get_cann_attribute_list",
    "get_cann_version",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_device_capability",
    "get_recent_err_msg",
    "get_soc_name",
    "get_version",
    "get_version_str",
    "init",
    "update_data_buffer",
]

API_VERSION = (1, 15, 0)  # of the 8.3 generation (unverified; the newest public header says 1.17.0)
# aclCANNPackageName; the driver's version is the machine's, all others the toolkit's
PACKAGES = ("cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver")
ATTRIBUTES = (0, 1)  # aclCannAttr: saturation can be switched to inf/nan, bfloat16
HALF_MOST = 65504.0


def read_config(path: str) -> dict[str, object]:
    """The content of an acl.json. NpuError invalid_file when it cannot be read, parse_file when it is no JSON object."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8") or "{}")
    except OSError as error:
        raise NpuError("invalid_file", path=path, reason=error.strerror) from error
    except ValueError as error:
        raise NpuError("parse_file", path=path, reason=str(error)) from error
    if not isinstance(found, dict):
        raise NpuError("parse_file", path=path, reason="not a JSON object")
    return found


def init(process: Process, thread: HostThread, config: str = "") -> None:
    wanted = read_config(config) if config else {}
    if process.init_count == 0:
        configured.begin(process, thread, wanted)
    process.init_count += 1
    if process.init_count > 1:
        raise NpuError("repeat_init")
    told = json.dumps(wanted, sort_keys=True)
    if process.finalized and config and told != process.config:
        process.init_count = 0
        raise NpuError("invalid_param", path=config, reason="after finalize the configuration must be the one of the first init")
    process.config = told
    process.errors.whole_process = str(wanted.get("err_msg_mode", "0")) == "1"
    process.finalized = False


def finalize(process: Process, thread: HostThread) -> None:
    if process.init_count == 0:
        raise NpuError("repeat_finalize")
    configured.end(process)
    log_lines.finalized_with(process, process.objects.values())
    process.init_count = 0
    process.finalized = True


def finalize_reference(process: Process, thread: HostThread) -> int:
    if process.init_count == 0:
        raise NpuError("repeat_finalize")
    process.init_count -= 1
    if process.init_count == 0:
        configured.end(process)
    process.finalized = process.init_count == 0
    return process.init_count


def get_version(process: Process, thread: HostThread) -> tuple[int, int, int]:
    return API_VERSION


def get_soc_name(process: Process, thread: HostThread) -> str | None:
    return process.machine.chip.name if process.machine.driver_version is not None else None


def get_recent_err_msg(process: Process, thread: HostThread) -> str | None:
    return process.errors.take()


def app_log(process: Process, thread: HostThread, level: int, text: str) -> None:
    process.log(level, "APP", text)


def _version(process: Process, package: str) -> str:
    machine = process.machine
    if package not in PACKAGES:
        raise NpuError("invalid_param", package=package, known=PACKAGES)
    if package != "driver":
        return machine.cann_version
    if machine.driver_version is None:
        raise NpuError("invalid_param", package=package, reason="no driver is installed")
    return machine.driver_version


def get_version_str(process: Process, thread: HostThread, package: str) -> str:
    return _version(process, package)


def get_cann_version(process: Process, thread: HostThread, package: int) -> dict[str, object]:
    text = _version(process, PACKAGES[package] if package < len(PACKAGES) else str(package))
    parts = [*text.split("."), "", "", ""][:4]
    names = ("major_version", "minor_version", "release_version", "patch_version")
    return {"version": text, **dict(zip(names, parts, strict=True)), "reserved": ""}


def get_cann_attribute_list(process: Process, thread: HostThread) -> tuple[list[int], int]:
    return list(ATTRIBUTES), len(ATTRIBUTES)


def get_cann_attribute(process: Process, thread: HostThread, attribute: int) -> int:
    if attribute not in ATTRIBUTES:
        raise NpuError("invalid_param", attribute=attribute, known=ATTRIBUTES)
    return int(process.machine.chip.split)  # both came with A2


def get_device_capability(process: Process, thread: HostThread, device: int, info: int) -> int:
    process.physical(device)
    chip = process.machine.chip
    values = {0: chip.aic, 1: chip.vector_cores, 2: chip.l2}  # aclDeviceInfo
    if info not in values:
        raise NpuError("invalid_param", info=info, known=list(values))
    return values[info]


def float16_to_float(process: Process, thread: HostThread, bits: int) -> float:
    value: float = struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0]
    return value


def float_to_float16(process: Process, thread: HostThread, value: float) -> int:
    """Saturating: what half precision cannot hold, NaN included, becomes the largest number."""
    kept = HALF_MOST if value != value else max(-HALF_MOST, min(HALF_MOST, value))
    bits: int = struct.unpack("<H", struct.pack("<e", kept))[0]
    return bits


def data_type_size(process: Process, thread: HostThread, dtype: int) -> int:
    return int(bytes_of(dtype))


def create_data_buffer(process: Process, thread: HostThread, data: int, size: int) -> int:
    return process.register(DataBuffer(data, size))


def destroy_data_buffer(process: Process, thread: HostThread, handle: int) -> None:
    process.drop(handle, DataBuffer)
    process.edits += 1


def get_data_buffer_addr(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).data


def get_data_buffer_size(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).size


def get_data_buffer_size_v2(process: Process, thread: HostThread, handle: int) -> int:
    return process.get(handle, DataBuffer).size


def update_data_buffer(process: Process, thread: HostThread, handle: int, data: int, size: int) -> None:
    buffer = process.get(handle, DataBuffer)
    buffer.data, buffer.size = data, size
    process.edits += 1
