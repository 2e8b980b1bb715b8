"""`npu-diag error CODE`: what an error code means and what to do."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from typing import Any

import typer
from typer.core import TyperCommand

from cli.options import Json, Lang
from cli.terminal import Language, folded, language, paint
from diag.error_code import Explanation, NotFound, explain

LABELS = {
    Language.en: {"told": "In practitioners' texts", "cause": "Cause", "do": "What to do", "commands": "Commands",
                  "names": "Names", "none": "{asked!r} is no public CANN error code.", "near": "Near ones:",
                  "form": "Codes have six digits, from 100000 to 561115; names begin with ACL_ERROR_ or ACLNN_ERR_."},
    Language.zh: {"told": "实践文章的读法", "cause": "原因", "do": "怎么做", "commands": "命令",
                  "names": "名称", "none": "{asked!r} 不是公开的 CANN 错误码。", "near": "相近的：",
                  "form": "错误码为六位数，从 100000 到 561115；名称以 ACL_ERROR_ 或 ACLNN_ERR_ 开头。"},
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
    code: list[str] = typer.Argument(metavar="CODE", help="A number or a constant name: 507018, 0x7bc8a, AICPU_EXCEPTION."),
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Say what an error code means, what is usually behind it, and what to do.

    Gives 1 when the code is unknown; the nearest ones are named then.
    """
    answer = explain(" ".join(code))
    tongue = language(lang)
    if json:
        print(_as_json(answer))
    else:
        lines = _lines(answer, tongue) if isinstance(answer, Explanation) else _not_found_lines(answer, tongue)
        print("\n".join(folded(lines) if sys.stdout.isatty() and tongue is Language.en else lines))
    return 0 if isinstance(answer, Explanation) else 1


def _lines(known: Explanation, tongue: Language) -> list[str]:
    label = LABELS[tongue]
    lines = [paint(f"{known.code} {known.names[-1]}", "bold") + f": {known.meaning[tongue]}"]
    if known.told:
        lines.append(f"{label['told']}: {known.told[tongue]}")
    if len(known.names) > 1:
        lines.append(f"{label['names']}: {', '.join(known.names)}")
    lines += [f"{label['cause']}: {known.cause[tongue]}", f"{label['do']}:"]
    lines += [f"  {number}. {step}" for number, step in enumerate(known.do[tongue], 1)]
    if known.commands:
        lines += [f"{label['commands']}:", *(f"  {line}" for line in known.commands)]
    return lines


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


def _as_json(answer: Explanation | NotFound) -> str:
    import json

    facts = {"schema": 1, "tool": "npu-diag error", "found": isinstance(answer, Explanation), **asdict(answer)}
    return json.dumps(facts, ensure_ascii=False, indent=2)
