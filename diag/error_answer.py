"""What `npu-diag error` answers: the first of MATCHERS that knows the text.

Public acl codes and names come first, then codes of other tables (EI0006, ERR00100, 0x7020023, retCode 0x26, HCCL and DCMI
results, and those around CANN in diag/error_around.py), then pasted messages, which are read as a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from diag import code_tables
from diag.codes_in_text import codes_in
from diag.error_around import (
    by_core_bits,
    by_driver,
    by_fault,
    by_graph_engine,
    by_group,
    by_system,
    by_torch_words,
)
from diag.error_code import Explanation, NotFound, explain
from diag.error_entry import Entry, advice, of_other
from diag.libc_messages import in_english
from diag.log_report import LogReport, read_text
from diag.log_rules import by_family, causes

CALLED_A_CODE = re.compile(
    r"(?i)(?:(?:acl|runtime|error|err|return|ret|result|code|no|is)[ _]?)+\W{0,3}(?P<code>-?\d{6}|0x[0-9a-f]{5}|[A-Z_]{12,})"
)
INNER_CODE = re.compile(
    r"(?i)(?:(?:inner|ret|return)\W?code\W*|error\W*)?(?:0x0?(?P<hex>7[0-2][0-9a-f]{5})|(?P<decimal>11[789]\d{6}))"
)
RET_CODE = re.compile(r"(?i)(?:ret\W?code\W*|errorcode\W*)?(?P<code>0x[0-9a-f]{2})")
ERR_NO = re.compile(r"(?i)(?:err_?no\W*)?0x(?P<hex>[0-9a-f]{16})\W*")
HCCL_CODE = re.compile(r"(?i)(?:hccl\w*\W*(?:interface|ret\w*|error|code|result|is|\W)*|ret ?code\W+)?(?P<code>\d{1,2})")
DCMI_CODE = re.compile(r"(?i)(?:ret(?: is)?\W*|dcmi\W*)?(?P<code>-[89]\d{3})")


Answer = Explanation | Entry | LogReport | NotFound


def answer(text: str) -> Answer:
    """The explanation of a code, a name, or any text that holds some; NotFound with near ones for the rest."""
    asked = in_english(text).strip().strip("\"'`.,;:()[]？?")
    for matcher in MATCHERS:
        found = matcher(asked)
        if found is not None:
            return found
    return explain(text)


def by_public(asked: str) -> Explanation | None:
    """The code alone, or behind nothing but a word that says it is one."""
    found = explain(asked)
    if not isinstance(found, Explanation) and (match := CALLED_A_CODE.fullmatch(asked)) is not None:
        found = explain(match["code"])
    return found if isinstance(found, Explanation) else None


def by_family_code(asked: str) -> Entry | None:
    """EI0006, EE9999, W40010, ERR00100 in any case; a code of a known range that has no entry of its own is none."""
    code = asked.upper()
    entry = code_tables.families().get(code)
    if entry is None and re.fullmatch(r"[EW][0-9A-Z](?:9999|8888)", code):
        entry = code_tables.family(code)
    if entry is None or "x" in code:
        return None
    if entry.is_group:  # EH9999: no entry of its own, so that its component says more than "internal error of the family"
        return _internal(code, entry)
    cause = causes().get(by_family().get(code, ""))
    told = entry.cause if entry.cause["en"] and not entry.cause["en"].startswith("see the values") else {}
    if cause is not None and (cause.kind != "after" or not entry.action["en"]):
        do, commands = advice(cause.id)
    else:
        do, commands = {k: (v,) for k, v in entry.action.items() if v}, ()
    return Entry("family", code, entry.component, "", entry.meaning, told, do, commands, entry.source)


def _internal(code: str, entry: code_tables.Family) -> Entry:
    """The catch-all of a family: who reports it, and that its reason stands elsewhere."""
    whose = next((e for e in code_tables.families().values() if code[:2] + "xxxx" in e.code), entry)
    cause = causes()["internal_failure"]
    meaning = {language: texts[0][-1] for language, texts in cause.meaning.items()}
    do, commands = advice(cause.id)
    return Entry("family", code, whose.component, "", meaning, {}, do, commands, entry.source)


def by_inner(asked: str) -> Entry | None:
    """0x7020023, InnerCode=0x07020023, 117571619: the runtime's own numbers."""
    match = INNER_CODE.fullmatch(asked)
    if match is None:
        return None
    entry = code_tables.inner(int(match["hex"], 16) if match["hex"] else int(match["decimal"]))
    return None if entry is None else of_other(entry)


def by_ret_code(asked: str) -> Entry | None:
    """0x26, retCode=0x2a: what the device's scheduler returned for a kernel."""
    match = RET_CODE.fullmatch(asked)
    entry = code_tables.other("retcode", match["code"]) if match is not None else None
    return None if entry is None else of_other(entry)


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
    return None if entry is None else of_other(entry)


def by_dcmi(asked: str) -> Entry | None:
    """-8020, ret is -8005: what the device tool's library returned; -9020 is the same offset of the tool itself."""
    match = DCMI_CODE.fullmatch(asked)
    entry = code_tables.other("dcmi", "-8" + match["code"][2:]) if match is not None else None
    return None if entry is None else of_other(entry)


def by_pasted_text(asked: str) -> Explanation | Entry | LogReport | None:
    """A message that the log rules know; else the first public code it holds, else the first of a family."""
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
    if isinstance(found, Explanation):
        return found
    families = [c for c in codes_in(asked) if c.form in ("family", "torch")]
    return by_family_code(families[0].code) if families else None


MATCHERS: tuple[Callable[[str], Explanation | Entry | LogReport | None], ...] = (
    by_public, by_family_code, by_torch_words, by_group, by_inner, by_ret_code, by_dcmi, by_driver, by_fault, by_graph_engine,
    by_hccl, by_system, by_core_bits, by_pasted_text,
)  # fmt: skip
