"""What is wrong, or worth knowing, in a text of the device tool: `find(parsed) -> findings`, the gravest first.

A finding is a name, a severity and facts; what it says to people stands in data/smi_en.toml and data/smi_zh.toml. Thresholds are
named below with their source. Findings of one look cannot see time: a device that is idle now may have worked a second ago.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from diag.smi.failed import causes
from diag.smi.records import MOST_PROCESSES, Block, Device, SmiText
from diag.smi.session import library_path_empty, no_device_nodes

SEVERITIES = ("critical", "warning", "note")

HEALTH = {"Warning": "warning", "Alarm": "warning", "Critical": "critical", "UNKNOWN": "critical"}
HOT_C = 90  # public outputs of working devices go up to 86 C (310P3); above that the clock is usually lowered
SLOWED = 0.97  # current clock below this share of the rated one counts as lowered; rounding alone stays above
FULL = 0.95  # share of a pool from which on a further large allocation fails
UNEVEN_POINTS = 40  # percentage points of use between the dies of one card
UNEVEN_MEMORY = 0.4  # of the pool
HELD_MB = 1024  # a context alone takes 120-160 MB a process (public outputs)
# A device with HBM and nobody on it shows 2.7-5.4 GB of its own (public outputs); more than this is held by somebody.
OWN_MB = 8192


@dataclass(frozen=True, slots=True)
class SmiFinding:
    """id names the texts, facts fill them. devices: (card, chip) it is about, empty for the whole machine."""

    id: str
    severity: str
    facts: Mapping[str, object] = field(default_factory=dict)
    devices: tuple[tuple[int, int], ...] = ()


def find(text: SmiText) -> list[SmiFinding]:
    """All findings, critical ones first, within a severity in the order of RULES."""
    found = [finding for rule in RULES for finding in rule(text)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def failure(text: SmiText) -> Iterator[SmiFinding]:
    """The tool itself could not answer. One that only does not know a query is no fault of the machine."""
    error = text.error
    if error is None:
        return
    codes = ", ".join(map(str, error.codes)) or "-"
    status = "?" if error.status is None else str(error.status)
    severity = "note" if error.cause in ("unsupported", "wrong_use") else "critical"
    said = next((line for line in error.lines if str(error.codes[0]) in line), error.lines[0]) if error.codes else error.lines[0]
    yield SmiFinding(error.cause, severity, {"codes": codes, "status": status, "said": said})


def session(text: SmiText) -> Iterator[SmiFinding]:
    """What else the pasted session shows of the environment."""
    if library_path_empty(text.session):
        yield SmiFinding("library_path_empty", "warning")
    if no_device_nodes(text.session):
        yield SmiFinding("no_device_nodes", "critical")


def unhealthy(text: SmiText) -> Iterator[SmiFinding]:
    """Devices whose health is not OK, by health."""
    for health, severity in HEALTH.items():
        ill = [device for device in text.devices if device.health == health]
        if ill:
            yield _of(f"health_{health.lower()}", severity, ill, health=health)


def fault_codes(text: SmiText) -> Iterator[SmiFinding]:
    """`-t health` names event codes as hexadecimal words, with or without 0x."""
    for block in text.blocks:
        words = block.values.get("Error Code", "").replace(",", " ").split()
        codes = [f"0x{word.upper().removeprefix('0X')}" for word in words if word != "NA"]
        status = block.values.get("Health Status", block.values.get("Health", "OK"))
        if codes or status in HEALTH:
            said = block.values.get("Error Information", "NA").replace("\n", "; ")
            facts = {"health": status, "codes": ", ".join(codes) or "-", "said": said, "device": _place(block)}
            yield SmiFinding("fault_codes", HEALTH.get(status, "warning"), facts, _chip(block))


def hot(text: SmiText) -> Iterator[SmiFinding]:
    """Devices at HOT_C and above."""
    warm = [device for device in text.devices if device.temp_c is not None and device.temp_c >= HOT_C]
    if warm:
        yield _of("hot", "warning", warm, temp=max(d.temp_c for d in warm if d.temp_c is not None), limit=HOT_C)
    for block in text.blocks:
        temp = _number(block, "Temperature(C)", "Temperature (C)", "NPU Temperature (C)")
        if temp is not None and temp >= HOT_C and not block.mcu:
            yield SmiFinding("hot", "warning", {"where": _place(block), "temp": int(temp), "limit": HOT_C}, _chip(block))


def throttled(text: SmiText) -> Iterator[SmiFinding]:
    """`-t common`: the clock now is below the rated one."""
    for block in text.blocks:
        rated, now = _number(block, "Aicore Freq(MHZ)"), _number(block, "Aicore curFreq(MHZ)")
        busy = _number(block, "Aicore Usage Rate(%)")
        if rated and now is not None and now < rated * SLOWED and busy:  # an idle device may rest at a low clock
            facts = {"where": _place(block), "now": int(now), "rated": int(rated), "lost_share": 1 - now / rated}
            yield SmiFinding("throttled", "warning", facts, _chip(block))


def memory_errors(text: SmiText) -> Iterator[SmiFinding]:
    """`-t ecc`: double-bit errors are not corrected; isolated pages were taken out of use."""
    for block in text.blocks:
        counts = {key: int(value) for key, value in block.values.items() if value.isdigit()}
        double = sum(n for key, n in counts.items() if "ouble" in key and ("Error Count" in key or "Err Cnt" in key))
        isolated = sum(n for key, n in counts.items() if "Isolated Pages" in key)
        if double:
            facts = {"where": _place(block), "count": double, "isolated": isolated}
            yield SmiFinding("double_bit_errors", "critical", facts, _chip(block))
        elif isolated:
            yield SmiFinding("isolated_pages", "note", {"where": _place(block), "isolated": isolated}, _chip(block))


def incompatible(text: SmiText) -> Iterator[SmiFinding]:
    """Driver and firmware that the tool itself says do not fit."""
    for block in text.blocks:
        if block.values.get("Compatibility") == "NOK":
            driver, firmware = block.values.get("Software Version", "?"), block.values.get("Firmware Version", "?")
            yield SmiFinding(
                "incompatible", "critical", {"where": _place(block), "driver": driver, "firmware": firmware}, _chip(block)
            )


def driver_incomplete(text: SmiText) -> Iterator[SmiFinding]:
    """The tool's own warning of an incomplete driver."""
    if text.driver_incomplete:
        yield SmiFinding("driver_incomplete", "warning", {"driver": text.driver or "?"})


