"""Codes beside the public acl numbers: error-manager codes (EI0006, E10016 ...), torch_npu's ERR numbers, the runtime's inner
numbers, device return codes, results of HCCL and of DCMI. Each table is a CSV file under diag/data.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

HCCL_PARTS = (0, *range(0x0500, 0x0504))  # module and part of HCCL's errNo: hccl, hcom, cltm, custom_op; 0 where it is bare


@dataclass(frozen=True, slots=True)
class Family:
    """An error-manager or torch_npu code. Texts by language; cause and action are empty where no public source says them."""

    code: str
    component: dict[str, str]
    meaning: dict[str, str]
    cause: dict[str, str]
    action: dict[str, str]
    source: str

    @property
    def is_group(self) -> bool:
        """A whole range (E1xxxx) rather than one code."""
        return "x" in self.code or self.code.startswith("*")


@dataclass(frozen=True, slots=True)
class Other:
    """A number of another table. form: inner, retcode, hccl or dcmi; public: the acl code it becomes, "" where none.

    advice: id of the log cause whose steps help, "" where those of the public code do.
    """

    form: str
    code: str
    name: str
    public: str
    advice: str
    meaning: dict[str, str]


@cache
def families() -> dict[str, Family]:
    """Code -> family entry, in the file's order; ranges such as E1xxxx have entries of their own."""
    chinese = {r["en"]: r["zh"] for r in _rows("error_families_zh.csv")}

    def both(text: str) -> dict[str, str]:
        head, cut, rest = text.partition(" (reports ")  # what the message carries: names of fields, alike in both languages
        return {"en": text, "zh": _translated(head, chinese) + (f"（消息含 {rest[:-1]}）" if cut else "")}

    return {
        r["code"]: Family(
            r["code"],
            both(r["component"]),
            both(r["meaning"]),
            both(r["typical cause"]),
            both(r["action"]),
            r["source"],
        )
        for r in _rows("error_families.csv")
    }


def _translated(text: str, words: dict[str, str]) -> str:
    """A phrase, or its parts at "; " and ": ". A part without a translation stays English."""
    if text in words:
        return words[text]
    for mark, chinese in (("; ", "；"), (": ", "：")):
        head, found, rest = text.partition(mark)
        if found:
            return _translated(head, words) + chinese + _translated(rest, words)
    return text


def family(code: str) -> Family | None:
    """The entry of a code, else of the range it lies in (E1xxxx), else None."""
    known = families()
    if code in known:
        return known[code]
    if code[2:] in ("9999", "8888"):
        return known["*" + code[2:]]
    return next((entry for name, entry in known.items() if code[:2] + "xxxx" in name), None)


@cache
def others() -> dict[tuple[str, str], Other]:
    """(form, code) -> entry. Hexadecimal codes in lower case with 0x and no leading zeros."""
    return {
        (r["form"], _plain(r["code"])): Other(
            r["form"], r["code"], r["name"], r["public"], r["advice"], {"en": r["en"], "zh": r["zh"]}
        )
        for r in _rows("other_codes.csv")
    }


def other(form: str, code: str) -> Other | None:
    return others().get((form, _plain(code)))


def inner(number: int) -> Other | None:
    """The runtime's own number (0x7020016 or 117571606) as its public meaning, None if it is none that is known."""
    return others().get(("inner", hex(number)))


def hccl_number(number: int) -> Other | None:
    """errNo[0x..] of HCCL's log as its result. HCCL's own headers (log.h, HCCL_ERROR_CODE): the result in bits 0 to 15, above it
    the part of HCCL that says so (0 hccl, 1 hcom, 2 cltm, 3 custom_op) and the module (5); newer parts write the bare result.
    None for others."""
    return other("hccl", str(number & 0xFFFF)) if number >> 16 in HCCL_PARTS else None


def _plain(code: str) -> str:
    return hex(int(code, 16)) if code.lower().startswith("0x") else code


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("diag").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
