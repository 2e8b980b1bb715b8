"""A log among the evidence of a host, and evidence of a host given as a log: pasted issues hold both in one text."""

from __future__ import annotations

from pathlib import Path

from diag.check import Checked, check
from diag.evidence.gather import NotEvidence, of_paths
from diag.log_report import LogReport, read
from diag.log_rules import causes
from diag.verdict import ERROR
from npu.host.read import is_tree

JUDGED = {"environment", "driver"}  # tables of causes that the checks of a host judge themselves
PASTED = 256 << 10  # bytes; what is longer than this is no pasted text


def fault(paths: list[Path], checked: Checked) -> LogReport | None:
    """The verdict over a log that stands in the evidence, None where it knows no cause or a check has said it."""
    texts = [path for path in paths if not (path.is_dir() and is_tree(path))]
    report = read(texts) if texts else None
    known = causes().get(report.cause.cause) if report is not None and report.cause is not None else None
    if known is None or known.kind == "after" or (known.table in JUDGED and checked.status):
        return None
    return report


def host(paths: list[Path]) -> Checked | None:
    """What pasted texts without a fault of a log say of their host, None where nothing of it is an error."""
    if any(not path.is_file() or path.stat().st_size > PASTED for path in paths):
        return None
    try:
        checked = check(of_paths(paths))
    except NotEvidence:
        return None
    return checked if any(v.severity == ERROR for v in checked.verdicts) else None
