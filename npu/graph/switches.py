"""The fusion switch file: lines "PassName:off", or JSON {"Switch": {"GraphFusion": {...}, "UBFusion": {...}}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npu.graph.errors import AtcError

SECTIONS = {"GraphFusion": "graph_fusion", "UBFusion": "ub_fusion"}
EVERY = "ALL"
FORM = '{"Switch": {"GraphFusion": {...}, "UBFusion": {...}}}'


@dataclass(frozen=True)
class Switches:
    """kind of fusion -> name -> on. A name of the text form counts for both kinds."""

    given: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    def on(self, name: str, kind: str, switchable: bool = True) -> bool:
        """A pass's own entry decides; else ALL, for switchable passes; else it is on."""
        section = self.given.get(kind, {})
        if name in section:
            return section[name]
        return section.get(EVERY, True) or not switchable

    def names(self) -> list[str]:
        """Every pass name written in the file, in its order."""
        return list(dict.fromkeys(n for section in self.given.values() for n in section if n != EVERY))


def read_switches(path: Path) -> Switches:
    """The switches of a file. AtcError E21001 when it cannot be read, E21002 when a line or entry is malformed."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AtcError("E21001", file_name=path, more=(str(error.strerror),)) from error
    except UnicodeDecodeError as error:
        raise AtcError("E21002", file_name=path, reason="it is no text file") from error
    return _json(text, path) if text.lstrip().startswith("{") else _lines(text, path)


def _state(word: object, name: str, path: Path) -> bool:
    if word not in ("on", "off"):
        raise AtcError("E21002", file_name=path, reason=f"the switch of {name} is {word!r}, neither on nor off")
    return word == "on"


def _lines(text: str, path: Path) -> Switches:
    found: dict[str, bool] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, word = (p.strip() for p in line.partition(":"))
        if not colon or not name:
            raise AtcError("E21002", file_name=path, reason=f"line {number} is not of the form PassName:on or PassName:off")
        found[name] = _state(word, name, path)
    return Switches(dict.fromkeys(SECTIONS.values(), found))


def _json(text: str, path: Path) -> Switches:
    try:
        switch = json.loads(text)["Switch"]
        sections = {kind: dict(switch.get(title, {})) for title, kind in SECTIONS.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AtcError("E21002", file_name=path, reason=f"not of the form {FORM}: {error}") from error
    return Switches(
        {kind: {name: _state(word, name, path) for name, word in section.items()} for kind, section in sections.items()}
    )
