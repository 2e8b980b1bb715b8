"""--precision_mode: in which type every unit of a model reads and writes what the model holds as float32.

The modes are rows of precision_modes.csv: the type that stands for float32 (half), and the rule that says where.
  all     everywhere
  none    nowhere
  cube    products and convolutions read half and write float32
  needed  products and convolutions of chips whose cube unit knows no float32
  lists   by operator type (mixlist.csv and --modify_mixlist): white ones, never black ones, the others as what they read
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from npu.graph.errors import AtcError
from npu.graph.kernels import Unit
from npu.graph.lowering import CUBE, Lowering, lower_unit
from npu.ops.node import Operand
from npu.soc import Soc

FLOAT = "float32"
AIPP = "Aipp"  # preprocessing writes float16 whatever the mode is
LISTS = ("white", "black", "gray")
HEAVY = (*CUBE, "depthwise")
LIST_FORM = '{"black-list": {"to-add": [...], "to-remove": [...]}, "white-list": {...}, "gray-list": {...}}'


@dataclass(frozen=True, slots=True)
class Mode:
    """One row of the table. name: the value of --precision_mode that means the same."""

    name: str
    half: str
    rule: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The types a unit's float32 operands are read and written in."""

    reads: str = FLOAT
    writes: str = FLOAT


@dataclass(frozen=True)
class Precision:
    """A mode with the lists that go with it. lists: operator type -> white | black | gray; kept: names of nodes, or
    OpType::type, that stay as the model says."""

    mode: Mode
    lists: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


@cache
def modes(option: str) -> dict[str, Mode]:
    """The values an option (precision_mode | precision_mode_v2) takes."""
    rows = csv.DictReader(resources.files("npu.graph").joinpath("precision_modes.csv").read_text(encoding="utf-8").splitlines())
    return {r["value"]: Mode(r["mode"], r["half"], r["rule"]) for r in rows if r["option"] == option}


@cache
def built_in() -> dict[str, str]:
    """Operator type -> list. Which operators the real tool lists is not public: see the notes of the table."""
    rows = csv.DictReader(resources.files("npu.graph").joinpath("mixlist.csv").read_text(encoding="utf-8").splitlines())
    return {r["op_type"]: r["list"] for r in rows}


def precision(name: str, chip: Soc, mixlist: Path | None = None, keep: Path | None = None) -> Precision:
    """The precision of a conversion. AtcError E10001 for a type the chip lacks, E21001 and E21002 for unusable files."""
    mode = modes("precision_mode")[name]
    if mode.half == "bfloat16" and not chip.split:
        raise AtcError("E10001", value=name, parameter="--precision_mode", reason=f"{chip.name} has no bfloat16.")
    lists = dict(built_in()) if mode.rule == "lists" else {}
    if mixlist is not None:
        lists = modified(lists, mixlist)
    return Precision(mode, lists, kept_names(keep) if keep is not None else frozenset())


def modified(lists: Mapping[str, str], path: Path) -> dict[str, str]:
    """The lists with the changes of a --modify_mixlist file."""
    made = dict(lists)
    try:
        found = json.loads(_text(path))
        for title, change in found.items():
            name = title.removesuffix("-list")
            if name not in LISTS or not title.endswith("-list") or not set(change) <= {"to-add", "to-remove"}:
                raise ValueError(f"entry {title!r}")
            for op_type in change.get("to-remove", ()):
                if made.get(str(op_type), "gray") == name:
                    made[str(op_type)] = "gray"
        for title, change in found.items():
            made |= dict.fromkeys(map(str, change.get("to-add", ())), title.removesuffix("-list"))
    except (ValueError, TypeError, AttributeError) as error:
        raise AtcError("E21002", file_name=path, reason=f"not of the form {LIST_FORM}: {error}") from error
    return made


def kept_names(path: Path) -> frozenset[str]:
    """The lines of a --keep_dtype file: names of nodes, or OpType::type for all of a type."""
    return frozenset(line.strip() for line in _text(path).splitlines() if line.strip())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise AtcError("E21001", file_name=path, more=(str(error.strerror),)) from error
    except UnicodeDecodeError as error:
        raise AtcError("E21002", file_name=path, reason="it is no text file") from error


def working(value: Operand, dtype: str) -> Operand:
    """The operand with float32 replaced by the type the device works in."""
    return value.held(dtype) if dtype != FLOAT and value.dtype == FLOAT else value


def seen(unit: Unit, types: Mapping[str, Operand], choice: Choice) -> dict[str, Operand]:
    """The operands of a unit's nodes as the device holds them: what comes in as it is read, the rest as it is written."""
    made = {o: working(types[o], choice.writes) for n in unit.nodes for o in (*n.input, *n.output) if o in types}
    return made | {i: working(types[i], choice.reads) for i in unit.inputs if i in types}


def assign(
    units: Sequence[Unit], types: Mapping[str, Operand], wanted: Precision, chip: Soc
) -> tuple[list[Choice], dict[str, str]]:
    """The choice of each unit, in order, and the type each float32 value that a unit makes is held in."""
    held: dict[str, str] = {}
    choices = []
    for unit in units:
        choice = _choice(unit, types, wanted, chip, held)
        choices.append(choice)
        held |= {o: choice.writes for o in unit.outputs if o in types and types[o].dtype == FLOAT}
    return choices, held


def _choice(unit: Unit, types: Mapping[str, Operand], wanted: Precision, chip: Soc, held: Mapping[str, str]) -> Choice:
    mode = wanted.mode
    if unit.members.kernel == AIPP:
        return Choice(writes="float16")
    if mode.rule == "none":
        return _alike(unit, types, held) if _moves(unit, types, held) else Choice()
    if mode.rule == "all" and not wanted.kept:
        return Choice(mode.half, mode.half)
    made = lower_unit(unit, types)
    if made is None or not made.lowered.computes:
        return _alike(unit, types, held)
    if _is_kept(unit, made, wanted.kept):
        return Choice()
    heavy = made.lowered.work.form in HEAVY
    if mode.rule == "cube":
        return Choice(mode.half) if heavy else Choice()
    if mode.rule == "needed":
        return Choice(mode.half, mode.half) if heavy and not chip.split else Choice()
    if mode.rule == "all":
        return Choice(mode.half, mode.half)
    listed = wanted.lists.get(made.lowered.op_type, "gray")
    if listed == "gray":
        return _alike(unit, types, held)
    return Choice(mode.half, mode.half) if listed == "white" else Choice()


def _moves(unit: Unit, types: Mapping[str, Operand], held: Mapping[str, str]) -> bool:
    """True for a unit that only passes on what is held in half."""
    if all(held.get(i, FLOAT) == FLOAT for i in unit.inputs):
        return False
    made = lower_unit(unit, types)
    return made is None or not made.lowered.computes


def _is_kept(unit: Unit, made: Lowering, kept: frozenset[str]) -> bool:
    names = {made.lowered.op_type, *(n.op_type for n in unit.nodes)}
    return any(n.name in kept for n in unit.nodes) or any(f"OpType::{n}" in kept for n in names)


def _alike(unit: Unit, types: Mapping[str, Operand], held: Mapping[str, str]) -> Choice:
    """The type of what it reads: half only where all of that is half."""
    found = {held.get(i, FLOAT) for i in unit.inputs if i in types and types[i].dtype == FLOAT and not types[i].constant}
    only = found.pop() if len(found) == 1 else FLOAT
    return Choice(only, only)
