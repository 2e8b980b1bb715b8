"""Plain `info` of the 950 generation: NPU id and name in cells of their own, no chip row, the use of the whole NPU."""

from __future__ import annotations

from npu.driver.door import DeviceInfo, Snapshot
from npu.smi import place
from npu.smi.box import columns, pair, row, rule
from npu.smi.process import MOST_PROCESSES, nobody, shown_name
from npu.units import MIB

CELLS = (8, 18, 15, 53)
INNER = sum(CELLS) + len(CELLS) - 1
VALUES = (12, 18, 0)
PROCESS = (27, 15, 26, 26)
PROCESS_ROW = (27, 15, 26, 25)  # one character short of the border, as the real tool prints them
TOOL = 40


def id_97(snapshot: Snapshot, tool: str) -> str:
    """The table of Ascend950 from driver 25.7 on."""
    thin, thick = rule(CELLS, "-"), rule(CELLS, "=")
    process_thin, process_thick = rule((27, 15, 53), "-"), rule((27, 15, 53), "=")
    lines = [
        rule((INNER,), "-"),
        row((INNER,), (f"npu-smi {tool.ljust(TOOL)} Version: {snapshot.driver_version}",)),
        thin,
        row(CELLS, ("NPU ID", "Name", "Health", columns(VALUES, ("Power(W)", "Temp(C)", "Hugepages-Usage(page)")))),
        row(CELLS, ("", "", "Bus-Id", columns(VALUES, ("NPU Util(%)", "Memory-Usage(MB)", "HBM-Usage(MB)")))),
        thick,
    ]
    for device in snapshot.devices:
        lines += [_device(device), thick]
    lines += [process_thin, row(PROCESS, ("NPU ID", "Process id", "Process name", "Process memory(MB)")), process_thick]
    for device in snapshot.devices:
        card = place.card(device)
        rows = [
            row(PROCESS_ROW, (str(card), str(one.pid), shown_name(one.name), str(one.memory // MIB)))
            for one in device.processes[:MOST_PROCESSES]
        ]
        lines += rows or [nobody(INNER, card)]
        lines.append(process_thick)
    return "".join(lines)


def _device(device: DeviceInfo) -> str:
    power = "NA" if device.power_w is None else f"{device.power_w:.1f}"
    temperature = "NA" if device.temp_c is None else str(device.temp_c)
    hbm = pair(str(device.memory_used // MIB), str(device.memory_total // MIB), 6)
    upper = columns(VALUES, (power, temperature, pair("0", "0", 6)))
    lower = columns(VALUES, (str(device.aicore), pair("0", "0"), hbm))
    return row(CELLS, (str(place.card(device)), place.name(device), device.health, upper)) + row(
        CELLS, ("", "", device.bus_id, lower)
    )
