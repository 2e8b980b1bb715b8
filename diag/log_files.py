"""Where logs lie and how their bytes are read: folders, single files, gz; any encoding; line by line in bounded memory.

What a name tells (process, device, rank, time) stands in LogFile; what could not be read stands in `unread` with its reason.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LONGEST = 16_384  # bytes of a line that are looked at; the stack's own lines end at 1023
BLOCK = 16_384  # bytes of whole lines that are looked at together
SNIFF = 4096
# What lies beside logs and is none: measured data, archives, pictures, model files.
NEVER = {
    ".bin", ".data", ".db", ".done", ".gif", ".jpeg", ".jpg", ".json", ".ko", ".md", ".npy", ".o", ".om", ".onnx", ".pdf", ".png",
    ".pt", ".py", ".pyc", ".safetensors", ".slice", ".so", ".tar", ".tgz", ".zip",
}  # fmt: skip

_OF_PROCESS = re.compile(r"(?P<what>plog|device)-(?P<pid>\d+)_(?P<stamp>\d{14,17})")
_RANK = re.compile(r"(?:^|[^a-z])rank[_-]?(\d+)(?:$|[^0-9])", re.IGNORECASE)
_DEVICE = re.compile(r"^device-(\d+)$")


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file. shown: its name in reports. stamp: start time in its name, orders the files of one process."""

    path: Path
    shown: str
    pid: int | None = None
    stamp: str = ""
    rank: int | None = None
    device: int | None = None
    on_device: bool = False


@dataclass(slots=True)
class Found:
    """The files to read in their order, and (name, reason) of what cannot be read."""

    files: list[LogFile] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)


def find(paths: list[Path]) -> Found:
    """All log files below the paths. A folder is walked whole; a named file is always read. Missing paths raise OSError."""
    found = Found()
    for top in paths:
        if top.is_dir():
            try:
                inside = sorted(p for p in top.rglob("*") if p.suffix.lower() not in NEVER and p.is_file())
            except PermissionError as error:
                found.unread.append((str(error.filename), "no permission"))
                continue
            found.files += [_named(path, str(path.relative_to(top))) for path in inside]
        else:
            top.stat()
            found.files.append(_named(top, top.name if len(paths) == 1 else str(top)))
    found.files.sort(key=lambda f: (f.pid is None, f.stamp, f.shown))
    return found


def _named(path: Path, shown: str) -> LogFile:
    match = _OF_PROCESS.search(path.name)
    ranks = [int(m[1]) for part in Path(shown).parts for m in _RANK.finditer(part)]
    devices = [int(m[1]) for part in Path(shown).parts[:-1] if (m := _DEVICE.match(part))]
    on_device = match is not None and match["what"] == "device"
    return LogFile(
        path,
        shown,
        pid=int(match["pid"]) if match is not None else None,
        stamp=match["stamp"] if match is not None else "",
        rank=ranks[-1] if ranks else None,
        device=devices[-1] if devices else None,
        on_device=on_device,
    )


def raw_blocks(file: LogFile) -> Iterator[bytes]:
    """The text as bytes, a few whole lines at a time, UTF-16 turned into UTF-8, marks at the start of a file removed.

    Of a line longer than LONGEST the rest may be missing. A damaged or cut gz file gives what could be unpacked and then raises
    OSError or EOFError.
    """
    with file.path.open("rb") as handle:
        stream: io.BufferedReader = handle
        if handle.read(2) == b"\x1f\x8b":
            handle.seek(0)
            stream = io.BufferedReader(gzip.GzipFile(fileobj=handle))
        else:
            handle.seek(0)
        try:
            yield from _of_stream(stream)
        except zlib.error as error:
            raise OSError(f"damaged gz data: {error}") from error


def lines_of(block: bytes) -> Iterator[bytes]:
    """The lines of a block without their ends, at most LONGEST bytes of each."""
    rows = block.split(b"\n")
    if not rows[-1]:
        rows.pop()
    for row in rows:
        yield row[:LONGEST].rstrip(b"\r")


def count_lines(block: bytes) -> int:
    """How many lines lines_of gives."""
    return block.count(b"\n") + (not block.endswith(b"\n") and bool(block))


def _of_stream(stream: io.BufferedReader) -> Iterator[bytes]:
    head = stream.peek(SNIFF)[:SNIFF]
    wide = _wide(head)
    if wide:
        text = io.TextIOWrapper(stream, encoding=wide, errors="replace", newline="\n")
        while row := text.readline(LONGEST):
            yield row.rstrip("\r\n").lstrip("\ufeff").encode("utf-8", "replace") + b"\n"
        return
    if head.startswith(b"\xef\xbb\xbf"):
        stream.read(3)
    while block := stream.readline(LONGEST):
        rest = block if not block.endswith(b"\n") else b""
        if not rest:
            block += stream.read1(BLOCK)  # one read: what is there before damage is not lost
            rest = block
        if not block.endswith(b"\n"):
            rest = stream.readline(LONGEST)
            block += rest
        while rest and not rest.endswith(b"\n"):  # a line without end is not held
            rest = stream.readline(LONGEST)
        yield block


def _wide(head: bytes) -> str:
    """The name of the UTF-16 form, or "": by its mark, else by zeros in every second byte."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) >= 8 and head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    if len(head) >= 8 and head[0::2].count(0) > len(head) // 4:
        return "utf-16-be"
    return ""


def is_binary(file: LogFile) -> bool:
    """Zeros in the first bytes that no UTF-16 text explains."""
    with file.path.open("rb") as handle:
        head = handle.read(SNIFF)
    return b"\0" in head and not _wide(head) and not head.startswith(b"\x1f\x8b")


def decoded(raw: bytes) -> str:
    """Text of a line: UTF-8, also when cut inside a character; else GBK (its superset GB18030); never an error."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(raw) - 3 and error.reason == "unexpected end of data":
            return raw[: error.start].decode("utf-8")
    try:
        return raw.decode("gb18030")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")
