"""Plain `info` of chips with HBM before the 950: two rows a chip, then the processes by card."""

from __future__ import annotations

from typing import NamedTuple

from npu.driver.door import DeviceInfo, Snapshot
from npu.smi import place
from npu.smi.box import columns, pair, row, rule
from npu.smi.process import MOST_PROCESSES, nobody, shown_name
from npu.units import MIB


class Sizes(NamedTuple):
    """Widths of one layout. cells: of the chip table; values: of the fields in its last cell (the last one takes the rest);
    process: cells of the process table, a fifth one for the pid in the container; tool: field of the tool's version."""

    cells: tuple[int, int, int]
    values: tuple[int, int]
    process: tuple[int, ...]
    tool: int


HBM_91 = Sizes((22, 15, 52), (12, 18), (22, 15, 26, 25), 24)
HBM_96 = Sizes((27, 15, 52), (12, 18), (27, 15, 26, 25), 24)
HBM_114 = Sizes((27, 15, 70), (21, 24), (27, 15, 20, 23, 25), 35)


def hbm_91(snapshot: Snapshot, tool: str) -> str:
    """The table of the first 910 generation up to driver 23.0.2."""
    return _table(HBM_91, snapshot, tool)


def hbm_96(snapshot: Snapshot, tool: str) -> str:
    """The table of 910B and A3 up to driver 25.5: 96 characters inside the border."""
    return _table(HBM_96, snapshot, tool)


def hbm_114(snapshot: Snapshot, tool: str) -> str:
    """The table from driver 26 on: wider values, and the process's number in its container."""
    return _table(HBM_114, snapshot, tool)


def _table(sizes: Sizes, snapshot: Snapshot, tool: str) -> str:
    inner = sum(sizes.cells) + len(sizes.cells) - 1
    on_cards = place.cards(snapshot.devices)
    two_dies = place.dies(snapshot.devices[0]) > 1
    thin, thick = rule(sizes.cells, "-"), rule(sizes.cells, "=")
    first = (*sizes.values, 0)
    lines = [
        rule((inner,), "-"),
        row((inner,), (f"npu-smi {tool.ljust(sizes.tool)} Version: {snapshot.driver_version}",)),
        thin,
        row(sizes.cells, ("NPU   Name", "Health", columns(first, ("Power(W)", "Temp(C)", "Hugepages-Usage(page)")))),
        row(sizes.cells, ("Chip  Phy-ID" if two_dies else "Chip", "Bus-Id",
                          columns(first, ("AICore(%)", "Memory-Usage(MB)", "HBM-Usage(MB)")))),
        thick,
    ]  # fmt: skip
    for card, chips in on_cards:
        lines.append(rule((inner,), "-").join(_chip(sizes, card, chip, chips) for chip in chips))
        lines.append(thick)
    heads = ("NPU     Chip", "Process id", "Process name", "Process memory(MB)", "Process id in container")
    lines += [thin, row(sizes.process, heads[: len(sizes.process)]), thick]
    for card, chips in on_cards:
        lines += _processes(sizes, card, chips) or [nobody(inner, card)]
        lines.append(thick)
    return "".join(lines)


def _chip(sizes: Sizes, card: int, chip: DeviceInfo, chips: list[DeviceInfo]) -> str:
    fields = (*sizes.values, 0)
    temperature = "NA" if chip.temp_c is None else str(chip.temp_c)
    # The DDR pool of 910B and A3 is absent, which the tool writes as 0 of 0; the huge pages it counts are those of that pool.
    pages = pair("0", "0") if chip.ddr_total is None else pair(str(chip.huge_used), str(chip.huge_total))
    ddr = pair(str((chip.ddr_used or 0) // MIB), str((chip.ddr_total or 0) // MIB))
    upper = columns(fields, (_power(chip, chips), temperature, pages))
    lower = columns(fields, (str(chip.aicore), ddr, pair(str(chip.memory_used // MIB), str(chip.memory_total // MIB))))
    physical = f" {chip.id}" if place.dies(chip) > 1 else ""
    return (row(sizes.cells, (f"{card:<5} {place.name(chip)}", chip.health, upper))
            + row(sizes.cells, (f"{place.chip(chip):<5}{physical}", chip.bus_id, lower)))  # fmt: skip


def _power(chip: DeviceInfo, chips: list[DeviceInfo]) -> str:
    """Watts of the card, on its first die; '-' on the others, NA when no die's is known."""
    if place.chip(chip):
        return "-"
    known = [die.power_w for die in chips if die.power_w is not None]
    return f"{sum(known):.1f}" if known else "NA"


def _processes(sizes: Sizes, card: int, chips: list[DeviceInfo]) -> list[str]:
    """Rows of a card, at most MOST_PROCESSES a chip."""
    made = []
    for chip in chips:
        for process in chip.processes[:MOST_PROCESSES]:
            inside = "NA" if process.container_pid is None else str(process.container_pid)
            ids = f"{card:<7} {place.chip(chip)}"
            cells = (ids, str(process.pid), shown_name(process.name), str(process.memory // MIB), inside)
            made.append(row(sizes.process, cells[: len(sizes.process)]))
    return made
