"""Chrome trace JSON as a stream of events: array or object form, plain or gzip, cut, damaged or badly escaped.

How a file is read:
1. The place of the event array is found; what stands beside it (distributedInfo, metadata ...) is kept for `Source.beside`.
2. Windows of CHUNK bytes are cut behind an event and decoded typed. A cut inside a nested list makes the window invalid JSON,
   so a window that decodes was cut right.
3. A window that does not decode is repaired where writers are known to err (control characters, lone backslashes, NaN, bytes
   that are no UTF-8, a comma before the end); what is still invalid is stepped over, event by event, and counted.
4. Events one a line, another list behind the end of the first, and UTF-16 are read as well, and said to be no valid JSON.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Any

import msgspec

CHUNK = 256 << 10  # bytes: what fits into the caches of a core is decoded a third faster than 4 MiB (bench/readers.py)
PIECE = 64 << 10  # bytes decoded at a time where a window is damaged
MOST_DAMAGES = 200  # places stepped over before the rest of a file is given up
MOST_BESIDE = 4 << 20  # bytes of what stands beside the events that are looked at
MOST_HEAD = 64 << 20  # bytes searched for the beginning of the events
MOST_WINDOW = 256 << 20  # bytes one event may take

ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
# Between two events; the second begins like an event, so that lists inside arguments are seldom taken for it.
BORDER = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|args|id|dur|bp|s|tts)")')
END = re.compile(rb"\}\s*,")  # behind an event, or behind an object inside one
BYTE = re.compile(r"\(byte (\d+)\)")
ESCAPE = re.compile(rb'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
NOT_A_NUMBER = re.compile(rb"(:\s*)(?:-?Infinity|-?NaN)(?=\s*[,}\]])")
PHASE = re.compile(rb'"ph"\s*:')
AGAIN = re.compile(rb"\s*\[\s*\{")
UTF16 = (b"\xff\xfe", b"\xfe\xff")
CONTROL = bytes(range(256)).translate(bytes(32 if b < 32 else b for b in range(256)))


class Event(msgspec.Struct, gc=False):
    """One event as written. ts and dur are ints, or texts for all other numbers, so that no digit is lost."""

    ph: str = ""
    name: str = ""
    ts: Any = None
    dur: Any = None
    pid: Any = 0
    tid: Any = 0
    cat: str = ""
    id: Any = None
    args: msgspec.Raw = msgspec.Raw(b"null")
    bp: Any = None
    s: Any = None


DECODER = msgspec.json.Decoder(list[Event], float_hook=str)
LINES = msgspec.json.Decoder(Event, float_hook=str)
LOOSE = msgspec.json.Decoder(list[Any], float_hook=str)


class NotEvents(Exception):
    """The file holds no list of events. what: "blank", "lfs_pointer" or "nothing_unpacked" where its first bytes say what it is,
    else ""."""

    def __init__(self, head: bytes = b"", packed: bool = False) -> None:
        super().__init__()
        text = head.strip(b"\xef\xbb\xbf \r\n\t\0")
        if text:
            self.what = "lfs_pointer" if text.startswith(b"version https://git-lfs") else ""
        else:
            self.what = "nothing_unpacked" if packed else "blank"


class Source:
    """One file. After `events` is used up: `beside` holds the other top-level values, `problems` what was lost and why."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.beside: dict[str, Any] = {}
        self.problems: list[tuple[str, str]] = []
        self._archive_ends = False  # what is packed ended in a damage
        self._repaired = self._odd = self._damages = self._commas = self._numbers = 0

    def events(self) -> Iterator[list[Event]]:
        """Lists of events in file order. NotEvents when there is no list of events; OSError when the file cannot be read."""
        with opened(self.path) as stream:
            window, form = self._begin(stream)
            if form == "lines":
                yield from self._lines(stream, window)
                self._report()
                return
            ended = False
            while not ended:
                block, eof = self._block(stream, CHUNK)
                window += block
                if eof:
                    self._drop_zeros(window)
                cut = self._cut(window) if not eof else len(window)
                while cut == 0 and not eof:
                    block, eof = self._block(stream, max(CHUNK, len(window)))
                    window += block
                    cut = len(window) if eof or len(window) > MOST_WINDOW else self._cut(window)
                found, cut, ended = self._window(bytes(window[:cut]), eof)
                if found:
                    yield found
                del window[:cut]
                if self._damages > MOST_DAMAGES:
                    self.problems.append((f"the rest of {self.path.name}", f"damaged in more than {MOST_DAMAGES} places"))
                    return
                if ended or eof:
                    ended = not self._goes_on(stream, window, form)
            if form == "object":
                self._keep(b"{" + bytes(window[:MOST_BESIDE]).lstrip(b"] \r\n\t,"))
        self._report()

    def _goes_on(self, stream: BufferedIOBase, window: bytearray, form: str) -> bool:
        """Whether another list of events stands behind the end of one; then the window begins with its events."""
        window += self._block(stream, MOST_BESIDE)[0]
        self._drop_zeros(window)
        found = ARRAY.search(window) if form == "object" else AGAIN.match(window)
        if found is None:
            return False
        self._tell(f"the end of the first list of {self.path.name}", "another list of events stands behind the end of the first")
        del window[: found.end() - (form != "object")]
        return True

    def _drop_zeros(self, window: bytearray) -> None:
        if window.endswith(b"\0"):
            whole = len(window)
            window[:] = window.rstrip(b"\0")
            dropped = f"{whole - len(window)} zero bytes stand behind the end of the text"
            self._tell(f"the end of {self.path.name}", f"{dropped}: the file was not cut to its size, or never filled")

    def _lines(self, stream: BufferedIOBase, window: bytearray) -> Iterator[list[Event]]:
        """Events that stand one a line, without a list around them."""
        self._tell(f"the list of events of {self.path.name}", "events stand one a line, without a list around them; all are read")
        eof = False
        while not eof:
            block, eof = self._block(stream, CHUNK)
            window += block
            cut = len(window) if eof else window.rfind(b"\n") + 1
            made: list[Event] = []
            for line in bytes(window[:cut]).splitlines():
                text = line.strip(b" \r\t,\0")
                if not text:
                    continue
                try:
                    made.append(LINES.decode(text))
                except msgspec.ValidationError:
                    made += self._loosely(b"[" + text + b"]")
                except msgspec.DecodeError:
                    self._damages += 1
            if made:
                yield made
            del window[:cut]

    def _tell(self, what: str, why: str) -> None:
        """A problem of the file, once."""
        if (what, why) not in self.problems:
            self.problems.append((what, why))

    def _report(self) -> None:
        name = self.path.name
        if self._repaired:
            self.problems.append((f"exact texts in {name}", "badly escaped JSON was repaired; all events of it are there"))
        if self._numbers:
            self.problems.append((f"values of {name}", "NaN or Infinity stands for numbers, which JSON does not know"))
        if self._commas:
            self.problems.append((f"JSON of {name}", "a comma stands behind the last event; all events are there"))
        if self._odd:
            self.problems.append((f"{self._odd} entries of {name}", "they are no events"))
        if self._damages:
            places = "place" if self._damages == 1 else "places"
            self.problems.append((f"events of {name}", f"the JSON is damaged in {self._damages} {places}"))

    def _block(self, stream: BufferedIOBase, size: int) -> tuple[bytes, bool]:
        """Up to size more bytes, and whether the file ends there; a cut gzip file ends where it is cut."""
        block, damage = unpacked(stream, size)
        if damage is not None and not self._archive_ends:
            self._archive_ends = True
            self._tell(f"the end of {self.path.name}", f"the compressed file is truncated or damaged ({damage})")
        return block, len(block) < size

    def _begin(self, stream: BufferedIOBase) -> tuple[bytearray, str]:
        """(first bytes of the events, form of the file: array, object, lines)."""
        if isinstance(stream, BytesIO):
            self._tell(f"bytes of {self.path.name}", "it is UTF-16, and JSON must be UTF-8; it is read all the same")
        head = bytearray()
        eof = False
        while not eof:
            block, eof = self._block(stream, 1 << 20)
            head += block
            text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
            if text.startswith(b"["):
                if not re.match(rb"\[\s*[{\]]", text):
                    raise NotEvents(bytes(head), self._archive_ends)
                return bytearray(text[1:]), "array"
            if one_a_line(text):
                return bytearray(text), "lines"
            if not text.startswith(b"{") or len(head) > MOST_HEAD:
                raise NotEvents(bytes(head), self._archive_ends)
            found = ARRAY.search(head)
            if found:
                before = bytes(head[: found.start()]).lstrip(b"\xef\xbb\xbf \r\n\t").rstrip(b", \r\n\t")
                self._keep(before + b"}")
                return bytearray(head[found.end() :]), "object"
        raise NotEvents(bytes(head), self._archive_ends)

    def _keep(self, text: bytes) -> None:
        """Top-level values beside the events; what is cut or unreadable there is no loss of events."""
        try:
            values = json.loads(text.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError):
            return
        if isinstance(values, dict):
            self.beside |= values

    @staticmethod
    def _cut(window: bytearray, skip: int = 0) -> int:
        """Length of the window up to the last border between events but `skip`; 0 when there is none."""
        reach = 64 << 10
        while True:
            begin = max(0, len(window) - reach)
            found = list(BORDER.finditer(window, begin))
            if len(found) > skip:
                return found[-1 - skip].end()
            if begin == 0:
                return 0
            reach *= 8

    def _window(self, data: bytes, last: bool) -> tuple[list[Event], int, bool]:
        """(events of a window, bytes used, whether the array ended in it)."""
        if last and not data.strip(b" \r\n\t,"):
            self.problems.append((f"the end of {self.path.name}", "the file is truncated: its list of events is not closed"))
            return [], len(data), True
        try:
            return self._decode(b"[" + (data if last else data.rstrip(b" \r\n\t,") + b"]")), len(data), last
        except msgspec.DecodeError as error:
            at = _byte(error)
            if "trailing characters" in str(error) and at is not None:
                used = at - 2  # the place is counted behind the first byte too many, and one bracket was put in front
                if not last and used >= len(data.rstrip(b" \r\n\t,")):
                    return self._decode(b"[" + data[:used]), len(data), False
                return self._decode(b"[" + data[:used]), used, True
            if not last and "truncated" in str(error):  # the cut lay in a nested list: try the borders before it
                for skip in range(1, 6):
                    cut = self._cut(bytearray(data), skip)
                    if not cut:
                        break
                    try:
                        return self._decode(b"[" + data[:cut].rstrip(b" \r\n\t,") + b"]"), cut, False
                    except msgspec.DecodeError:
                        continue
            truncated = last and "truncated" in str(error)
            if truncated:
                self.problems.append((f"the end of {self.path.name}", "the file is truncated; all whole events in it are read"))
            return self._salvage(data, truncated), len(data), last

    def _whole(self, text: bytes) -> list[Event]:
        """Events of a stretch, also when the end of the list and of the file stand behind them."""
        try:
            return self._decode(b"[" + text + b"]")
        except msgspec.DecodeError as error:
            at = _byte(error)
            if "trailing characters" not in str(error) or at is None:
                raise
            return self._decode(b"[" + text[: at - 2])

    def _decode(self, text: bytes) -> list[Event]:
        try:
            return DECODER.decode(text)
        except msgspec.ValidationError:
            return self._loosely(text)

    def _loosely(self, text: bytes) -> list[Event]:
        """Events whose fields have odd types, one by one."""
        made = []
        for value in LOOSE.decode(text):
            if not isinstance(value, dict):
                self._odd += 1
                continue
            texts = {n: "" if value.get(n) is None else str(value[n]) for n in ("ph", "name", "cat")}
            rest = {n: value.get(n) for n in ("ts", "dur", "pid", "tid", "id")}
            made.append(Event(**texts, **rest, args=msgspec.Raw(msgspec.json.encode(value.get("args")))))  # type: ignore[arg-type]
        return made

    def _salvage(self, data: bytes, truncated: bool) -> list[Event]:
        """Whole events of a damaged stretch: pieces that decode as they are, then repaired, then around each damage."""
        made: list[Event] = []
        begin = 0
        while begin < len(data) and self._damages <= MOST_DAMAGES:
            border = BORDER.search(data, begin + PIECE)
            end = border.end() if border else len(data)
            made += self._piece(data[begin:end], truncated and end == len(data))
            begin = end
        return made

    def _piece(self, piece: bytes, truncated: bool) -> list[Event]:
        made: list[Event] = []
        while piece.strip(b" \r\n\t,]}"):
            body = piece.rstrip(b" \r\n\t,")
            try:
                return made + self._whole(body)
            except msgspec.DecodeError as error:
                at = _byte(error)
                comma = body.rfind(b",", 0, at) if at is not None and "trailing comma" in str(error) else -1
            if comma >= 0:
                self._commas += 1
                piece = body[:comma] + b" " + body[comma + 1 :]
                continue
            mended = repaired(body)
            if mended != body:
                try:
                    found = self._whole(mended)
                except msgspec.DecodeError as error:
                    body, at = mended, _byte(error)
                else:
                    self._count_repairs(body)
                    return made + found
            at = len(body) if at is None else min(max(at - 1, 0), len(body))
            if not truncated or at < len(body):
                self._damages += 1
            made += self._before(body, at)
            following = BORDER.search(body, at)
            if following is None or self._damages > MOST_DAMAGES:
                break
            piece = body[following.end() :]
        return made

    def _count_repairs(self, body: bytes) -> None:
        numbers = NOT_A_NUMBER.search(body) is not None
        self._numbers += numbers
        self._repaired += not numbers or repaired(NOT_A_NUMBER.sub(rb'\1"NaN"', body)) != NOT_A_NUMBER.sub(rb'\1"NaN"', body)

    def _before(self, body: bytes, at: int) -> list[Event]:
        """The whole events in front of a damage."""
        borders = [m.start() + 1 for m in END.finditer(body, 0, min(len(body), at + 2)) if m.start() < at]
        for end in reversed(borders[-40:]):
            try:
                return self._decode(b"[" + body[:end] + b"]")
            except msgspec.DecodeError:
                continue
        return []


