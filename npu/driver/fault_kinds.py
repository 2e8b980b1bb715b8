"""The kinds of faults that can be planned: what sets each off, what it ends with, what it leaves for others to see. Facts are
data (data/faults.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

HEARTBEAT = "heartbeat-lost"
LogLine = tuple[str, str, str]  # level, module, text with facts in braces


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. See the head of data/faults.toml for the fields."""

    name: str
    when: str
    takes: tuple[str, ...]
    situation: str
    health: str
    event: str
    host: tuple[LogLine, ...]
    device_log: tuple[LogLine, ...]
    engines: frozenset[str] = frozenset()
    facts: Mapping[str, object] = field(default_factory=dict)
    hangs: bool = False
    factor: float = 1.0
    double_bits: int = 0
    isolated: int = 0


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name, in the order of the file."""
    text = resources.files("npu").joinpath("data/faults.toml").read_text(encoding="utf-8")
    return {name: _kind(name, row) for name, row in tomllib.loads(text).items()}


def _kind(name: str, row: dict[str, Any]) -> Kind:
    lines = {key: tuple((level, module, text) for level, module, text in row[key]) for key in ("host", "device_log")}
    return Kind(
        name,
        row["when"],
        tuple(row["takes"]),
        row.get("situation", ""),
        row["health"],
        row["event"],
        lines["host"],
        lines["device_log"],
        frozenset(row.get("engines", ())),
        row.get("facts", {}),
        row.get("hangs", False),
        row.get("factor", 1.0),
        row.get("double_bits", 0),
        row.get("isolated", 0),
    )
