"""The box of plain `info`: two rows a chip, then the processes. Header lines tell the columns, the border the layout."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import NamedTuple

from diag.smi.records import (
    ABSENT,
    CUT_OFF,
    MOST_PROCESSES,
    NOT_REPORTED,
    NOT_SHOWN,
    ON_FIRST_DIE,
    Device,
    Pool,
    Process,
    SmiText,
)

TITLE = re.compile(r"\|\s*npu-smi\s+(\S+)(?:\s+Version:\s*([^\s|]+))?")
IDLE = re.compile(r"No running processes found in NPU\s+(\d+)")
BUS = re.compile(r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|NA")
PAIR = re.compile(r"(\d+|NA|-)\s*/\s*(\d+|NA|-)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Layout(NamedTuple):
    """process_table: always | never | unknown | with_bus (boards with a bus id have it, SoC boards not)."""

    name: str
    inner: int
    cells: tuple[int, ...]
    process_table: str


@cache
def layouts() -> tuple[Layout, ...]:
    text = resources.files("diag").joinpath("data/smi_layouts.csv").read_text(encoding="utf-8")
    return tuple(
        Layout(r["layout"], int(r["inner"]), tuple(map(int, r["cells"].split("/"))), r["process_table"])
        for r in csv.DictReader(text.splitlines())
    )


@dataclass
class _Seen:
    """What has been read so far, line by line."""

    part: str = "head"  # head, devices, processes
    tool: str = ""
    driver: str = ""
    cells: tuple[int, ...] = ()
    ids: tuple[str, str] = ("", "")  # first cells of the two header lines
    values: tuple[str, str] = ("", "")  # and their last cells
    container: bool = False
    devices: list[Device] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    open_card: bool = False  # rows since the last closing line
    broken: bool = False  # a row that ends before its right edge


def read(lines: Sequence[str]) -> SmiText | None:
    """The table among these lines, None when there is none. Of several tables (a loop of calls) the last whole one counts."""
    starts = [at for at, line in enumerate(lines) if TITLE.match(line)]
    if not starts:
        return SmiText("info", cut="head") if _only_border(lines) else None
    read_tables = [_read(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    whole = [table for table in read_tables if not table.cut]
    return whole[-1] if whole else read_tables[-1]


def _only_border(lines: Sequence[str]) -> bool:
    """A text that ends behind the first line of a table: its width is all there is."""
    said = [line for line in lines if line.strip()]
    return len(said) == 1 and said[0] in {f"+{'-' * layout.inner}+" for layout in layouts()}


def _read(lines: Sequence[str]) -> SmiText:
    seen = _Seen()
    for line in lines:
        if line.startswith("+"):
            _border(seen, line)
        elif line.startswith("|"):
            _row(seen, line)
    layout = _layout(seen)
    processes = tuple(_capped(seen.processes))
    table = _process_table(seen, layout)
    return SmiText(
        kind="info",
        layout=layout.name,
        tool=seen.tool,
        driver=seen.driver,
        devices=tuple(seen.devices),
        processes=processes,
        idle_cards=tuple(seen.idle),
        process_table=table,
        cut=_cut(seen, table),
    )


def _border(seen: _Seen, line: str) -> None:
    runs = line.strip("+").split("+")
    if not seen.cells and len(runs) > 1:
        seen.cells = tuple(len(run) for run in runs)
    if line.startswith("+="):
        seen.open_card = False
    if not line.endswith("+") or len(line) < 3:
        seen.broken = True


def _row(seen: _Seen, line: str) -> None:
    title, idle = TITLE.match(line), IDLE.search(line)
    closed = line.endswith("|") and len(line) > 1
    seen.broken = seen.broken or not closed
    cells = [cell.strip() for cell in line.strip("|").split("|")] if closed else [cell.strip() for cell in line[1:].split("|")]
    if title is not None:
        seen.tool, seen.driver = title[1], title[2] or ""
    elif idle is not None:
        if seen.part == "processes":
            seen.idle.append(int(idle[1]))
            seen.open_card = True
    elif len(cells) > 1 and cells[1] == "Process id":
        seen.part = "processes"
        seen.container = cells[-1].startswith("Process id in")
    elif "Health" in cells:
        seen.ids, seen.values = (cells[0], ""), (cells[-1], "")
        seen.devices.clear()
        seen.part = "headers"
    elif seen.part == "headers" and "Bus-Id" in cells:
        seen.ids, seen.values = (seen.ids[0], cells[0]), (seen.values[0], cells[-1])
        seen.part = "devices"
    elif seen.part == "devices":
        _device_row(seen, cells, closed)
    elif seen.part == "processes" and closed:
        _process_row(seen, cells)


def _device_row(seen: _Seen, cells: list[str], closed: bool) -> None:
    """Told apart by the cell before the values: a bus id stands in the second row, a health word in the first."""
    wanted = 4 if _numbered(seen) else 3
    second = len(cells) >= wanted - 1 and BUS.fullmatch(cells[wanted - 2]) is not None
    awaited = bool(seen.devices) and seen.devices[-1].states.get("bus_id") == CUT_OFF
    if awaited and not closed and not second:
        return  # a second row cut before the end of its bus id: its numbers could pass for a card and a name
    if not second:
        made = _first_row(seen, cells, wanted)
        if made is not None:
            seen.devices.append(made)
            seen.open_card = True
    elif awaited:
        seen.devices[-1] = _second_row(seen, seen.devices[-1], cells if closed else cells[: wanted - 1], wanted)


def _numbered(seen: _Seen) -> bool:
    """The 950 layout: the first cell holds the NPU id alone, and there is no chip row."""
    return seen.ids[0] == "NPU ID"


def _first_row(seen: _Seen, cells: list[str], wanted: int) -> Device | None:
    ids = cells[0].split(maxsplit=1) if wanted == 3 else cells[:2]
    if not ids or not ids[0].isdigit():
        return None
    whole = len(cells) >= wanted
    states = dict.fromkeys(("utilisation", "ddr", "hbm", "bus_id", *(() if whole else ("health",))), CUT_OFF)
    values = cells[wanted - 1] if whole else ""
    words = PAIR.sub(" ", values).split()
    return Device(
        card=int(ids[0]), chip=0, phy_id=None, logic_id=None,
        name=ids[1] if len(ids) > 1 else "",
        health=cells[wanted - 2] if whole else None,
        power_w=_number(words, 0, "power_w", states),
        temp_c=_whole(_number(words, 1, "temp_c", states)),
        utilisation=None, utilisation_kind="NPU" if "NPU" in seen.values[1] else "AICore", ddr=None, hbm=None,
        hugepages=_pool(PAIR.findall(values), 0, "Hugepages" in seen.values[0], "hugepages", states),
        bus_id=None, states=states,
    )  # fmt: skip


def _second_row(seen: _Seen, device: Device, cells: list[str], wanted: int) -> Device:
    states = {name: why for name, why in device.states.items() if name not in ("utilisation", "ddr", "hbm", "bus_id")}
    ids = [int(word) for word in cells[0].split() if word.isdigit()] if wanted == 3 else [0]
    other = ids[1] if len(ids) > 1 else None
    values = cells[wanted - 1] if len(cells) >= wanted else ""
    pairs, words = PAIR.findall(values), PAIR.sub(" ", values).split()
    has_ddr, has_hbm = "Memory-Usage" in seen.values[1], "HBM-Usage" in seen.values[1]
    bus = cells[wanted - 2]
    if bus == "NA":
        states["bus_id"] = NOT_REPORTED
    return replace(
        device, chip=ids[0] if ids else 0,
        phy_id=other if "Phy-ID" in seen.ids[1] else None, logic_id=other if "Device" in seen.ids[1] else None,
        utilisation=_whole(_number(words, 0, "utilisation", states)),
        ddr=_pool(pairs, 0, has_ddr, "ddr", states), hbm=_pool(pairs, int(has_ddr), has_hbm, "hbm", states),
        bus_id=None if bus == "NA" else bus, states=states,
    )  # fmt: skip


def _process_row(seen: _Seen, cells: list[str]) -> None:
    """The name may hold anything, a bar included: it is what stands between the cells that are known from both ends."""
    ids = [int(word) for word in cells[0].split() if word.isdigit()]
    behind = 2 if seen.container else 1
    if len(cells) < 3 + behind or not ids or not cells[1].isdigit():
        return
    inside = cells[-1] if seen.container else ""
    memory = cells[-behind]
    seen.processes.append(Process(
        card=ids[0], chip=ids[1] if len(ids) > 1 else 0, pid=int(cells[1]), name="|".join(cells[2:-behind]),
        memory_mb=int(memory) if memory.isdigit() else None, container_pid=int(inside) if inside.isdigit() else None,
    ))  # fmt: skip
    seen.open_card = True


def _capped(processes: list[Process]) -> list[Process]:
    full = [(p.card, p.chip) for p in processes]
    return [replace(p, capped=full.count((p.card, p.chip)) >= MOST_PROCESSES) for p in processes]


def _number(words: list[str], at: int, name: str, states: dict[str, str]) -> float | None:
    if at >= len(words):
        states[name] = CUT_OFF
        return None
    if NUMBER.fullmatch(words[at]):
        return float(words[at])
    states[name] = ON_FIRST_DIE if words[at] == "-" else NOT_REPORTED
    return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _pool(pairs: list[tuple[str, str]], at: int, shown: bool, name: str, states: dict[str, str]) -> Pool | None:
    """0 of 0 is how the tool writes a pool the chip has not; huge pages of 0 are pages nobody set aside, which is a fact."""
    if not shown or at >= len(pairs):
        states[name] = CUT_OFF if shown else NOT_SHOWN
        return None
    used, total = pairs[at]
    if not total.isdigit():
        states[name] = NOT_REPORTED
        return None
    if total == "0" and name != "hugepages":
        states[name] = ABSENT
        return None
    if not used.isdigit():
        states[name] = NOT_REPORTED
        return Pool(None, int(total))
    return Pool(int(used), int(total))


def _layout(seen: _Seen) -> Layout:
    """By cells and kind of the columns; a box of unknown widths gets its kind alone ("HBM", "DDR", "ID")."""
    kind = "ID" if _numbered(seen) else "HBM" if "HBM-Usage" in seen.values[1] else "DDR" if seen.values[1] else ""
    for layout in layouts():
        if layout.cells == seen.cells and (layout.name.startswith(kind) or not kind):
            return layout
    return Layout(kind, sum(seen.cells) + max(0, len(seen.cells) - 1), seen.cells, "unknown")


def _process_table(seen: _Seen, layout: Layout) -> str:
    if seen.part == "processes":
        return "shown"
    has_bus = any(device.bus_id is not None for device in seen.devices)
    expected = layout.process_table == "always" or (layout.process_table == "with_bus" and has_bus)
    return CUT_OFF if expected else NOT_SHOWN


def _cut(seen: _Seen, process_table: str) -> str:
    """Where the text ends too early. A table that ends between two cards of a layout without processes looks whole."""
    if seen.part in ("head", "headers") or not seen.devices:
        return "head"
    if seen.part == "processes":
        cards = {device.card for device in seen.devices}
        listed = {*seen.idle, *(process.card for process in seen.processes)}
        return "processes" if cards - listed or seen.open_card or seen.broken else ""
    return "devices" if seen.open_card or seen.broken or process_table == CUT_OFF else ""
