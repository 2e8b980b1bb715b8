"""Keys: read from the terminal one at a time without waiting for Enter, and what each does to the state."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cli.top.state import State

ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b": "escape", "\r": "enter", "\n": "enter"}
SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.)|.", re.DOTALL)  # ECMA-48 control sequence, or one letter
ERASE = ("\x7f", "\b")


@contextmanager
def single_keys() -> Iterator[int | None]:
    """The terminal's descriptor with keys coming one by one; its old settings come back in every case. None without one."""
    if not sys.stdin.isatty():
        yield None
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def pressed(descriptor: int | None, seconds: float) -> list[str]:
    """The keys that came within that time, none when there were none. Arrows come as words."""
    if descriptor is None:
        select.select([], [], [], seconds)
        return []
    if not select.select([descriptor], [], [], seconds)[0]:
        return []
    return keys(os.read(descriptor, 1024).decode("utf-8", "replace"))


def keys(read: str) -> list[str]:
    """What was read, key by key: fast typing and pasting bring several at once. Unknown sequences are dropped."""
    return [ARROWS.get(key, key) for key in SEQUENCE.findall(read) if key in ARROWS or not key.startswith("\x1b")]


def apply(state: State, key: str, end: Callable[[int, int], None] = os.kill) -> bool:
    """What a key does; False for leaving. end(pid, signal): how a process is ended."""
    state.message = ""
    if state.asking is not None:
        _answer(state, key, end)
    elif state.typing:
        _typed(state, key)
    elif key == "q":
        return False
    elif key == "s":
        state.next_sort()
    elif key == "/":
        state.typing, state.filter = True, ""
    elif key in ("up", "down"):
        state.move(-1 if key == "up" else 1)
    elif key == "k":
        state.asking = state.current()
    return True


def _answer(state: State, key: str, end: Callable[[int, int], None]) -> None:
    asked, state.asking = state.asking, None
    sent = {"y": signal.SIGTERM, "9": signal.SIGKILL}.get(key)
    if asked is None or sent is None:
        return
    pid = asked.process.pid
    try:
        end(pid, sent)
    except ProcessLookupError:
        state.message = f"pid {pid} is not there: it has ended, or belongs to another pid namespace"
    except PermissionError:
        state.message = f"no permission to end pid {pid} of {asked.who.user or 'another user'}"
    else:
        state.message = f"{sent.name} sent to pid {pid}"


def _typed(state: State, key: str) -> None:
    if key == "enter":
        state.typing = False
    elif key == "escape":
        state.typing, state.filter = False, ""
    elif key in ERASE:
        state.filter = state.filter[:-1]
    elif len(key) == 1 and key.isprintable():
        state.filter += key
    state.selected = 0
