"""Log text as records: `parsed(file)` gives every line that can matter, with who said it, when, and in which block.

Known forms: the stack's own lines (host and device, old and new, MindSpore's), torch_npu's ERR line, the error manager's four
generations with their trace, Python tracebacks; behind prefixes of vLLM, Ray, torchrun, docker and kubernetes. Lines of several
processes may interleave: what continues a line is looked for per process. Calm lines (INFO and below) are skipped as bytes
unless they name a fact, blocks of lines without a word of trouble are only counted; so a gigabyte costs seconds and no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from diag import libc_messages
from diag.log_files import LogFile, count_lines, decoded, lines_of, raw_blocks
from diag.plog_forms import CALM_TEXT, ERR, FOLDED, FOREIGN, FRAME, HINT, MANAGED, MANAGER, PLOG, RAISED, nanoseconds, unprefixed

CALM = (b"[DEBUG]", b"[INFO]", b"[EVENT]", b"[WARNING]", b"[TRACE]", b"[OPLOG]")
# Calm lines that are kept: versions, limits in force, ranks, and notes people mistake for faults.
FACTS = (
    b"versionInfo is", b"_TIMEOUT set", b"Heartbeat", b"heartbeat", b"watchdog timeout", b"Cluster Exception", b"], rank[",
    b"Entry-Hccl", b"error found", b"rror handling", b"left behind", b"already called", b"stale read",
    b"is limited: ", b"half of its rate", b"does not match, the version",
)  # fmt: skip
# Other lines that are looked at: any word of trouble, any code. Words begin with a plain letter where they can: only then does
# the matcher skip over the rest of a line (2 us instead of 11 for 120 bytes).
TROUBLE = (
    b"error", b"Error", b"ERR", b"exception", b"Exception", b"EXCEPTION", b"CRITICAL", b"fail", b"Fail", b"FAIL", b"raceback",
    b"imeout", b"imed out", b"imes out", b"ime out", b"out of memory", b"annot", b"undefined symbol", b"denied", b"No module",
    b"No space", b"No such", b"No NPU", b"not found", b"not support", b"nvalid", b"ncompatib", b"ismatch", b"illed",
    b"core dumped", b"egmentation", b"Bus err", b"ret is -", b"untime A", b"untime a", b"ASCEND_", b"HCCL_", b"rank[",
    b"LD_LIBRARY", b"in use", b"exited with", b"xit code", b"xitcode", b"bad_alloc", b"nsufficient", b"een bound", b"heartbeat",
    b"Heartbeat", b"rev ff", b"stub/", b"devlib/", b".so", b"quota", b" ret", b"etCode", b"esult", b"code",
    b"rejected", b"nknown symbol", b"version magic", b"disagrees", b"ockdown", b"ncorrected", b"not match", b"fall back",
    b".cmake", b"HeaderTooLarge",
)  # fmt: skip
CHINESE = tuple(phrase.encode() for phrase in libc_messages.table())  # looked for only where a text is not plain ASCII
FAMILY_CODE = re.compile(rb"E[0-9A-Z]\d{4}")
WORTH = re.compile(b"|".join(map(re.escape, FACTS)))
NEEDLE = re.compile(b"|".join((*map(re.escape, TROUBLE), FAMILY_CODE.pattern)))


def _shortest(words: Iterable[bytes]) -> tuple[bytes, ...]:
    """Lower case, without those that hold another of them."""
    low = {word.lower() for word in words}
    return tuple(sorted(word for word in low if not any(other in word for other in low - {word})))


# Searching a block of lines for each of these is three times as fast as the matcher's alternatives, most blocks hold none.
_HINTS = _shortest((*TROUBLE, *FACTS, b"[WARNING]"))

SAME_PLACE = 64  # lines looked at that one process writes from one place of the source; later ones are only counted
MOST_PLACES = 100_000  # places remembered of one file

QUIET = ("DEBUG", "INFO", "EVENT", "WARNING", "TRACE", "OPLOG")

# INFO and below of vLLM and its like, behind their process names.
_CALM_FRAMEWORK = re.compile(rb"(?:\([\w .=:,-]*\) ?)*(?:INFO|DEBUG|WARNING) (?:\d{4}-)?\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can matter. time: ns since 1970 in the zone of the host that wrote it, None where it is not known.

    family: code of the error-manager block it belongs to; part: headline, trace or hint (advice of the stack) inside it,
    frame or raised inside a Python traceback, else "".
    """

    file: str
    number: int
    text: str
    level: str = ""
    module: str = ""
    pid: int | None = None
    time: int | None = None
    own_time: bool = False  # the line itself says its time; else it is that of the line before
    where: str = ""
    rank: int | None = None
    device: int | None = None
    worker: str = ""
    family: str = ""
    part: str = ""

    @property
    def quiet(self) -> bool:
        return self.level in QUIET