def memory_full(text: SmiText) -> Iterator[SmiFinding]:
    """Pools of which FULL or more is taken."""
    full = [device for device in text.devices if _share(device) >= FULL]
    if full:
        most = max(full, key=_share)
        yield _of("memory_full", "warning", full, used_share=_share(most))
    for block in text.blocks:
        rate = _number(block, "HBM Usage Rate(%)", "DDR Usage Rate(%)", "Memory Usage Rate(%)")
        if rate is not None and rate >= FULL * 100:
            yield SmiFinding("memory_full", "warning", {"where": _place(block), "used_share": rate / 100}, _chip(block))


def hugepages(text: SmiText) -> Iterator[SmiFinding]:
    """Used up where there are some. Boards that set pages aside on demand always show it so: a note, no fault."""
    used_up = [d for d in text.devices if d.hugepages is not None and d.hugepages.total and d.hugepages.used == d.hugepages.total]
    if used_up:
        pages = ", ".join(dict.fromkeys(f"{d.hugepages.used}/{d.hugepages.total}" for d in used_up if d.hugepages is not None))
        yield _of("hugepages_used_up", "note", used_up, pages=pages)
    for block in text.blocks:
        rate = _number(block, "DDR Hugepages Usage Rate(%)", "Hugepages Usage Rate(%)")
        total = _number(block, "DDR Hugepages Total(page)", "Hugepages Total(page)")
        if rate == 100 and total:
            yield SmiFinding("hugepages_used_up", "note", {"where": _place(block), "pages": int(total)}, _chip(block))


def uneven_dies(text: SmiText) -> Iterator[SmiFinding]:
    """Dies of one card that do different work: of use, or of memory where the use cannot tell."""
    for card in dict.fromkeys(device.card for device in text.devices):
        dies = [device for device in text.devices if device.card == card]
        uses = [device.utilisation for device in dies if device.utilisation is not None]
        shares = [_share(device) for device in dies]
        if len(uses) > 1 and max(uses) - min(uses) >= UNEVEN_POINTS:
            yield _of("uneven_dies", "warning", dies, low=f"{min(uses)} %", high=f"{max(uses)} %")
        elif len(shares) > 1 and max(shares) - min(shares) >= UNEVEN_MEMORY:
            yield _of("uneven_memory", "note", dies, low_share=min(shares), high_share=max(shares))


def idle_holding(text: SmiText) -> Iterator[SmiFinding]:
    """Processes that hold memory on devices that do nothing."""
    idle = {(d.card, d.chip): d for d in text.devices if d.utilisation == 0}
    holders = [p for p in text.processes if (p.card, p.chip) in idle and p.memory_mb is not None and p.memory_mb >= HELD_MB]
    if holders:
        named = ", ".join(dict.fromkeys(f"{p.pid} {p.name}".strip() for p in holders))
        devices = list({(p.card, p.chip): idle[p.card, p.chip] for p in holders}.values())
        held = sum(p.memory_mb or 0 for p in holders)
        yield _of("idle_holding", "note", devices, processes=named, held_bytes=held << 20)


