"""Who a process number belongs to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from npu.driver.alive import look


def test_this_process_is_itself() -> None:
    me = look(os.getpid())
    assert me is not None
    assert me.pid == os.getpid()
    assert me.start == int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


def test_a_number_nobody_has() -> None:
    assert look(2**22 + 1) is None
    assert look(-1) is None


def test_names_may_hold_blanks_and_brackets() -> None:
    rename = "import ctypes; ctypes.CDLL(None).prctl(15, b'a) R (b: c', 0, 0, 0); print(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", rename], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    found = look(child.pid)
    child.communicate(b"\n")
    assert found is not None
    assert found.name == "a) R (b: c"
    assert look(child.pid) is None