@dataclass(slots=True)
class Counted:
    """What a file held, also of the lines that were skipped."""

    lines: int = 0
    errors: int = 0
    warnings: int = 0


@dataclass(slots=True)
class _Voice:
    """State of one process's text within a file: the block it is in and the last time it told."""

    pid: int | None
    rank: int | None
    device: int | None
    worker: str
    time: int | None = None
    family: str = ""
    part: str = ""
    site: str = ""
    traceback: bool = False

    @property
    def inside(self) -> bool:
        """Whether its next line may continue a block."""
        return bool(self.family) or self.traceback


@dataclass(slots=True)
class _Reader:
    file: LogFile
    voices: dict[str, _Voice] = field(default_factory=dict)
    open: int = 0  # voices inside a block: their next lines count without a word of trouble
    number: int = 0  # of the last line read
    places: dict[bytes, int] = field(default_factory=dict)

    def voice(self, who: str, pid: int | None, rank: int | None) -> _Voice:
        key = who or (f"rank{rank}" if rank is not None else "")
        if key not in self.voices:
            own = self.file
            self.voices[key] = _Voice(own.pid if pid is None else pid, own.rank if rank is None else rank, own.device, who)
        return self.voices[key]


def parsed(file: LogFile, counted: Counted) -> Iterator[Line]:
    """Lines of a file that can matter, in its order. counted is filled on the way."""
    reader = _Reader(file)
    for block in raw_blocks(file):
        if reader.open or may_matter(block):
            yield from _read(reader, lines_of(block), counted)
        else:
            counted.lines = reader.number = reader.number + count_lines(block)


def parsed_lines(file: LogFile, raws: Iterable[bytes], counted: Counted) -> Iterator[Line]:
    """The same of lines that are at hand; file says whose they are."""
    return _read(_Reader(file), raws, counted)


def may_matter(block: bytes) -> bool:
    """Whether any line of the block can be one that counts."""
    low = block.lower()
    return any(hint in low for hint in _HINTS) or FAMILY_CODE.search(block) is not None or _chinese(block)


def _chinese(raw: bytes) -> bool:
    return not raw.isascii() and any(phrase in raw for phrase in CHINESE)


def _read(reader: _Reader, raws: Iterable[bytes], counted: Counted) -> Iterator[Line]:
    places, before = reader.places, reader.number
    for number, raw in enumerate(raws, before + 1):
        reader.number = number
        if raw.startswith(CALM):
            counted.warnings += raw.startswith(b"[WARNING]")
            if reader.open:
                _close_all(reader)
            if not WORTH.search(raw):
                continue
        elif raw.startswith(b"[ERROR]") and _again(raw, places):
            counted.errors += 1
            continue
        elif not reader.open and (
            (_CALM_FRAMEWORK.match(raw) and b"untime A" not in raw) or not (NEEDLE.search(raw) or _chinese(raw))
        ):
            continue
        counted.lines = number
        for part in raw.split(b"\\n") if b"\\n" in raw and FOLDED.search(raw) else (raw,):
            line = _line(reader, number, decoded(part))
            if line is not None:
                counted.errors += line.level in ("ERROR", "EXCEPTION", "CRITICAL") and line.part in ("", "headline")
                yield line
    counted.lines = reader.number


def _again(raw: bytes, places: dict[bytes, int]) -> bool:
    """Whether the same process has said this from the same place of the source SAME_PLACE times already."""
    where = raw.find(b" [", 20)
    text = raw.find(b"]", where)
    if where < 0 or text < 0:
        return False
    place = raw[8 : raw.find(b":", 8)] + raw[where:text] + raw[text : text + 56].translate(None, b"0123456789abcdefx")
    count = places.get(place, 0) + 1
    if count > 1 or len(places) < MOST_PLACES:
        places[place] = count
    return count > SAME_PLACE


def _close_all(reader: _Reader) -> None:
    for voice in reader.voices.values():
        voice.family = voice.part = ""
        voice.traceback = False
    reader.open = 0


