"""ASCEND_RT_VISIBLE_DEVICES: reading stops at the first bad item, and nothing says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diag.seen import Seen
from diag.verdict import ERROR, WARNING, Verdict
from npu.host import access
from npu.host.env import visible

NAME = "ASCEND_RT_VISIBLE_DEVICES"


def devices(seen: Seen) -> Iterator[Verdict]:
    """Lists of visible devices that are cut short, name what is not there, or are of another vendor."""
    env = seen.host.env or {}
    value = env.get(NAME)
    if value is not None:
        yield from _list(value, _count(seen))
    for other in ("CUDA_VISIBLE_DEVICES", "NPU_VISIBLE_DEVICES"):
        if env.get(other) and value is None:
            yield Verdict("foreign_visible_devices", WARNING, {"variable": other, "value": env[other]}, (other,))
    one = env.get("ASCEND_DEVICE_ID", env.get("DEVICE_ID"))
    if value and one is not None and one.isdigit() and int(one) >= len(visible(value)[0]):
        yield Verdict(
            "device_id_beyond_visible", ERROR, {"id": one, "value": value, "count": len(visible(value)[0])}, ("DEVICE_ID", NAME)
        )


def _list(value: str, count: int | None) -> Iterator[Verdict]:
    read, stopped = visible(value)
    facts = {"value": value, "read": ",".join(map(str, read)) or "none", "item": stopped, "fixed": _fixed(value)}
    if value.strip() == "":
        yield Verdict("visible_devices_empty", WARNING, facts, (NAME,))
    elif stopped:
        bare = stopped.strip()
        order = bare.isdigit() and bare == stopped
        repeated = order and read and int(bare) in read
        kind = "visible_devices_repeated" if repeated else "visible_devices_order" if order else "visible_devices_form"
        yield Verdict(kind, ERROR, facts, (NAME,))
    elif count is not None and read and read[-1] >= count:
        beyond = ",".join(str(n) for n in read if n >= count)
        used = ",".join(str(n) for n in read if n < count) or "none"
        yield Verdict(
            "visible_devices_beyond", ERROR, {**facts, "read": used, "beyond": beyond, "count": count, "last": count - 1}, (NAME,)
        )


def _fixed(value: str) -> str:
    """The list as it should be written: its numbers once, ascending."""
    numbers = sorted(
        {int(item) for item in value.replace(";", ",").replace(" ", ",").split(",") if item.isdecimal() and len(item) < 5}
    )
    return ",".join(map(str, numbers)) or "0"


def _count(seen: Seen) -> int | None:
    """How many devices there are: by the device tool, else by the device nodes, else by what a container was started with."""
    if seen.smi is not None and seen.smi.devices and not seen.smi.cut:
        return len(seen.smi.devices)
    nodes = access.ids(seen.host.nodes or ())
    return len(nodes) or _handed_in(seen) or None


def _handed_in(seen: Seen) -> int:
    """Devices a container was started with, where they are named one by one."""
    started = seen.started
    if started is None or started.privileged or started.runtime:
        return 0
    return sum(re.fullmatch(r"/dev/davinci\d+", d.partition(":")[0]) is not None for d in started.devices)
