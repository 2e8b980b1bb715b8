"""host/ and device_N/ of a PROF folder: info.json, sample.json, start_info, end_info."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from npu import soc
from npu.units import US
from profiler.export import chrome
from profiler.export.files import whole
from profiler.trace import Trace

# Chip generation as the real parser numbers it, by chip family. 5 for split-core chips and 0, 1 are certain; 2 and 7 follow
# from the order of its chip table.
PLATFORMS = {"310": "0", "910": "1", "310P": "2", "910B": "5", "910_93": "5", "310B": "7"}
HWTS_MHZ = "50"  # task scheduler clock in real 910B files


def write(trace: Trace, prof_dir: Path) -> list[Path]:
    """Four files per folder; those already there (a real capture, an earlier export) stay as they are and are not listed.

    A device folder is made for every device that ran something. Facts the trace does not know are "" or 0.
    """
    made = []
    for folder, suffix, device in [("host", "", None), *((f"device_{d}", f".{d}", d) for d in trace.devices())]:
        place = prof_dir / folder
        place.mkdir(exist_ok=True)
        facts = {f"info.json{suffix}": _info(trace, device), "sample.json": _sample(trace),
                 f"start_info{suffix}": _moment(trace, "Begin"), f"end_info{suffix}": _moment(trace, "End")}
        for name, content in facts.items():
            path = place / name
            if not path.exists():
                with whole(path) as out:
                    json.dump(content, out, ensure_ascii=False)
                made.append(path)
    return made


def chip(trace: Trace) -> soc.Soc | None:
    """The chip the trace names; None for an unknown one."""
    try:
        return soc.find(str(trace.meta.get("soc", "")))
    except KeyError:
        return None


def program(trace: Trace) -> str:
    """The file name of the program that was profiled; "" when the trace does not tell."""
    command = trace.meta.get("command", "")
    words = command.split() if isinstance(command, str) else [str(w) for w in command]
    return Path(words[0]).name if words else ""


def host_identity(trace: Trace) -> tuple[str, str]:
    """(uid, name) of the host. The uid is the same for all processes of one host, which is what it is read for."""
    name = str(_host(trace).get("hostname", ""))
    return str(zlib.crc32(name.encode())), name


def _host(trace: Trace) -> Mapping[str, Any]:
    host = trace.meta.get("host")
    return host if isinstance(host, Mapping) else {"hostname": "" if host is None else str(host)}


def _info(trace: Trace, device: int | None) -> dict[str, Any]:
    meta, model = trace.meta, chip(trace)
    facts = _host(trace)
    versions: Mapping[str, Any] = meta.get("versions") or {}
    ranks = meta.get("ranks") or [-1]
    devices = trace.devices()
    uid, hostname = host_identity(trace)
    cpus = int(facts.get("cpus", 0))
    return {
        "version": "1.0", "jobInfo": "NA", "OS": str(facts.get("os", "")), "hostname": hostname,
        "hwtype": str(facts.get("machine", "")),
        "devices": ",".join(map(str, devices if device is None else [device])), "platform": "",
        "platform_version": PLATFORMS.get(model.family, "") if model is not None else "",
        "pid": str(meta.get("pid", 0)), "pid_name": program(trace), "upTime": "",
        "memoryTotal": int(facts.get("memory_kb", 0)), "cpuNums": cpus, "sysClockFreq": 100, "cpuCores": cpus, "netCardNums": 0,
        "rank_id": int(ranks[0]) if len(ranks) == 1 else -1,
        "drvVersion": str(versions.get("driver", meta.get("driver_version", ""))), "cannVersion": str(versions.get("cann", "")),
        "hostUid": uid,
        "DeviceInfo": [] if device is None or model is None else [_device(device, model)],
        "CPU": [{"Id": 0, "Name": str(facts.get("cpu", "")), "Frequency": "100.000000", "Logical_CPU_Count": cpus, "Type": ""}],
        "netCard": [],
    }


def _device(device: int, chip: soc.Soc) -> dict[str, Any]:
    clock = str(chip.cube_mhz)
    return {
        "id": device, "env_type": 3, "ctrl_cpu_id": "", "ctrl_cpu_core_num": 1, "ctrl_cpu_endian_little": 1, "ts_cpu_core_num": 1,
        "ai_cpu_core_num": chip.aicpu, "ai_core_num": chip.aic, "ai_cpu_core_id": 0, "ai_core_id": 0, "aicpu_occupy_bitmap": 0,
        "ctrl_cpu": "0", "ai_cpu": ",".join(map(str, range(1, chip.aicpu + 1))), "aiv_num": chip.aiv, "hwts_frequency": HWTS_MHZ,
        "aic_frequency": clock, "aiv_frequency": clock,
    }


def _sample(trace: Trace) -> dict[str, Any]:
    """The collection switches that decide which columns the files have."""
    collection: Mapping[str, Any] = trace.meta.get("collection") or {}
    command = trace.meta.get("command", "")
    metrics = str(collection.get("aic_metrics", "PipeUtilization"))
    return {
        "result_dir": "", "devices": ",".join(map(str, trace.devices())), "stream_enabled": "on",
        "app": command if isinstance(command, str) else " ".join(map(str, command)),
        "prof_level": str(collection.get("level", "l1")), "ai_core_profiling": "on", "ai_core_profiling_mode": "task-based",
        "ai_core_metrics": metrics, "aicore_sampling_interval": 10, "aiv_profiling": "on", "aiv_profiling_mode": "task-based",
        "aiv_metrics": metrics, "aiv_sampling_interval": 10,
    }


def _moment(trace: Trace, which: str) -> dict[str, str]:
    """Begin (time zero of the capture) or End (its last event): unix us, local date, and ns since the beginning."""
    ns = 0 if which == "Begin" else trace.span()[1]
    unix_us = (chrome.unix_zero(trace) + ns) // US
    made = dict.fromkeys(("collectionDateBegin", "collectionDateEnd", "collectionTimeBegin", "collectionTimeEnd"), "")
    made[f"collectionDate{which}"] = datetime.fromtimestamp(unix_us / 1e6).strftime("%Y-%m-%d %H:%M:%S.%f")
    made[f"collectionTime{which}"] = str(unix_us)
    return {**made, "clockMonotonicRaw": str(ns)}