def memory_of_nobody(text: SmiText) -> Iterator[SmiFinding]:
    """Memory that no listed process accounts for: a process of another pid namespace, or one that died badly."""
    if text.process_table != "shown" or text.cut:
        return
    lost = []
    for device in text.devices:
        if device.hbm is None or device.hbm.used is None:
            continue
        rows = [p for p in text.processes if (p.card, p.chip) == (device.card, device.chip)]
        if not any(p.capped for p in rows) and device.hbm.used - sum(p.memory_mb or 0 for p in rows) > OWN_MB:
            lost.append(device)
    if lost:
        most = max(d.hbm.used for d in lost if d.hbm is not None and d.hbm.used is not None)
        yield _of("memory_of_nobody", "warning", lost, used_bytes=most << 20)


def table_capped(text: SmiText) -> Iterator[SmiFinding]:
    """Chips whose process table has as many rows as it can show: there may be more."""
    chips = {(process.card, process.chip) for process in text.processes if process.capped}
    full = [device for device in text.devices if (device.card, device.chip) in chips]
    if full:
        yield _of("table_capped", "note", full, rows=MOST_PROCESSES)


def blank_names(text: SmiText) -> Iterator[SmiFinding]:
    """Processes without a name, mostly of other containers."""
    blank = [process for process in text.processes if not process.name]
    if blank:
        yield SmiFinding("blank_names", "note", {"processes": ", ".join(dict.fromkeys(str(process.pid) for process in blank))})


def cut_short(text: SmiText) -> Iterator[SmiFinding]:
    """A text that ends too early."""
    if text.cut:
        yield SmiFinding("cut_short", "note", {"part": text.cut})


def versions(text: SmiText) -> Iterator[SmiFinding]:
    """A tool and a driver of different versions."""
    if text.tool and text.driver and text.tool != text.driver:
        yield SmiFinding("tool_and_driver", "note", {"tool": text.tool, "driver": text.driver})


def busy_and_free(text: SmiText) -> Iterator[SmiFinding]:
    """Which devices are taken and which could be given to the next job: healthy, idle, and nobody on them."""
    if text.process_table != "shown" or text.cut or not text.devices:
        return
    taken = {(process.card, process.chip) for process in text.processes}
    held = {place for finding in memory_of_nobody(text) for place in finding.devices}
    free = [d for d in text.devices if (d.card, d.chip) not in taken | held and not d.utilisation and d.health == "OK"]
    busy = [device for device in text.devices if device not in free]
    named = {"free": _places(free) or "-", "busy": _places(busy) or "-", "free_count": len(free), "count": len(text.devices)}
    identity = "no_free_device" if not free else "all_free" if len(free) == len(text.devices) else "busy_and_free"
    yield SmiFinding(identity, "warning" if not free else "note", named, tuple((d.card, d.chip) for d in free))


RULES: tuple[Callable[[SmiText], Iterator[SmiFinding]], ...] = (
    failure, session, unhealthy, fault_codes, memory_errors, incompatible, driver_incomplete, hot, throttled, memory_full,
    memory_of_nobody, uneven_dies, hugepages, idle_holding, table_capped, blank_names, versions, cut_short, busy_and_free,
)  # fmt: skip
# Every name a finding can have: each has its texts in both languages.
NAMES = (
    *(cause.name for cause in causes()), "library_path_empty", "no_device_nodes",
    *(f"health_{name.lower()}" for name in HEALTH), "fault_codes", "double_bit_errors", "isolated_pages", "incompatible",
    "driver_incomplete", "hot", "throttled", "memory_full", "memory_of_nobody", "uneven_dies", "uneven_memory",
    "hugepages_used_up", "idle_holding", "table_capped", "blank_names", "tool_and_driver", "cut_short", "busy_and_free",
    "no_free_device", "all_free",
)  # fmt: skip


def _of(name: str, severity: str, devices: list[Device], **facts: object) -> SmiFinding:
    return SmiFinding(name, severity, {"where": _places(devices), "count": len(devices), **facts},
                      tuple((device.card, device.chip) for device in devices))  # fmt: skip


def _places(devices: list[Device]) -> str:
    """'NPU 0, 1, 4' for cards of one chip, 'NPU 0 chip 1, NPU 1 chip 0' for others."""
    if any(device.chip for device in devices) or len({device.card for device in devices}) < len(devices):
        return ", ".join(f"NPU {device.card} chip {device.chip}" for device in devices)
    return "NPU " + ", ".join(str(device.card) for device in devices) if devices else ""


def _place(block: Block) -> str:
    card = "NPU ?" if block.card is None else f"NPU {block.card}"
    return card if block.chip is None else f"{card} chip {block.chip}"


def _chip(block: Block) -> tuple[tuple[int, int], ...]:
    return () if block.card is None else ((block.card, block.chip or 0),)


def _share(device: Device) -> float:
    pool = device.memory
    return 0.0 if pool is None or pool.used is None else pool.used / pool.total


def _number(block: Block, *keys: str) -> float | None:
    """The first of these keys whose value is a number."""
    for key in keys:
        value = block.values.get(key, "")
        if value.replace(".", "", 1).isdigit():
            return float(value)
    return None
