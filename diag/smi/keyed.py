"""Key lines: `info -t TYPE` and `info -l`. A block is one chip's; its chip id may stand before or behind it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from diag.smi.records import Block, Process, SmiText

LINE = re.compile(r"^\s*(?P<key>[A-Za-z][^:|]{0,59}?|)(?:\s+:\s?|(?<=ID):)(?P<value>.*)$")
PROCESS = re.compile(r"Process id:\s*(\d+)\s+Process name:(.*?)\s*Process memory\(MB\):\s*(\d+)")
NO_PROCESS = "No process in device"
HEAD = ("NPU ID", "Chip Count", "Total Count", "Card Count", "NPU Name")

Lines = list[tuple[str, str]]


@cache
def types() -> tuple[tuple[str, str], ...]:
    """(type, a key only it has), the more telling keys first."""
    text = resources.files("diag").joinpath("data/smi_types.csv").read_text(encoding="utf-8")
    return tuple((r["type"], r["keys"]) for r in csv.DictReader(text.splitlines()))


def read(lines: Sequence[str]) -> SmiText | None:
    """The key lines among these, None unless a type is recognised by its keys."""
    paragraphs = [paragraph for paragraph in _paragraphs(lines) if paragraph]
    keys = {key for paragraph in paragraphs for key, _ in paragraph}
    processes_told = any(PROCESS.search(line) or NO_PROCESS in line for line in lines)
    kind = "proc-mem" if processes_told else next((name for name, key in types() if key in keys), "")
    if not kind:
        return None
    blocks = tuple(_blocks(paragraphs, listing=kind == "-l"))
    driver = next((b.values["Software Version"] for b in blocks if "Software Version" in b.values), "")
    return SmiText(
        kind=kind if kind == "-l" else f"-t {kind}",
        layout="PROC-MEM" if kind == "proc-mem" else "KV-30",
        driver=driver,
        processes=tuple(_processes(blocks)),
        blocks=blocks,
        process_table="shown" if processes_told else "not_shown",
        idle_cards=tuple(sorted({b.card for b in blocks if b.card is not None and NO_PROCESS in b.values})),
    )


def _paragraphs(lines: Sequence[str]) -> Iterator[Lines]:
    """Key lines between blank ones. A process of `proc-mem` and the line that there is none are kept whole, as keys."""
    made: Lines = []
    for line in lines:
        match = LINE.match(line)
        if not line.strip():
            yield made
            made = []
        elif PROCESS.search(line) or NO_PROCESS in line:
            made.append((NO_PROCESS if NO_PROCESS in line else line.strip(), ""))
        elif match is not None and not line.startswith(("|", "+")):
            made.append((match["key"], match["value"].strip()))
    yield made


def _blocks(paragraphs: list[Lines], listing: bool) -> Iterator[Block]:
    card: int | None = None
    for paragraph in paragraphs:
        for part in _parts(paragraph, listing):
            values = _values(part)
            written = values.get("NPU ID", "")
            card = int(written) if written.isdigit() else card
            if not values.keys() - set(HEAD) and not listing:
                continue
            chip = values.get("Chip ID", "")
            mcu = values.get("Chip Name", "").lower() == "mcu"
            yield Block(card, int(chip) if chip.isdigit() else None, mcu, values)


def _parts(lines: Lines, listing: bool) -> Iterator[Lines]:
    """A paragraph is one chip's block, unless blank lines were lost: then keys that come again open the next block.

    The chip id closes a block when it does not open the first one; the head of a card and the controller open one always.
    """
    openers = {"NPU ID", "Chip Name"} if not listing else {"NPU ID"}
    ids = [at for at, (key, _) in enumerate(lines) if key == "Chip ID"]
    head = next((at for at, (key, _) in enumerate(lines) if key not in HEAD), len(lines))
    closes = bool(ids) and ids[0] != head
    made: Lines = []
    for key, value in lines:
        known = {name for name, _ in made}
        opens = (key in openers and key in known) or (key == "Chip Name" and value.lower() == "mcu" and "NPU ID" in known)
        if made and (opens or (not closes and key == "Chip ID" and key in known)):
            yield made
            made = []
        made.append((key, value))
        if closes and key == "Chip ID" and len(ids) > 1:
            yield made
            made = []
    if made:
        yield made


def _values(lines: Lines) -> dict[str, str]:
    """Later lines with a blank key continue the value before them."""
    values: dict[str, str] = {}
    last = ""
    for key, value in lines:
        if key or not last:
            last = key
            values[key] = value
        else:
            values[last] += f"\n{value}"
    return values


def _processes(blocks: tuple[Block, ...]) -> Iterator[Process]:
    for block in blocks:
        for key in block.values:
            match = PROCESS.search(key)
            if match is not None:
                yield Process(block.card or 0, block.chip or 0, int(match[1]), match[2].strip(), int(match[3]), None)
