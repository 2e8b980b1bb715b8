"""Plain `info` of chips with HBM: two rows a chip, then the processes by card."""

from __future__ import annotations

from typing import NamedTuple

from npu import soc
from npu.driver.door import DeviceInfo, ProcessInfo, Snapshot
from npu.smi.box import columns, pair, row, rule
from npu.smi.place import cards
from npu.units import MIB

MOST_PROCESSES = 8  # listed a chip; the tool leaves the others out without a word


class Sizes(NamedTuple):
    """Widths of one layout. cells: of the chip table; values: of the fields in its last cell (the last one takes the rest);
    process: cells of the process table; tool: field of the tool's version in the title."""

    cells: tuple[int, int, int]
    values: tuple[int, int]
    process: tuple[int, int, int, int]
    tool: int


HBM_96 = Sizes((27, 15, 52), (12, 18), (27, 15, 26, 25), 24)


def hbm_96(snapshot: Snapshot, tool: str) -> str:
    """The table of 910B and A3 up to driver 25.5: 96 characters inside the border."""
    return _table(HBM_96, snapshot, tool)


def _table(sizes: Sizes, snapshot: Snapshot, tool: str) -> str:
    inner = sum(sizes.cells) + len(sizes.cells) - 1
    on_cards = cards(snapshot.devices)
    two_dies = any(len(chips) > 1 for _, chips in on_cards)
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
    ]
    for card, chips in on_cards:
        lines.append(rule((inner,), "-").join(_chip(sizes, card, at, chips) for at in range(len(chips))))
        lines.append(thick)
    lines += [thin, row(sizes.process, ("NPU     Chip", "Process id", "Process name", "Process memory(MB)")), thick]
    for card, chips in on_cards:
        listed = [_process(sizes, card, at, process)
                  for at, chip in enumerate(chips) for process in chip.processes[:MOST_PROCESSES]]
        lines += listed if listed else [row((inner,), (f"No running processes found in NPU {card}",))]
        lines.append(thick)
    return "".join(lines)


def _chip(sizes: Sizes, card: int, at: int, chips: list[DeviceInfo]) -> str:
    chip = chips[at]
    fields = (*sizes.values, 0)
    temperature = "NA" if chip.temp_c is None else str(chip.temp_c)
    # The DDR pool of these chips is absent, which the tool writes as 0 of 0; the huge pages it counts are those of that pool.
    upper = columns(fields, (_power(at, chips), temperature, pair("0", "0")))
    lower = columns(fields, (str(chip.aicore), pair("0", "0"), pair(str(chip.memory_used // MIB), str(chip.memory_total // MIB))))
    physical = f" {chip.id}" if len(chips) > 1 else ""
    return (row(sizes.cells, (f"{card:<5} {soc.find(chip.soc).npu_smi_name}", chip.health, upper))
            + row(sizes.cells, (f"{at:<5}{physical}", chip.bus_id, lower)))


def _power(at: int, chips: list[DeviceInfo]) -> str:
    """Watts of the card, on its first die; '-' on the others, NA when no die's is known."""
    if at:
        return "-"
    known = [chip.power_w for chip in chips if chip.power_w is not None]
    return f"{sum(known):.1f}" if known else "NA"


def _process(sizes: Sizes, card: int, at: int, process: ProcessInfo) -> str:
    return row(sizes.process, (f"{card:<7} {at}", str(process.pid), shown_name(process.name), str(process.memory // MIB)))


def shown_name(name: str) -> str:
    """As the tool reads it from the status file: without colons and tabs ('sglang::schedul' -> 'sglangschedul').

    Characters that would break the table or the terminal are shown as '?'.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name if letter not in ":\t")
