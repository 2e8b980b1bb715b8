"""Top without a terminal: what is known, how a frame fits its screen, and what keys do."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cli.top.keys import apply, keys
from cli.top.screen import frame, sparkline
from cli.top.state import State
from cli.top.who import Who, who
from diag.smi_text import parse

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"


def state(name: str = "info_910B4_x2_24.1.rc2_busy.txt", looks: int = 1) -> State:
    made = State(2.0)
    for at in range(looks):
        made.take(parse((SAMPLES / name).read_bytes().decode()), 1_700_000_000.0 + at)
    return made


def drawn(known: State, width: int = 80, height: int = 24) -> list[str]:
    return ["".join(piece.text for piece in line) for line in frame(known, width, height)]


def test_sparkline() -> None:
    assert sparkline([0, 12, 13, 50, 99, 100], 8) == "  ▁▁▂▅██"
    assert sparkline([None, 100], 2) == " █"
    assert sparkline(range(0, 101, 10), 3) == "▇██"
    assert sparkline([], 4) == "    " and sparkline([5], 0) == ""


def test_a_frame() -> None:
    lines = drawn(state(looks=3))
    assert lines[0].endswith("driver 24.1.rc2  2 devices, 1 busy, 2 processes")
    assert lines[2].startswith("0/0   910B4       OK          212.3   58    29.2/32.0  94%")
    assert lines[2].endswith("███") and lines[3].endswith("▁▁▁")
    assert lines[6].startswith("  914402  -         0/0        26988  VLLMWorker_TP")
    assert lines[7].startswith("  914377")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (80, 10), (60, 6), (40, 24)])
@pytest.mark.parametrize("name", ["info_910B3_x8_23.0.7_idle.txt", "info_A3_x2_25.5.1_two_dies.txt", "fail_8005_no_driver.txt"])
def test_a_frame_fills_the_screen_and_no_more(name: str, width: int, height: int) -> None:
    lines = drawn(state(name), width, height)
    assert len(lines) == height


def test_devices_that_do_not_fit_are_counted() -> None:
    text = "\n".join(drawn(state("info_910B3_x8_23.0.7_idle.txt"), 80, 10))
    assert "... 5 more devices: make the window higher" in text


def test_a_failure_keeps_the_screen_and_leaves_a_gap() -> None:
    known = state()
    known.take(parse((SAMPLES / "fail_8005_no_driver.txt").read_text(encoding="utf-8")), 1.0)
    assert "npu-smi failed: " in drawn(known)[1]
    assert list(known.uses[0, 0]) == [94, None]


def test_sort_and_filter() -> None:
    known = state()
    assert [row.process.pid for row in known.shown()] == [914402, 914377]
    apply(known, "s")
    apply(known, "s")
    assert (known.sort, [row.process.pid for row in known.shown()]) == ("pid", [914377, 914402])
    for key in keys("/vLLM"):
        apply(known, key)
    assert "filter: vLLM_" in drawn(known)[-1]
    assert [row.process.pid for row in known.shown()] == [914402]
    apply(known, "\x7f")
    apply(known, "enter")
    assert (known.filter, known.typing) == ("vLL", False)
    apply(known, "/")
    apply(known, "z")
    assert "no process matches the filter" in "\n".join(drawn(known))
    apply(known, "escape")
    assert known.filter == "" and len(known.shown()) == 2


def test_keys_come_one_by_one() -> None:
    assert keys("s\x1b[Bk") == ["s", "down", "k"]
    assert keys("\x1b[A\x1bOB\r\x1b[15~q") == ["up", "down", "enter", "q"]
    assert keys("\x1b") == ["escape"]


def test_ending_a_process_is_asked_first() -> None:
    known, sent = state(), []

    def end(pid: int, number: int) -> None:
        sent.append((pid, number))

    apply(known, "down", end)
    apply(known, "k", end)
    assert drawn(known)[-1].startswith("end pid 914377 (python3.10) of unknown user? y = terminate, 9 = kill")
    apply(known, "n", end)
    assert sent == [] and known.asking is None
    for key in ("k", "y", "k", "9"):
        apply(known, key, end)
    assert sent == [(914377, signal.SIGTERM), (914377, signal.SIGKILL)]
    assert drawn(known)[-1] == "SIGKILL sent to pid 914377"
    assert not apply(known, "q", end)


@pytest.mark.parametrize(("error", "said"), [
    (ProcessLookupError, "pid 914402 is not there: it has ended, or belongs to another pid namespace"),
    (PermissionError, "no permission to end pid 914402 of another user"),
])  # fmt: skip
def test_what_cannot_be_ended_says_why(error: type[OSError], said: str) -> None:
    known = state()

    def end(pid: int, number: int) -> None:
        raise error

    apply(known, "k", end)
    apply(known, "y", end)
    assert known.message == said


def test_letters_that_would_move_the_cursor_are_masked() -> None:
    known = state()
    known.rows[0] = known.rows[0].__class__(known.rows[0].process, Who("root", "python \x1b[2J x"))
    assert "\x1b" not in "".join(drawn(known))


def test_who() -> None:
    me = who(os.getpid())
    assert me.user and "python" in me.command
    assert who(4_194_305) == Who()
