"""The records of a look at the devices as JSON, and as a few lines for people."""

from __future__ import annotations

import json
from typing import Any
from unicodedata import east_asian_width

from cli.terminal import Language, paint
from diag.smi.records import Device, Pool, Process, SmiText
from diag.smi_findings import find
from diag.smi_words import claim, steps, title

STYLE = {"critical": "red", "warning": "yellow", "note": "dim"}
HEADS = {
    Language.en: ("NPU", "chip", "name", "health", "power", "temp", "use", "memory", "processes"),
    Language.zh: ("NPU", "芯片", "型号", "健康", "功率", "温度", "利用率", "显存", "进程"),
}


def device(one: Device) -> dict[str, Any]:
    """null for what is not known; `states` says why by name."""
    return {
        "card": one.card,
        "chip": one.chip,
        "phy_id": one.phy_id,
        "logic_id": one.logic_id,
        "name": one.name,
        "health": one.health,
        "power_w": one.power_w,
        "temp_c": one.temp_c,
        "utilisation": one.utilisation,
        "utilisation_kind": one.utilisation_kind,
        "ddr_mb": _pool(one.ddr),
        "hbm_mb": _pool(one.hbm),
        "hugepages": _pool(one.hugepages),
        "bus_id": one.bus_id,
        "states": dict(one.states),
    }


def process(one: Process) -> dict[str, Any]:
    return {
        "card": one.card, "chip": one.chip, "pid": one.pid, "name": one.name, "memory_mb": one.memory_mb,
        "container_pid": one.container_pid, "capped": one.capped,
    }  # fmt: skip


def record(text: SmiText) -> dict[str, Any]:
    """Everything a text says; fields it does not have are empty."""
    error = text.error
    return {
        "schema": 1,
        "tool": "npu-smi parse",
        "kind": text.kind,
        "layout": text.layout or None,
        "tool_version": text.tool or None,
        "driver": text.driver or None,
        "devices": [device(one) for one in text.devices],
        "processes": [process(one) for one in text.processes],
        "process_table": text.process_table,
        "idle_cards": list(text.idle_cards),
        "driver_incomplete": text.driver_incomplete,
        "cut": text.cut or None,
        "error": None
        if error is None
        else {"cause": error.cause, "codes": list(error.codes), "status": error.status, "lines": list(error.lines)},
        "blocks": [{"card": b.card, "chip": b.chip, "mcu": b.mcu, "values": dict(b.values)} for b in text.blocks],
        "mapping": [row._asdict() for row in text.mapping],
        "samples": [{"card": s.card, "chip": s.chip, "values": dict(s.values)} for s in text.samples],
        "topology": None
        if text.topology is None
        else {"links": {k: list(v) for k, v in text.topology.links.items()}, "affinity": dict(text.topology.affinity)},
    }


def as_json(text: SmiText) -> str:
    return json.dumps(record(text), ensure_ascii=False, indent=2)


def lines(text: SmiText, lang: Language) -> list[str]:
    """The devices one a line, the key forms as they were, then what was found."""
    heading = "  ".join(word for word in (text.kind, text.layout, text.driver and f"driver {text.driver}") if word)
    made = [] if text.kind == "failure" else [heading]
    if text.devices:
        rows = [HEADS[lang], *(_row(one, text) for one in text.devices)]
        widths = [max(_columns(row[at]) for row in rows) for at in range(len(HEADS[lang]))]
        made += ["  ".join(c + " " * (w - _columns(c)) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    for block in text.blocks:
        place = " ".join(f"{name} {value}" for name, value in (("NPU", block.card), ("chip", block.chip)) if value is not None)
        made.append(f"{place}{' (mcu)' if block.mcu else ''}:")
        made += [f"  {name}: {value}" for name, value in block.values.items() if value]
    made += [f"NPU {row.card} chip {row.chip}: logic id {row.logic_id}, {row.name}" for row in text.mapping]
    return made + finding_lines(text, lang)


def finding_lines(text: SmiText, lang: Language) -> list[str]:
    """Each finding with what to do."""
    made = []
    for finding in find(text):
        made.append(paint(title(finding, lang), STYLE[finding.severity]))
        made.append(f"  {claim(finding, lang)}")
        made += [f"  {number}. {step}" for number, step in enumerate(steps(finding, lang), 1)]
    return made


def _row(one: Device, text: SmiText) -> tuple[str, ...]:
    pool = one.memory
    held = sum(1 for p in text.processes if (p.card, p.chip) == (one.card, one.chip))
    known = "-" if pool is None else f"{'?' if pool.used is None else pool.used}/{pool.total} MB"
    shown = "?" if text.process_table != "shown" else str(held)
    return (
        str(one.card), str(one.chip), one.name, one.health or "?", _or(one.power_w, " W"), _or(one.temp_c, " C"),
        _or(one.utilisation, " %"), known, shown,
    )  # fmt: skip


def _columns(text: str) -> int:
    """Places on the screen: Chinese letters take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _or(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value}{unit}"


def _pool(pool: Pool | None) -> dict[str, int | None] | None:
    return None if pool is None else {"used": pool.used, "total": pool.total}