def opened(path: Path) -> BufferedIOBase:
    """A file for reading, decompressed when it is gzip, as UTF-8 when it is UTF-16."""
    stream = path.open("rb")
    magic = stream.read(2)
    stream.seek(0)
    if magic in UTF16:
        with stream:
            return BytesIO(stream.read().decode("utf-16", "replace").encode())
    return gzip.GzipFile(fileobj=stream) if magic == b"\x1f\x8b" else stream


def unpacked(stream: BufferedIOBase, size: int) -> tuple[bytes, Exception | None]:
    """Up to size more bytes, and what kept a damaged gzip file from giving more of them."""
    pieces: list[bytes] = []
    have = 0
    try:
        while have < size and (piece := stream.read1(size - have)):
            pieces.append(piece)
            have += len(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def one_a_line(text: bytes | bytearray) -> bool:
    """Whether an event alone stands in the first line and another one begins behind it."""
    line, _, rest = text.partition(b"\n")
    alone = line.startswith(b"{") and line.rstrip().endswith(b"}") and PHASE.search(line) is not None
    return alone and rest.lstrip().startswith(b"{")


def repaired(text: bytes) -> bytes:
    """The text with the usual mistakes of writers put right: control characters inside texts, lone backslashes, bare NaN and
    Infinity, bytes that are no UTF-8."""
    text = text.translate(CONTROL)
    text = ESCAPE.sub(lambda m: m[0] if m[1] else b"\\\\", text)
    text = NOT_A_NUMBER.sub(rb'\1"NaN"', text)
    return text.decode("utf-8", "replace").encode()


def _byte(error: msgspec.DecodeError) -> int | None:
    found = BYTE.search(str(error))
    return int(found[1]) if found else None
