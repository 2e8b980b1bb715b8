"""Arithmetic on what a line tells: which kind of out-of-memory it is, what the error bits of a core mean, ranges of ids.

Each function takes a cause and the facts of its line and gives the cause they really speak for and more facts.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from diag import code_tables
from npu.units import parse_size, size

Facts = dict[str, str]

# A process holds memory the allocator does not count: context, HCCL buffers, captured graphs; up to some GiB. More than this
# share of the card outside this process's reserve cannot be its own.
OTHERS_SHARE = 0.2
LONGEST_KERNEL = 16 << 20  # bytes; a distance beyond the start of a kernel's code that is larger is none


def npu_oom(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """The allocator's own figures: others = total - free - reserved, slack = reserved - allocated.

    Others hold the card when their part is over OTHERS_SHARE of it; it is fragmentation when the slack alone would do.
    """
    told = dict(facts)
    needed = ("allocate", "total", "free", "reserved", "allocated")
    if any(name not in told for name in needed):
        return cause, told
    try:
        allocate, total, free, reserved, allocated = (parse_size(told[name]) for name in needed)
    except ValueError:
        return cause, told
    others, slack = max(0, total - free - reserved), max(0, reserved - allocated)
    told |= {"others": size(others), "slack": size(slack)}
    if others > OTHERS_SHARE * total:
        return "memory_held_by_others", told
    return ("memory_fragmented" if slack >= allocate else cause), told


def core_bits(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """Names the bits of a core's error code and how far into the kernel it stopped (current - pc start)."""
    told = dict(facts)
    words = [w.strip() for w in told.get("errcode_tuple", "").split(",")] if "errcode_tuple" in told else []
    if not words and "error_code" in told:
        words = [told["error_code"]]
    for fact, language in (("bits", "en"), ("bits_zh", "zh")):
        named = [text for index, word in enumerate(words) for text in _bits(index, _number(word), language)]
        if named:
            told[fact] = "; ".join(named)
    start, stop = _number(told.pop("pc_start", "")), _number(told.pop("pc", ""))
    if start and 0 <= stop - start < LONGEST_KERNEL:
        told["pc_offset"] = hex(stop - start)
    return cause, told


def _bits(word: int, value: int, language: str) -> list[str]:
    known = [(int(r["mask"], 16), r[language]) for r in _core_bits() if int(r["word"]) == word]
    bit = {"en": "error code bit {}: {}", "zh": "错误码第 {} 位：{}"}[language]
    named = [bit.format(mask.bit_length() - 1, text) for mask, text in known if value & mask]
    rest = value & ~sum(mask for mask, _ in known if value & mask)
    if rest and value.bit_length() <= 64:
        numbers = [str(i) for i in range(64) if rest >> i & 1]
        told = {"en": "error code {}, bit{} {}", "zh": "错误码 {0}，第 {2} 位"}[language]
        named.append(told.format(hex(value), "s" if len(numbers) > 1 else "", ", ".join(numbers)))
    return named


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0


def id_range(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """last = high - 1: the log writes half-open ranges, people count the last one."""
    told = dict(facts)
    if told.get("high", "").isdigit():
        told["low"] = told.get("low", "0")
        told["last"] = str(int(told["high"]) - 1)
    return cause, told


def inner_code(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """What the runtime's own number says (0x7020014)."""
    told = dict(facts)
    entry = code_tables.inner(_number(told.get("inner", "")))
    if entry is not None:
        told |= {"inner_meaning": entry.meaning["en"], "inner_meaning_zh": entry.meaning["zh"]}
    return cause, told


def symbol(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """The readable name of a missing symbol."""
    return cause, dict(facts) | ({"name": symbol_name(facts["symbol"])} if "symbol" in facts else {})


def symbol_name(mangled: str) -> str:
    """_ZN3atb15CreateOperationINS_... -> atb::CreateOperation: the nested name of an Itanium-mangled symbol, else the symbol."""
    if not mangled.startswith("_ZN"):
        return mangled
    parts, at = [], 3
    while at < len(mangled) and mangled[at] in "KVrR":
        at += 1
    while at < len(mangled) and mangled[at].isdigit():
        end = at
        while end < len(mangled) and mangled[end].isdigit():
            end += 1
        length = int(mangled[at:end])
        if not length or end + length > len(mangled):
            break
        parts.append(mangled[end : end + length])
        at = end + length
    return "::".join(parts) or mangled


@cache
def _core_bits() -> tuple[dict[str, str], ...]:
    text = resources.files("diag").joinpath("data/core_bits.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def hccl_result(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """The result of HCCL inside its errNo, with its name."""
    told = dict(facts)
    entry = code_tables.hccl_number(_number(told.pop("err_no", "")))
    if entry is not None:
        told["hccl_code"] = f"{entry.code} ({entry.name})"
    return cause, told


def whole_seconds(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """A limit written in milliseconds, in the seconds that the texts speak of."""
    told = dict(facts)
    written = told.pop("timeout_ms", "")
    if written.isdigit():
        told["timeout_s"] = f"{int(written) / 1000:g}"
    return cause, told


STEPS: tuple[Callable[[str, Mapping[str, str]], tuple[str, Facts]], ...] = (
    npu_oom, core_bits, id_range, inner_code, symbol, hccl_result, whole_seconds,
)  # fmt: skip


def enriched(cause: str, facts: Mapping[str, str]) -> tuple[str, Facts]:
    """(cause, facts) after every step that finds its facts there."""
    told = dict(facts)
    for step in STEPS:
        cause, told = step(cause, told)
    return cause, told
