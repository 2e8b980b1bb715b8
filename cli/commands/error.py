"""`npu-diag error CODE`: what an error code, or a pasted message, means and what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer
from typer.core import TyperCommand

from cli.options import Json, Lang
from cli.terminal import Language, folded, language, paint
from diag.error_answer import Answer, answer
from diag.error_code import Explanation, NotFound
from diag.error_entry import Entry
from diag.log_report import LogReport

LABELS = {
    Language.en: {"told": "In practitioners' texts", "cause": "Cause", "do": "What to do", "commands": "Commands",
                  "names": "Names", "none": "{asked!r} is no public CANN error code.", "near": "Near ones:",
                  "form": "Public codes have six digits, from 100000 to 561115; names begin with ACL_ERROR_ or ACLNN_ERR_. "
                          "Give the whole message, or its file to npu-diag log.",
                  "codes": "Codes in the text", "public": "acl reports {code}: npu-diag error {code}"},
    Language.zh: {"told": "实践文章的读法", "cause": "原因", "do": "怎么做", "commands": "命令",
                  "names": "名称", "none": "{asked!r} 不是公开的 CANN 错误码。", "near": "相近的：",
                  "form": "公开错误码为六位数，从 100000 到 561115；名称以 ACL_ERROR_ 或 ACLNN_ERR_ 开头。"
                          "可给出整条消息，或把文件交给 npu-diag log。",
                  "codes": "文中的错误码", "public": "acl 报告 {code}：npu-diag error {code}"},
}  # fmt: skip

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class NumbersMayBeNegative(TyperCommand):
    """Reads -507018 as the code it is and not as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        negative = [a for a in args if re.fullmatch(r"-(\d+|0[xX][0-9a-fA-F]+)", a)]
        others = [a for a in args if a not in negative]
        return super().parse_args(ctx, [*others, "--", *negative] if negative else others)


@app.command("error", cls=NumbersMayBeNegative)
def error(
    code: list[str] = typer.Argument(metavar="CODE", help="A code or name (507018, EI0006, 0x7020016, -8020), or a message."),
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Say what an error code or a pasted message means, what is usually behind it, and what to do.

    Gives 1 when the code is unknown; the nearest ones are named then.
    """
    found = answer(" ".join(code))
    tongue = language(lang)
    if json:
        print(_as_json(found, tongue))
    else:
        lines = _told(found, tongue)
        print("\n".join(folded(lines) if sys.stdout.isatty() else lines))
    return int(isinstance(found, NotFound))


def _told(found: Answer, tongue: Language) -> list[str]:
    if isinstance(found, Explanation):
        return _lines(found, tongue)
    if isinstance(found, Entry):
        return _entry_lines(found, tongue)
    return _message_lines(found, tongue) if isinstance(found, LogReport) else _not_found_lines(found, tongue)


def _entry_lines(entry: Entry, tongue: Language) -> list[str]:
    label = LABELS[tongue]
    public = f" ({label['public'].format(code=entry.public)})" if entry.public else ""
    lines = [paint(f"{entry.code} {entry.name[tongue]}", "bold") + f": {entry.meaning[tongue]}{public}"]
    if entry.cause:
        lines.append(f"{label['cause']}: {entry.cause[tongue]}")
    return lines + _steps(entry.do.get(tongue, ()), entry.commands, tongue)


def _message_lines(report: LogReport, tongue: Language) -> list[str]:
    """What a pasted message says, in the order of a single code: meaning, codes in it, what to do."""
    from diag.log_text import said

    label, lines = LABELS[tongue], []
    for finding in [report.cause] if report.cause is not None else report.notes:
        texts = said(finding, tongue)
        lines.append(paint(texts.title[:1].upper() + texts.title[1:], "bold"))
        lines += [texts.meaning] if texts.meaning else []
        if report.codes:
            codes = (f"{s.code.written} {s.code.name}: {s.code.meaning[tongue]}" for s in report.codes)
            lines += [f"{label['codes']}:", *(f"  {line}" for line in codes)]
        lines += _steps(texts.do, texts.commands, tongue)
    return lines


def _steps(steps: Sequence[str], commands: Sequence[str], tongue: Language) -> list[str]:
    label, lines = LABELS[tongue], []
    if steps:
        lines += [f"{label['do']}:", *(f"  {number}. {step}" for number, step in enumerate(steps, 1))]
    if commands:
        lines += [f"{label['commands']}:", *(f"  {line}" for line in commands)]
    return lines


def _lines(known: Explanation, tongue: Language) -> list[str]:
    label = LABELS[tongue]
    lines = [paint(f"{known.code} {known.names[-1]}", "bold") + f": {known.meaning[tongue]}"]
    if known.told:
        lines.append(f"{label['told']}: {known.told[tongue]}")
    if len(known.names) > 1:
        lines.append(f"{label['names']}: {', '.join(known.names)}")
    lines.append(f"{label['cause']}: {known.cause[tongue]}")
    return lines + _steps(known.do[tongue], known.commands, tongue)


def _not_found_lines(unknown: NotFound, tongue: Language) -> list[str]:
    label = LABELS[tongue]
    lines = [label["none"].format(asked=unknown.asked)]
    if unknown.range:
        lines.append(unknown.range[tongue][0].upper() + unknown.range[tongue][1:] + ("." if tongue is Language.en else "。"))
    if unknown.near:
        lines += [label["near"], *(f"  {c.code} {c.name}: {c.meaning[tongue]}" for c in unknown.near)]
    elif not unknown.range:
        lines.append(label["form"])
    return lines


def _as_json(found: Answer, tongue: Language) -> str:
    import json

    facts = {"schema": 1, "tool": "npu-diag error", "found": not isinstance(found, NotFound)}
    if isinstance(found, LogReport):
        from diag.log_json import to_json

        facts = to_json(found, tongue) | facts
    else:
        facts |= asdict(found)
    return json.dumps(facts, ensure_ascii=False, indent=2)
