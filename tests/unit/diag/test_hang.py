"""What a process waits for: made-up /proc trees for what this machine has not, real children for what it has."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from diag.hang import Hang, log_folder, look, table
from diag.proc import process

NUMBER = {
    "x86_64": {"ioctl": 16, "futex": 202, "read": 0, "recvmsg": 47},
    "aarch64": {"ioctl": 29, "futex": 98, "read": 63, "recvmsg": 212},
}


def call(name: str, descriptor: int = 3) -> str:
    return f"{NUMBER[platform.machine()][name]} {descriptor:#x} 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00"


Made = Callable[..., Path]


@pytest.fixture
def proc(tmp_path: Path) -> Made:
    """proc(7, threads=[(state, wchan, syscall, stack)], fds={3: target}) makes a /proc with that process."""

    def make(
        pid: int, threads: list[tuple[str, str, str, str]], fds: Mapping[int, str] | None = None, environ: str = "", tcp: str = ""
    ) -> Path:
        home = tmp_path / "proc" / str(pid)
        (home / "fd").mkdir(parents=True)
        (home / "net").mkdir()
        for number, target in (fds or {}).items():
            (home / "fd" / str(number)).symlink_to(target)
        (home / "cmdline").write_bytes(b"python3\0train.py\0")
        (home / "environ").write_bytes(environ.replace(" ", "\0").encode())
        (home / "status").write_text("Name:\tpython3\nPPid:\t1\n")
        (home / "net/tcp").write_text("  sl  local rem\n" + tcp)
        for offset, (state, wchan, syscall, stack) in enumerate(threads):
            task = home / "task" / str(pid + offset)
            task.mkdir(parents=True)
            (task / "comm").write_text(f"t{offset}\n")
            (task / "stat").write_text(f"{pid + offset} (a (b) c) {state} 1 " + " ".join(["0"] * 9) + " 5 5 0 0\n")
            (task / "wchan").write_text(wchan)
            (task / "syscall").write_text(syscall + "\n")
            (task / "stack").write_text(stack)
        return tmp_path / "proc"

    return make


def looked(root: Path, pid: int = 7) -> Hang:
    return look(pid, root, lambda _: None)


def test_a_call_on_a_device_node_waits_for_the_device(proc: Made) -> None:
    found = looked(proc(7, [("S", "0", call("ioctl", 5), "")], {5: "/dev/davinci_manager", 6: "/dev/davinci3"}))
    assert (found.kind, found.place) == ("device", "ioctl /dev/davinci_manager")
    assert found.process.devices == ("/dev/davinci3", "/dev/davinci_manager")
    assert found.hangs


def test_a_thread_in_the_driver_is_what_waiting_threads_wait_for(proc: Made) -> None:
    stack = "[<0>] devdrv_wait_event+0x10/0x20\n[<0>] ksys_ioctl+0x1/0x2\n"
    found = looked(proc(7, [("S", "futex_wait_queue", call("futex"), ""), ("D", "down_timeout", "running", stack)]))
    assert found.kind == "device"
    assert [w.kind for w in found.waits] == ["thread", "device"]


@pytest.mark.parametrize(("thread", "fds", "kind"), [
    (("S", "futex_wait_queue", "", ""), {}, "thread"),  # the system call is hidden from this user
    (("S", "pipe_read", call("read"), ""), {3: "pipe:[77]"}, "pipe"),
    (("S", "0", call("read"), ""), {3: "socket:[5]"}, "network"),
    (("S", "sk_wait_data", call("recvmsg"), ""), {3: "socket:[5]"}, "network"),
    (("D", "nfs_wait_bit_killable", "", ""), {}, "disk"),
    (("S", "do_wait", "", ""), {}, "child"),
    (("T", "do_signal_stop", "", ""), {}, "stopped"),
    (("Z", "0", "", ""), {}, "ended"),
    (("S", "something_new", "", ""), {}, "unknown"),
])  # fmt: skip
def test_kinds_of_waits(proc: Made, thread: tuple[str, str, str, str], fds: dict[int, str], kind: str) -> None:
    assert looked(proc(7, [thread], fds)).kind == kind


def test_connections_of_the_process_only(proc: Made) -> None:
    rows = (
        "   0: 0100007F:1F90 0200000A:D431 02 00000000:00000000 00:00000000 00000000  1000        0 5 1 0\n"
        "   1: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 6 1 0\n"
    )
    found = process(7, proc(7, [("S", "0", "", "")], {3: "socket:[5]"}, tcp=rows))
    (connection,) = found.connections
    assert (connection.local, connection.peer, connection.state) == ("127.0.0.1:8080", "10.0.0.2:54321", "SYN_SENT")


def test_its_log_is_found_by_its_environment_and_judged(proc: Made, tmp_path: Path) -> None:
    folder = tmp_path / "logs/debug/plog"
    folder.mkdir(parents=True)
    line = "[ERROR] HCCL(7,python3):2026-08-05-07:05:46.521.115 [a.cc:1] [7]listen on ip[10.0.0.1] and specific port[16666] fail."
    (folder / "plog-7_20260805070546000.log").write_text("[INFO] first\n" + line + "\n")
    (folder / "plog-8_20260805070546000.log").write_text(line.replace("listen", "Open so x failed"))
    found = looked(proc(7, [("S", "0", "", "")], environ=f"A=1 ASCEND_PROCESS_LOG_PATH={tmp_path}/logs HOME=/nowhere"))
    assert found.log is not None and found.log.cause is not None
    assert found.log.cause.cause == "hccl_listen_port_in_use"
    assert found.last == ("[INFO] first", line)


def test_order_of_log_folders(proc: Made, tmp_path: Path) -> None:
    (tmp_path / "home/ascend/log").mkdir(parents=True)
    root = proc(7, [("S", "0", "", "")], environ=f"HOME={tmp_path}/home")
    assert log_folder(process(7, root)) == tmp_path / "home/ascend/log"


def test_no_such_process(tmp_path: Path) -> None:
    with pytest.raises(ProcessLookupError):
        look(99, tmp_path)


def test_texts_in_both_languages() -> None:
    for kind, entry in table().items():
        for part in ("title", "meaning", "do"):
            assert set(entry[part]) == {"en", "zh"}, (kind, part)
        assert len(entry["do"]["en"]) == len(entry["do"]["zh"]) > 0


@pytest.fixture
def child() -> Iterator[Callable[[str], int]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> int:
        words = [sys.executable, "-c", code + "\n"]
        running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        started.append(running)
        assert running.stdout is not None and running.stdout.readline() == b"ready\n"
        time.sleep(0.1)
        return running.pid

    yield start
    for running in started:
        os.killpg(running.pid, signal.SIGKILL)  # with its own children
        running.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("code", "kind"), [
    ("import threading; l = threading.Lock(); l.acquire(); l.acquire()", "thread"),
    ("import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()", "network"),
    ("import sys; sys.stdin.read()", "pipe"),
    ("import time; time.sleep(60)", "sleep"),
    ("import subprocess; subprocess.run(['sleep', '60'])", "child"),
    ("while True: pass", "busy"),
])  # fmt: skip
def test_real_children(child: Callable[[str], int], code: str, kind: str) -> None:
    found = look(child(f"print('ready', flush=True)\n{code}"))
    assert found.kind == kind
    assert found.hangs is (kind != "busy")
