"""`npu-smi info --format / --query-npu / --strict`: the devices for scripts, beside the tool's own table.

Without one of these options plain `info` stays as the real tool prints it.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import NoReturn

import typer

from cli.common import CliError, near, run
from cli.options import Lang
from cli.terminal import language

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Strict(StrEnum):
    """How grave a finding must be for exit status 1."""

    critical = "critical"
    warning = "warning"


def main(arguments: list[str]) -> NoReturn:
    run("npu-smi info", app, [_alone(word) for word in arguments])


def _alone(word: str) -> str:
    """--strict alone means from warnings on."""
    return "--strict=warning" if word == "--strict" else word


@app.command("info")
def info(
    format: str = typer.Option("", "--format", help="json, or csv with ,noheader ,nounits added.", show_default=False),
    query: str = typer.Option(
        "", "--query-npu", metavar="NAMES", help="Fields, comma-separated; help lists them.", show_default=False
    ),
    strict: Strict | None = typer.Option(None, "--strict", help="Exit 1 from this severity of findings on.", show_default=False),
    sim: bool = typer.Option(False, "--sim", help="The simulated devices, also beside real ones."),
    lang: Lang = None,
) -> int:
    """Show the devices as JSON or CSV, or judge them.

    null (JSON) or N/A (CSV) stands for what is not known. Status: 0 fine, 1 findings with --strict; the tool's own
    when it fails.
    """
    from cli import smi_query, smi_records
    from cli.smi_look import look

    kind, header, units = _format(format, query)
    names = _names(query) if query else list(smi_query.DEFAULT)
    if query == "help":
        print("\n".join(f"{field.name:<20} {field.unit:<4} {field.text}".rstrip() for field in smi_query.FIELDS))
        return 0
    text = look(["--sim"] if sim else [])
    if text.error is not None:
        print("\n".join(smi_records.finding_lines(text, language(lang))), file=sys.stderr)
        return text.error.status or 2
    if kind == "json":
        print(smi_query.as_json(text, names if query else None))
    elif kind == "csv":
        sys.stdout.write(smi_query.as_csv(text, names, header, units))
    if strict is None:
        return 0
    from diag.smi_findings import SEVERITIES, find

    found = [finding for finding in find(text) if SEVERITIES.index(finding.severity) <= SEVERITIES.index(strict)]
    if not kind:
        print("\n".join(smi_records.lines(text, language(lang))))
    return 1 if found else 0


def _format(written: str, query: str) -> tuple[str, bool, bool]:
    """(json, csv or "", header, units)."""
    kind, *more = (written or ("csv" if query else "")).split(",")
    wrong = next((word for word in [kind, *more] if word not in ("", "json", "csv", "noheader", "nounits")), None)
    if wrong is not None or (written and kind not in ("json", "csv")) or (kind == "json" and more):
        raise CliError(f"--format={written} is not a format", "give json, csv, or csv,noheader,nounits")
    return kind, "noheader" not in more, "nounits" not in more


def _names(query: str) -> list[str]:
    from cli.smi_query import FIELDS

    known = [field.name for field in FIELDS]
    names = [name.strip() for name in query.split(",")]
    wrong = next((name for name in names if name not in known and query != "help"), None)
    if wrong is not None:
        close = near(wrong, known)
        raise CliError(
            f"--query-npu: no field {wrong!r}", f"{f'did you mean {close}? ' if close else ''}--query-npu=help lists them"
        )
    return names
