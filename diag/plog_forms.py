"""The forms log lines come in: what stands before a line, the stack's own forms, the error manager's four generations, times.

Source line numbers and messages differ between releases; what is fixed is how a line begins.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "EVENT", "TRACE", "OPLOG", "EXCEPTION", "CRITICAL")

# One prefix: mark of quoted text, colour (a pasted text may have lost its escape), kubernetes or docker time, (process pid=...)
# of vLLM and Ray, [rank0]: of torchrun, host address of pdsh, level and place of vLLM's logger, service name of docker compose.
# A line can have several.
_PREFIX = re.compile(
    r"""\x1b\[[\d;]*m | \[(?:\d{1,2};)?\d{1,2}m | >\ ?
      | \d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?(?:\ (?:stdout|stderr)\ [FP])?[ ]
      | \((?P<who>[\w.-]+(?:\ [\w.=-]+)*?\ pid=(?P<pid>\d+)(?:,\ [\w.=]+)*)\)\ ?
      | \[(?:rank|default|Rank\ )(?P<rank>\d+)\]:?\ ?
      | \d{1,3}(?:\.\d{1,3}){3}:[ ]
      | (?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\ (?:\d{4}-)?\d\d-\d\d\ [\d:.,]+\ \[?[\w./-]+\.py:\d+\]:?\ ?
      | [A-Za-z][\w.-]*\ *\|[ ]
    """,
    re.VERBOSE,
)
_TIME = r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d(?:\.\d{3}(?:\.\d{3})?)?"
PLOG = re.compile(
    rf"\[(?P<level>{'|'.join(LEVELS)})\] ?(?P<module>[A-Z0-9_]+)\((?P<ids>[^()]*)\):(?P<time>{_TIME}) ?"
    r"(?:\[(?P<where>[^\]]*)\])?(?P<text>.*)",
    re.DOTALL,
)
ERR = re.compile(
    rf"\[ERROR\] (?P<time>{_TIME}) \(PID:(?P<pid>\d+), Device:(?P<device>-?\d+), RankID:(?P<rank>-?\d+)\) (?P<text>ERR\d{{5}}.*)",
    re.DOTALL,
)
_FAMILY = r"[EW][0-9A-Z]\d{4}"
MANAGER = (
    re.compile(
        rf"\[PID: ?(?P<pid>\d+)\] ?(?P<time>{_TIME}) ?(?P<title>[\w/ ]*)\((?P<code>{_FAMILY})\):? ?(?P<text>.*)", re.DOTALL
    ),
    re.compile(
        rf"(?<![\w(])(?P<code>{_FAMILY})\[PID: ?(?P<pid>\d+)\] ?(?P<time>{_TIME}) ?\((?P=code)\): *(?P<text>.*)", re.DOTALL
    ),
    re.compile(
        rf"(?<![\w(])(?P<code>{_FAMILY}):[ ]?(?:\[PID: ?(?P<pid>\d+)\] ?)?(?:(?P<time>{_TIME}) ?)?(?P<text>.*)", re.DOTALL
    ),
    re.compile(r"(?<![\w(])(?P<code>E[0-9A-Z]9999)  (?P<text>\S.*)", re.DOTALL),
)
MANAGED = re.compile(rf"(?<![A-Za-z0-9_]){_FAMILY}(?![A-Za-z0-9_])")
RAISED = re.compile(r"(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?$", re.DOTALL)
FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)')
# Text outside the stack's forms that says itself that it is no error: Python's warnings, other loggers' lower levels.
CALM_TEXT = re.compile(r"(?:[\d\s:,.-]{8,32}\S{0,40}\s*[|-]*\s*)?\W?(?:WARNING|WARN|INFO|DEBUG)\b|.{0,200}\b\w+Warning: ")
# Other writers' lines that call themselves errors: times and brackets, then [ERROR] (installers, MindIE, ATB), or glog's E.
FOREIGN = re.compile(
    r"(?:[\d:.,+TZ-]{8,32}\s+){0,2}(?:\[[^\[\]]{1,60}\]\s*){0,6}?\[(?:ERROR|[Ee]rror|FATAL|fatal)\]"
    r"|E\d{4}(?:\d{4})? \d\d:\d\d:\d\d\.\d+ |[\d:. -]{19,32}\[E:onnxruntime"
)
# A message inside JSON or a repr: its line ends are two characters; told by a form that begins a line behind one.
FOLDED = re.compile(rb"\\n *(?:[EW][0-9A-Z]\d{4}[:\[ ]|\[ERROR\] )")
HINT = re.compile(r"\s*(?:Possible Cause|Solution|Rectify the fault)\b", re.IGNORECASE)
_NATIVE = re.compile(r"\[[WEIF]\d{3,4} (?P<time>[\d:.]+) (?P<where>[\w./-]+:\d+)\] ?(?:Warning: )?")


def unprefixed(text: str) -> tuple[str, str, int | None, int | None, str]:
    """(text behind its prefixes, innermost process name, its pid, rank, level a framework gave)."""
    who, pid, rank, level, at = "", None, None, "", 0
    while (match := _PREFIX.match(text, at)) is not None:
        if match["who"]:
            who, pid = match["who"], int(match["pid"])
            of_name = re.search(r"\brank=(\d+)", who)
            rank = int(of_name[1]) if of_name else rank
        rank = int(match["rank"]) if match["rank"] else rank
        level = match["level"] or level
        at = match.end()
    text = text[at:]
    native = _NATIVE.match(text) if text.startswith("[") else None
    if native is not None:  # [W904 09:50:12.024496247 file:57] Warning: the text is what it carries
        text, level = text[native.end() :], ""
    return re.sub(r"\x1b\[[\d;]*m", "", text) if "\x1b" in text else text, who, pid, rank, level


def nanoseconds(text: str) -> int | None:
    """2025-09-14-22:10:56.970.214 -> ns since 1970 as if it were UTC; None for a date that is none."""
    whole, _, parts = text.partition(".")
    try:
        moment = datetime.strptime(whole, "%Y-%m-%d-%H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    digits = parts.replace(".", "").ljust(6, "0") if parts else "999999"  # to the second: the end of that second
    return int(moment.timestamp()) * 1_000_000_000 + int(digits) * 1000
