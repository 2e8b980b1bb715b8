"""One frame of top as lines of exactly the screen's width: pure, a state and a size in, styled lines out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from cli.top.state import Row, State, place
from diag.smi.records import Device

BLOCKS = "▁▂▃▄▅▆▇█"
HEALTH_STYLE = {"OK": "green", "Warning": "yellow", "Alarm": "red", "Critical": "bold red"}
HOT, WARM = 85, 60  # percent from which use and memory are shown in red and yellow
FIXED = 56  # columns of a device line without its sparkline
LEAST_PROCESSES = 4  # lines kept for processes when devices fill the screen
KEYS = "q quit  s sort  / filter  up/down select  k end process  (every {interval:g} s)"


class Piece(NamedTuple):
    text: str
    style: str = ""


Line = list[Piece]


def frame(state: State, width: int, height: int) -> list[Line]:
    """Title, devices, processes, one line of keys or a question at the bottom. Never more lines than the screen has."""
    room = max(height - 3, 2)
    devices = _devices(state, width, max(room - min(LEAST_PROCESSES, max(len(state.shown()), 1) + 1), 1))
    processes = _processes(state, width, max(room - len(devices), 1))
    lines = [_title(state), *devices, [], *processes]
    lines = lines[: height - 1]
    return [*lines, *([[]] * (height - 1 - len(lines))), _bottom(state)]


def sparkline(values: Sequence[int | None], width: int) -> str:
    """The last `width` values 0..100 as bars, right-aligned; a blank where there is none. 0 is the lowest bar."""
    last = list(values)[-width:] if width > 0 else []
    bars = "".join(" " if value is None else BLOCKS[min(max(value, 0), 99) * len(BLOCKS) // 100] for value in last)
    return bars.rjust(width)


def _title(state: State) -> Line:
    text = state.text
    busy = sum(1 for device in text.devices if device.utilisation)
    clock = time.strftime("%H:%M:%S", time.localtime(state.at))
    head: Line = [Piece("npu-smi top", "bold"), Piece(f"  {clock}  driver {text.driver or '-'}")]
    return [*head, Piece(f"  {len(text.devices)} devices, {busy} busy, {len({p.pid for p in text.processes})} processes")]


def _devices(state: State, width: int, most: int) -> list[Line]:
    if state.text.error is not None:
        return [[Piece("npu-smi failed: ", "bold red"), Piece("; ".join(state.text.error.lines))]]
    heads = f"{'NPU':<6}{'name':<12}{'health':<9}{'power W':>8}{'C':>5}{'memory GB':>13}  {'use':<4}"
    lines: list[Line] = [[Piece(heads.ljust(FIXED) + " use over time", "reverse")]]
    devices = state.text.devices
    shown = devices if len(devices) <= most - 1 else devices[: most - 2]
    lines += [_device(state, device, width) for device in shown]
    if len(shown) < len(devices):
        lines.append([Piece(f"... {len(devices) - len(shown)} more devices: make the window higher", "dim")])
    return lines


def _device(state: State, device: Device, width: int) -> Line:
    pool = device.memory
    known = pool is not None and pool.used is not None
    share = pool.used * 100 // pool.total if pool is not None and pool.used is not None else 0
    memory = f"{pool.used / 1024:.1f}/{pool.total / 1024:.1f}" if pool is not None and pool.used is not None else "-"
    power = "-" if device.power_w is None else f"{device.power_w:.1f}"
    temp = "-" if device.temp_c is None else str(device.temp_c)
    use = "-" if device.utilisation is None else f"{device.utilisation}%"
    return [
        Piece(f"{device.card}/{device.chip}".ljust(6)),
        Piece(device.name[:11].ljust(12)),
        Piece((device.health or "-").ljust(9), HEALTH_STYLE.get(device.health or "", "magenta")),
        Piece(f"{power:>8}{temp:>5}"),
        Piece(f"{memory:>13}", _grade(share) if known else ""),
        Piece(f"  {use:<4}", _grade(device.utilisation or 0)),
        Piece(" " + sparkline(state.uses.get(place(device), ()), max(width - FIXED - 2, 0)), "cyan"),
    ]


def _grade(share: int) -> str:
    return "red" if share >= HOT else "yellow" if share >= WARM else ""


def _processes(state: State, width: int, most: int) -> list[Line]:
    rows = state.shown()
    filtered = f"  filter {state.filter!r}" if state.filter else ""
    head = f"{'pid':>8}  {'user':<10}{'NPU':<6}{'memory MB':>10}  command   (sorted by {state.sort}{filtered})"
    lines: list[Line] = [[Piece(head.ljust(width), "reverse")]]
    if not rows:
        nothing = "no process matches the filter" if state.rows else "no process on any device"
        return [*lines, [Piece(nothing, "dim")]]
    selected = min(state.selected, len(rows) - 1)
    first = max(0, min(selected - most // 2, len(rows) - (most - 1)))
    for at, row in enumerate(rows[first : first + most - 1], first):
        lines.append([Piece(_process(row, width), "bold reverse" if at == selected else "")])
    return lines


def _process(row: Row, width: int) -> str:
    one = row.process
    memory = "-" if one.memory_mb is None else str(one.memory_mb)
    text = f"{one.pid:>8}  {(row.who.user or '-')[:9]:<10}{f'{one.card}/{one.chip}':<6}{memory:>10}  {row.command}"
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:width]


def _bottom(state: State) -> Line:
    if state.asking is not None:
        one = state.asking
        question = f"end pid {one.process.pid} ({one.process.name or one.command}) of {one.who.user or 'unknown user'}?"
        return [Piece(f"{question} y = terminate, 9 = kill, any other key = no", "bold yellow")]
    if state.typing:
        return [Piece(f"filter: {state.filter}_  (Enter keeps it, Esc clears it)", "bold")]
    return [Piece(state.message or KEYS.format(interval=state.interval), "bold" if state.message else "dim")]