def _line(reader: _Reader, number: int, whole: str) -> Line | None:
    text, who, pid, rank, level = unprefixed(whole)
    voice = reader.voice(who, pid, rank)
    before = voice.inside
    line = _formed(reader.file, number, text, voice) or _continued(reader.file, number, text, voice, level)
    reader.open += voice.inside - before
    return line


def _formed(file: LogFile, number: int, text: str, voice: _Voice) -> Line | None:
    """A line that opens with a form of its own; it ends whatever block the voice was in."""
    if "):" in text and (match := PLOG.search(text)) is not None:
        _end(voice)
        ids = [part.strip() for part in match["ids"].split(",")]
        pid = int(ids[0]) if ids[0].isascii() and ids[0].isdigit() else voice.pid
        if file.on_device and file.pid is not None:
            pid = file.pid  # the process on the host: the line names the device's own
        voice.time, voice.pid = nanoseconds(match["time"]), pid
        return _made(
            file, number, match["text"].strip(), voice, match["level"], module=match["module"], where=match["where"] or ""
        )
    if "(PID:" in text and (match := ERR.search(text)) is not None:
        _end(voice)
        voice.time, voice.pid = nanoseconds(match["time"]), int(match["pid"])
        voice.rank = int(match["rank"]) if int(match["rank"]) >= 0 else voice.rank
        voice.device = int(match["device"]) if int(match["device"]) >= 0 else voice.device
        return _made(file, number, match["text"], voice, "ERROR", module="PTA")
    if MANAGED.search(text):
        for form in MANAGER:
            if (match := form.search(text)) is not None:
                return _headline(file, number, text, voice, match)
    if "Traceback (most recent call last)" in text and not voice.family:
        _end(voice)
        voice.traceback = True
        return _made(file, number, text, voice, "", part="frame")
    return None


def _headline(file: LogFile, number: int, text: str, voice: _Voice, match: re.Match[str]) -> Line:
    found = match.groupdict()
    _end(voice)
    known = found.get("time")
    if known:
        voice.time = nanoseconds(known)
    voice.pid = int(found["pid"]) if found.get("pid") else voice.pid
    voice.family, voice.part = found["code"], "headline"
    level = "WARNING" if found["code"].startswith("W") else "ERROR"
    return _made(file, number, text, voice, level, family=found["code"], part="headline", own_time=bool(known))


def _continued(file: LogFile, number: int, text: str, voice: _Voice, level: str) -> Line | None:
    if voice.traceback:
        frame = FRAME.match(text)
        if frame is not None:
            voice.site = f"{frame['file']}:{frame['line']}"
            return None
        if not text.strip() or text[:1] in " \t":
            return None
        voice.traceback = False
        return _made(file, number, text, voice, "ERROR", part="raised", where=voice.site)
    if voice.family:
        stripped = text.strip()
        if re.match(r"TraceBack \(most recent call last\)", stripped, re.IGNORECASE):
            voice.part = "trace"
            return None
        if HINT.match(text):
            voice.part = "hint"
        if stripped and (text[:1] in " \t" or "[FUNC:" in text or voice.part == "hint"):
            part = "trace" if voice.part == "headline" else voice.part
            return _made(file, number, stripped, voice, "" if part == "hint" else "ERROR", family=voice.family, part=part)
        _end(voice)
    if not text.strip():
        return None
    if HINT.match(text):
        return _made(file, number, text.strip(), voice, level, part="hint")
    if RAISED.match(text):
        return _made(file, number, text, voice, "ERROR", part="raised")
    if CALM_TEXT.match(text):
        level = "WARNING"
    return _made(file, number, text.strip(), voice, level or ("ERROR" if FOREIGN.match(text) else ""))


def _end(voice: _Voice) -> None:
    voice.family = voice.part = voice.site = ""
    voice.traceback = False


def _made(
    file: LogFile,
    number: int,
    text: str,
    voice: _Voice,
    level: str,
    *,
    module: str = "",
    where: str = "",
    family: str = "",
    part: str = "",
    own_time: bool | None = None,
) -> Line:
    known = bool(module) if own_time is None else own_time
    return Line(
        file.shown,
        number,
        text,
        level,
        module,
        voice.pid,
        voice.time,
        known,
        where,
        voice.rank,
        voice.device,
        voice.worker,
        family,
        part,
    )
