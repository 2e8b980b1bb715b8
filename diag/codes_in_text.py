"""Every code a text names, decoded: `codes_in("... runtime result = 507018")`.

Numbers count only where the text says that they are results; a pid of 107001 is no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from diag import code_tables
from diag.error_code import Explanation, explain
from diag.libc_messages import in_english
from npu import errors


@dataclass(frozen=True, slots=True)
class Code:
    """A code as the text writes it. form: acl, family, torch, inner, retcode, hccl or dcmi. Texts by language."""

    form: str
    written: str
    code: str
    name: str
    meaning: dict[str, str]

    @property
    def number(self) -> int:
        """The acl number, 0 for other forms."""
        return int(self.code) if self.form == "acl" else 0


_RESULT = re.compile(
    r"(?i)(?:\b(?:error ?code|err_?code|ret(?:urn)?(?: ?code)?|runtime result|ge result|result|status|failed|failure|error|no"
    r"|code|acl|acl(?:rt|mdl|op|nn|Init|Finalize)\w*(?:\([^()]*\))?)(?:\b|(?<=\)))"
    r"(?: is| was| ?no)?\s*[:=,(\[>：，（-]*\s*\"?)(?P<code>\d{6})(?!\d|[.:-]\d)"
)
_HEX = re.compile(r"\b0x(?P<code>[0-9A-Fa-f]{5})\b")
_INNER = re.compile(r"\b(?:0x0?(?P<hex>7[0-2][0-9A-Fa-f]{5})|(?P<decimal>11[789]\d{6}))\b")
_FAMILY = re.compile(r"(?<![A-Za-z0-9_])(?P<code>[EW][0-9A-Z]\d{4})(?![A-Za-z0-9_])")
_TORCH = re.compile(r"\b(?P<code>ERR\d{5})\b")
_RETCODE = re.compile(r"(?:retCode|errorCode)=(?P<code>0x[0-9a-fA-F]{2})\b")
_HCCL = re.compile(r"(?:HCCL function error: .*?error code is|hcclRet ?->|Hccl\w+ .{0,40}ret ?[=\[]) ?(?P<code>\d{1,2})\b")
_ERR_NO = re.compile(r"errNo ?\[0x(?P<hex>[0-9A-Fa-f]{16})\]")
_DCMI = re.compile(r"ret(?: code)?(?: is|[:=])? ?(?P<code>-[89]\d{3})\b")


def codes_in(text: str) -> list[Code]:
    """Codes in the order of their forms, each once."""
    found: dict[tuple[str, str], Code] = {}
    for code in _all(in_english(text)):
        found.setdefault((code.form, code.code), code)
    return list(found.values())


def _all(text: str) -> Iterator[Code]:
    known = _public()
    for match in _RESULT.finditer(text):
        if int(match["code"]) in known:
            yield acl(int(match["code"]), match["code"])
    for match in _HEX.finditer(text):
        if int(match["code"], 16) in known:
            yield acl(int(match["code"], 16), match[0])
    for match in _INNER.finditer(text):
        number = int(match["hex"], 16) if match["hex"] else int(match["decimal"])
        entry = code_tables.inner(number)
        if entry is not None:
            yield Code("inner", match[0], hex(number), entry.name, _with_public(entry))
    for match in _ERR_NO.finditer(text):
        entry = code_tables.hccl_number(int(match["hex"], 16))
        if entry is not None:
            yield Code("hccl", match[0], entry.code, entry.name, entry.meaning)
    yield from _familiar(text)
    for form, pattern in (("retcode", _RETCODE), ("hccl", _HCCL), ("dcmi", _DCMI)):
        for match in pattern.finditer(text):
            entry = code_tables.other(form, match["code"])
            if entry is not None:
                yield Code(form, match["code"], match["code"], entry.name, _with_public(entry))


def _familiar(text: str) -> Iterator[Code]:
    for match in _FAMILY.finditer(text):
        entry = code_tables.family(match["code"])
        if entry is not None and not (entry.is_group and match["code"][2:] not in ("9999", "8888")):
            yield Code("family", match["code"], match["code"], entry.component["en"], entry.meaning)
    for match in _TORCH.finditer(text):
        entry = code_tables.families().get(match["code"])
        if entry is not None:
            yield Code("torch", match["code"], match["code"], entry.component["en"], entry.meaning)


def acl(number: int, written: str) -> Code:
    """A public acl number with the header's name and meaning."""
    entry = explain(str(number))
    if not isinstance(entry, Explanation):
        raise KeyError(number)
    return Code("acl", written, str(number), entry.names[-1], entry.meaning)


@cache
def _public() -> frozenset[int]:
    return frozenset(c.code for c in errors.codes() if c.code)


def _with_public(entry: code_tables.Other) -> dict[str, str]:
    if not entry.public:
        return entry.meaning
    return {
        "en": f"{entry.meaning['en']} (acl reports {entry.public})",
        "zh": f"{entry.meaning['zh']}（acl 报告 {entry.public}）",
    }
