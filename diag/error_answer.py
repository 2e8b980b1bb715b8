"""What `npu-diag error` answers: the first of MATCHERS that knows the text.

Public acl codes and names come first, then codes of other tables (EI0006, ERR00100, 0x7020023, retCode 0x26, HCCL and DCMI
results), then pasted messages, which are read as a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diag import code_tables
from diag.codes_in_text import codes_in
from diag.error_code import Explanation, NotFound, explain
from diag.log_report import LogReport, read_text
from diag.log_rules import Cause, by_family, causes
from diag.log_text import plain_steps

INNER_CODE = re.compile(
    r"(?i)(?:(?:inner|ret|return)\W?code\W*|error\W*)?(?:0x0?(?P<hex>7[0-2][0-9a-f]{5})|(?P<decimal>11[789]\d{6}))"
)
RET_CODE = re.compile(r"(?i)(?:ret\W?code\W*|errorcode\W*)?(?P<code>0x[0-9a-f]{2})")
ERR_NO = re.compile(r"(?i)(?:err_?no\W*)?0x(?P<hex>[0-9a-f]{16})\W*")
HCCL_CODE = re.compile(r"(?i)(?:hccl\w*\W*(?:ret\w*|error|code|result|is|\W)*)?(?P<code>\d{1,2})")
DCMI_CODE = re.compile(r"(?i)(?:ret(?: is)?\W*|dcmi\W*)?(?P<code>-[89]\d{3})")


@dataclass(frozen=True, slots=True)
class Entry:
    """A code of another table. public: the acl code it becomes, "" where none. Texts and steps by language."""

    form: str
    code: str
    name: Mapping[str, str]
    public: str
    meaning: Mapping[str, str]
    cause: Mapping[str, str]
    do: Mapping[str, tuple[str, ...]]
    commands: tuple[str, ...]
    source: str


Answer = Explanation | Entry | LogReport | NotFound


def answer(text: str) -> Answer:
    """The explanation of a code, a name, or any text that holds some; NotFound with near ones for the rest."""
    asked = text.strip().strip("\"'`.,;:()[]")
    for matcher in MATCHERS:
        found = matcher(asked)
        if found is not None:
            return found
    return explain(text)


def by_public(asked: str) -> Explanation | None:
    found = explain(asked)
    return found if isinstance(found, Explanation) else None


def by_family_code(asked: str) -> Entry | None:
    """EI0006, EE9999, W40010, ERR00100 in any case; a code of a known range that has no entry of its own is none."""
    code = asked.upper()
    entry = code_tables.families().get(code)
    if entry is None and re.fullmatch(r"[EW][0-9A-Z](?:9999|8888)", code):
        entry = code_tables.family(code)
    if entry is None or "x" in code:
        return None
    cause = causes().get(by_family().get(code, ""))
    told = entry.cause if entry.cause["en"] and not entry.cause["en"].startswith("see the values") else {}
    if cause is not None and cause.kind != "after":
        do, commands = _steps(cause), _commands(cause)
    else:
        do, commands = {k: (v,) for k, v in entry.action.items() if v}, ()
    return Entry("family", code, entry.component, "", entry.meaning, told, do, commands, entry.source)


def by_inner(asked: str) -> Entry | None:
    """0x7020023, InnerCode=0x07020023, 117571619: the runtime's own numbers."""
    match = INNER_CODE.fullmatch(asked)
    if match is None:
        return None
    entry = code_tables.inner(int(match["hex"], 16) if match["hex"] else int(match["decimal"]))
    return None if entry is None else _of_other(entry)


def by_ret_code(asked: str) -> Entry | None:
    """0x26, retCode=0x2a: what the device's scheduler returned for a kernel."""
    match = RET_CODE.fullmatch(asked)
    entry = code_tables.other("retcode", match["code"]) if match is not None else None
    return None if entry is None else _of_other(entry)


def by_hccl(asked: str) -> Entry | None:
    """9, hccl 9, hcclRet -> 19, HCCL_E_TIMEOUT, errNo[0x0000000005010009]."""
    match = HCCL_CODE.fullmatch(asked)
    number = ERR_NO.fullmatch(asked)
    if number is not None:
        entry = code_tables.hccl_number(int(number["hex"], 16))
    elif match is not None:
        entry = code_tables.other("hccl", match["code"])
    else:
        wanted = re.sub(r"[\s-]+", "_", asked).upper()
        entry = next((e for e in code_tables.others().values() if e.form == "hccl" and e.name == wanted), None)
    return None if entry is None else _of_other(entry)


def by_dcmi(asked: str) -> Entry | None:
    """-8020, ret is -8005: what the device tool's library returned; -9020 is the same offset of the tool itself."""
    match = DCMI_CODE.fullmatch(asked)
    entry = code_tables.other("dcmi", "-8" + match["code"][2:]) if match is not None else None
    return None if entry is None else _of_other(entry)


def by_pasted_text(asked: str) -> Explanation | LogReport | None:
    """A message that the log rules know; else the one public code it holds."""
    report = read_text(asked, "message")
    sure = report.cause is not None and report.cause.cause not in (
        "unknown_error",
        "python_exception",
        "follows",
        "unmapped_code",
    )
    if sure or (report.notes and report.cause is None):
        return report
    held = [c for c in codes_in(asked) if c.form == "acl"] or [
        c for w in re.findall(r"\b\d{6}\b", asked) for c in codes_in(f"code {w}")
    ]
    found = explain(held[0].code) if held else None
    return found if isinstance(found, Explanation) else None


MATCHERS: tuple[Callable[[str], Explanation | Entry | LogReport | None], ...] = (
    by_public, by_family_code, by_inner, by_ret_code, by_dcmi, by_hccl, by_pasted_text,
)  # fmt: skip


def _of_other(entry: code_tables.Other) -> Entry:
    public, name = explain(entry.public) if entry.public else None, {"en": entry.name, "zh": entry.name}
    if isinstance(public, Explanation):
        return Entry(entry.form, entry.code, name, entry.public, entry.meaning, public.cause, public.do, public.commands, "")
    cause = causes().get(entry.advice)
    steps, commands = (_steps(cause), _commands(cause)) if cause is not None else ({}, ())
    return Entry(entry.form, entry.code, name, "", entry.meaning, {}, steps, commands, "")


def _steps(cause: Cause) -> dict[str, tuple[str, ...]]:
    return {language: plain_steps(steps) for language, steps in cause.do.items()}


def _commands(cause: Cause) -> tuple[str, ...]:
    return plain_steps(cause.commands)
