"""The sentence for a refusal: both codes and the distinct cause, so that a log alone leads back to it; and the recent ones."""

from __future__ import annotations

import threading
import tomllib
from collections import deque
from functools import cache
from importlib import resources

from npu.errors import NpuError, both


@cache
def templates() -> dict[str, str]:
    """Situation -> sentence with its facts in braces."""
    return tomllib.loads(resources.files("npu").joinpath("data/messages.toml").read_text(encoding="utf-8"))


class _Facts(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"


def sentence(error: NpuError) -> str:
    """What happened, in one sentence with its facts."""
    facts = {k: hex(v) if isinstance(v, int) and k in ("pointer", "dst", "src", "handle") else v for k, v in error.facts.items()}
    told = ", ".join(f"{k} {v}" for k, v in facts.items()) or "no further facts"
    template = templates().get(error.situation, "{facts}")
    return template.format_map(_Facts(facts, facts=told))


def message(call: str, error: NpuError) -> str:
    """The recent error message of a failed call: call, code returned, the public header's code where it differs, cause."""
    article, header = both(error.situation)
    code = error.code
    other = header if code == article else article
    known = f"{code}" if article == header else f"{code} ({'public header' if code == article else 'articles'}: {other})"
    return f"{call} failed, error code {known}, cause {error.situation}: {sentence(error)}"


class RecentErrors:
    """What failed calls have said since somebody asked, the newest first: of the calling thread, or with whole_process (the
    setting err_msg_mode "1" of acl.json) of all threads."""

    MOST = 16

    def __init__(self) -> None:
        self.whole_process = False
        self._all: deque[tuple[int, str]] = deque(maxlen=self.MOST)

    def add(self, text: str) -> None:
        self._all.appendleft((threading.get_ident(), text))

    def take(self) -> str | None:
        """All of them as lines, which are forgotten then; None when there is none."""
        me = threading.get_ident()
        mine = [one for one in self._all if self.whole_process or one[0] == me]
        self._all = deque((one for one in self._all if one not in mine), maxlen=self.MOST)
        return "\n".join(text for _, text in mine) or None
