"""Reading the HTML pages back: their script elements as a browser cuts them, their columns as the page decodes them."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from profiler.report.pack import Entry


def unpacked(blob: str, entry: Entry) -> Any:
    """A whole-number, float32 or text column of the packed columns."""
    data = zlib.decompress(base64.b64decode(blob))
    at, rows, planes = int(entry["at"]), int(entry["rows"]), int(entry["planes"])
    if entry["form"] == "text":
        return data[at : at + rows].decode()
    cut = np.frombuffer(data, np.uint8, rows * planes, at).reshape(planes, rows)
    if entry["form"] == "real":
        return np.ascontiguousarray(cut.T).view("<f4").ravel()
    whole = np.zeros(rows, np.int64) + int(entry["low"])
    for plane in range(planes):
        whole += cut[plane].astype(np.int64) << (8 * plane)
    return whole


class Page(HTMLParser):
    """A written page: script texts by id ("code" for the program), element names, and every address it would ask for."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.addresses: list[str] = []
        self.elements: list[str] = []
        self._id: str | None = None
        self.feed(path.read_text(encoding="utf-8"))

    @property
    def facts(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.texts["facts"])
        return made

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements.append(tag)
        self.addresses += [str(values[a]) for a in ("src", "href") if values.get(a)]
        self._id = (values.get("id") or "code") if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._id = None

    def handle_data(self, data: str) -> None:
        if self._id is not None:
            self.texts[self._id] = self.texts.get(self._id, "") + data
