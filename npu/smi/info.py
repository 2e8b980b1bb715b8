"""`npu-smi info ...`: the form the arguments ask for, or the tool's refusal. A snapshot in, text and return code out."""

from __future__ import annotations

from typing import NamedTuple

from npu.driver.door import Snapshot
from npu.smi import failures, helps, lists, place
from npu.smi.asked import Asked, Write
from npu.smi.types import board, common, ecc, figures, health, memory, phyid_remap, proc_mem, topo, usages

Answer = tuple[str, int]  # text for stdout, return code of the real tool

# Types there is a writer for; the others of helps.INFO_TYPES are answered as a device answers that has not got them.
TYPES: dict[str, Write] = {
    "board": board.board,
    "common": common.common,
    "usages": usages.usages,
    "memory": memory.memory,
    "health": health.health,
    "ecc": ecc.ecc,
    "ecc-enable": ecc.ecc_enable,
    "product": board.product,
    "temp": figures.temp,
    "power": figures.power,
    "volt": figures.volt,
    "proc-mem": proc_mem.proc_mem,
    "phyid-remap": phyid_remap.phyid_remap,
    "topo": topo.topo,
}
WITHOUT_CARD = ("topo", "phyid-remap")  # all others need -i


class Wrong(Exception):
    """A command line the tool refuses: what it says before its help."""


class Options(NamedTuple):
    """Values of the options by name; kind: watch, proc, -h, -l, -m, -t or "" for plain info."""

    kind: str
    values: dict[str, str]


def options(words: list[str]) -> Options:
    """The words after `info`. Wrong for one the tool does not know or a value that is missing."""
    kind, values, at = "", {}, 0
    while at < len(words):
        word = words[at]
        if word in ("watch", "proc", "-h", "--help", "-l", "-m"):
            kind = kind or ("-h" if word == "--help" else word)
            at += 1
            continue
        if word not in ("-t", "-i", "-c", "-p", "-d", "-s") or at + 1 == len(words):
            raise Wrong(failures.wrong_parameter(word))
        kind = kind or ("-t" if word == "-t" else "")
        values[word] = words[at + 1]
        at += 2
    return Options(kind, values)


def answer(words: list[str], snapshot: Snapshot) -> Answer | None:
    """What the tool says to the words after `info`; None for its plain table, which is the caller's."""
    try:
        chosen = options(words)
        if chosen.kind == "-h":
            return helps.info(), 0
        if chosen.kind == "-l":
            return lists.listed(snapshot.devices), 0
        if chosen.kind == "-m":
            return lists.mapped(snapshot.devices), 0
        if chosen.kind == "proc":
            return failures.unsupported("proc info"), 0
        if chosen.kind == "-t":
            return _type(chosen.values, snapshot)
        if not chosen.values:
            return None
        raise Wrong(failures.wrong_parameter(next(iter(chosen.values))))
    except Wrong as refused:
        return f"{refused}{helps.info()}", failures.PARAMETER


def asked(values: dict[str, str], snapshot: Snapshot) -> Asked:
    """The devices that -i, -c and -p name. Wrong for ids there are none of."""
    card, chip, phy = (_number(values, name) for name in ("-i", "-c", "-p"))
    cards = dict(place.cards(snapshot.devices))
    if card is not None and card not in cards:
        raise Wrong(failures.no_such("card", "-i"))
    if chip is not None and place.family(snapshot.devices[0]) == place.NEWEST:
        raise Wrong("This device does not support input parameter of -c.\n")
    if chip is not None and (card is None or chip not in [place.chip(device) for device in cards[card]]):
        raise Wrong(failures.no_such("chip", "-c"))
    if phy is not None and phy not in [device.id for device in snapshot.devices]:
        raise Wrong(failures.wrong_parameter("-p"))
    return Asked(snapshot, card, chip, phy)


def _type(values: dict[str, str], snapshot: Snapshot) -> Answer:
    name = values["-t"]
    if not any(name in line for line in helps.INFO_TYPES):
        raise Wrong(failures.wrong_parameter("-t"))
    if not snapshot.devices:
        return lists.NO_CARD, 0
    wanted = asked(values, snapshot)
    if wanted.card is None and name not in WITHOUT_CARD:
        return failures.no_card_id(), failures.PARAMETER
    if name == "phyid-remap" and wanted.phy is None:
        raise Wrong(failures.wrong_parameter("-p"))
    write = TYPES.get(name)
    text = None if write is None else write(wanted)
    return (failures.unsupported(name) if text is None else text), 0


def _number(values: dict[str, str], name: str) -> int | None:
    written = values.get(name)
    if written is None:
        return None
    if not (written.isascii() and written.isdigit()):
        raise Wrong(failures.wrong_parameter(name))
    return int(written)
