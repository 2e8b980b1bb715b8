"""Plain `info` of chips with DDR alone (310, 310P, 310B): one pool, a column for the logic id, dies parted by cells."""

from __future__ import annotations

from typing import NamedTuple

from npu.driver.door import DeviceInfo, Snapshot
from npu.smi import place
from npu.smi.box import columns, pair, row, rule
from npu.smi.process import MOST_PROCESSES, nobody, shown_name
from npu.units import MIB

VALUES = (13, 18, 0)  # widths of the fields in the last cell
PROCESS = (31, 17, 26, 27)
OLD_PAGES, NEW_PAGES = 5, 6  # places of the used huge pages up to drivers 22, and later
FIRST_GENERATION = 22  # up to here 310P prints its power, later NA


class Sizes(NamedTuple):
    """cells: of the chip table; tool: field of the tool's version; processes: whether boards with a bus get a process table."""

    cells: tuple[int, int, int]
    tool: int
    processes: bool


DDR_92 = Sizes((19, 17, 54), 28, False)
DDR_104 = Sizes((31, 17, 54), 40, True)
DDR_88 = Sizes((20, 12, 54), 40, False)


def ddr_92(snapshot: Snapshot, tool: str) -> str:
    """The table of 310 and 310P with drivers 22.0.0 to 22.0.3."""
    return _table(DDR_92, snapshot, tool)


def ddr_104(snapshot: Snapshot, tool: str) -> str:
    """The table of 310, 310P and 310B1 from driver 22.0.4 on."""
    return _table(DDR_104, snapshot, tool)


def ddr_88(snapshot: Snapshot, tool: str) -> str:
    """The table of 310B4 boards."""
    return _table(DDR_88, snapshot, tool)


def _table(sizes: Sizes, snapshot: Snapshot, tool: str) -> str:
    inner = sum(sizes.cells) + len(sizes.cells) - 1
    generation = int(snapshot.driver_version.partition(".")[0])
    on_cards = place.cards(snapshot.devices)
    thin, thick = rule(sizes.cells, "-"), rule(sizes.cells, "=")
    lines = [
        rule((inner,), "-"),
        row((inner,), (f"npu-smi {tool.ljust(sizes.tool)} Version: {snapshot.driver_version}",)),
        thin,
        row(sizes.cells, ("NPU     Name", "Health", columns(VALUES, ("Power(W)", "Temp(C)", "Hugepages-Usage(page)")))),
        row(sizes.cells, ("Chip    Device", "Bus-Id", columns(VALUES, ("AICore(%)", "Memory-Usage(MB)", "")))),
        thick,
    ]
    for card, chips in on_cards:
        lines.append(thin.join(_chip(sizes, card, chip, generation) for chip in chips))
        lines.append(thick)
    if sizes.processes and any(device.bus_id != "NA" for device in snapshot.devices):
        lines += [thin, row(PROCESS, ("NPU     Chip", "Process id", "Process name", "Process memory(MB)")), thick]
        for card, chips in on_cards:
            lines += _processes(card, chips) or [nobody(inner, card)]
            lines.append(thick)
    return "".join(lines)


def _chip(sizes: Sizes, card: int, chip: DeviceInfo, generation: int) -> str:
    temperature = "NA" if chip.temp_c is None else str(chip.temp_c)
    pages = pair(str(chip.huge_used), str(chip.huge_total), OLD_PAGES if generation <= FIRST_GENERATION else NEW_PAGES)
    upper = columns(VALUES, (_power(chip, generation), temperature, pages))
    lower = columns(VALUES, (str(chip.aicore), pair(str(chip.memory_used // MIB), str(chip.memory_total // MIB)), ""))
    return (row(sizes.cells, (f"{card:<7} {place.name(chip)}", chip.health, upper))
            + row(sizes.cells, (f"{place.chip(chip):<7} {chip.id}", chip.bus_id, lower)))  # fmt: skip


def _power(chip: DeviceInfo, generation: int) -> str:
    """310P measures no power of the chip alone; drivers from 23 on say so."""
    silent = place.family(chip) == "310P" and generation > FIRST_GENERATION
    return "NA" if chip.power_w is None or silent else f"{chip.power_w:.1f}"


def _processes(card: int, chips: list[DeviceInfo]) -> list[str]:
    return [
        row(PROCESS, (f"{card:<7} {place.chip(chip)}", str(one.pid), shown_name(one.name), str(one.memory // MIB)))
        for chip in chips
        for one in chip.processes[:MOST_PROCESSES]
    ]
