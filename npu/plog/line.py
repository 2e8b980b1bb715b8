"""One line as the real stack writes it: `[LEVEL] MODULE(pid,process):2026-11-30-12:00:00.123.456 [file:line]tid text`."""

from __future__ import annotations

import time

from npu.plog.settings import DEBUG, ERROR, EVENT, INFO, WARNING

NAMES = {DEBUG: "DEBUG", INFO: "INFO", WARNING: "WARNING", ERROR: "ERROR", EVENT: "EVENT"}
LONGEST = 1023  # bytes of a line without its end; a longer text goes on in lines with the same beginning


def stamp(unix_ns: int) -> str:
    """Local time without a zone: milliseconds and microseconds apart."""
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    whole = time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(seconds))
    return f"{whole}.{rest // 1_000_000:03}.{rest // 1000 % 1000:03}"


def file_stamp(unix_ns: int) -> str:
    """The same to the millisecond, as file names have it: yyyymmddHHMMSSmmm."""
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    return time.strftime("%Y%m%d%H%M%S", time.localtime(seconds)) + f"{rest // 1_000_000:03}"


def encoded(level: int, module: str, pid: int, process: str, unix_ns: int, where: str, text: str) -> bytes:
    """The line or lines of a text, ends included. A line break inside a text stays: its rest follows without a beginning."""
    head = f"[{NAMES.get(level, 'ERROR')}] {module}({pid},{process}):{stamp(unix_ns)} [{where}]".encode("utf-8", "replace")
    data = text.encode("utf-8", "replace")
    room = max(1, LONGEST - len(head))
    lines = []
    while len(data) > room:
        cut = room
        while cut > 1 and data[cut] & 0xC0 == 0x80:  # inside a character
            cut -= 1
        lines.append(head + data[:cut] + b"\n")
        data = data[cut:]
    return b"".join([*lines, head, data, b"\n"])
