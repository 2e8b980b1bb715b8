"""The device table under processes that are killed at any moment."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from npu.driver.state import Table

CAPACITY = 1000
CLIENT = textwrap.dedent("""
    import random, sys
    from npu.driver.state import Table
    folder, seed, comes_and_goes = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "comes and goes"
    chance, table = random.Random(seed), Table.open(folder)
    slot, mine = table.attach(), []
    print("ready", flush=True)
    while True:
        size = chance.randrange(1, 200)
        if chance.random() < 0.6:
            if table.reserve(slot, 0, size, 1, %d):
                mine.append(size)
        elif mine:
            table.release(slot, 0, mine.pop(chance.randrange(len(mine))), 1)
        if comes_and_goes and chance.random() < 0.02:
            table.drop(slot)
            slot, mine = table.attach(), []
""") % CAPACITY


def start(folder: Path, seed: int, how: str = "comes and goes") -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CLIENT, str(folder), str(seed), how], stdout=subprocess.PIPE, text=True)


def ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"


def storm(folder: Path, count: int, kills: int) -> None:
    """Clients book and give back without pause; again and again one is killed and another takes its place."""
    chance, table = random.Random(count), Table.open(str(folder))
    children = [start(folder, seed) for seed in range(count)]
    try:
        for child in children:
            ready(child)
        for seed in range(kills):
            time.sleep(chance.random() * 0.02)
            number = chance.randrange(count)
            dying = children[number]
            dying.send_signal(signal.SIGKILL)
            children[number] = start(folder, 1000 + seed)
            dying.wait()
            clients = table.clients()
            assert dying.pid not in [client.pid for client in clients]
            assert sum(use.held for client in clients for use in client.uses.values()) <= CAPACITY
            ready(children[number])
    finally:
        for child in children:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
    assert table.clients() == []
    slot = table.attach()
    assert table.reserve(slot, 0, CAPACITY, 0, CAPACITY), "what the dead held is free again, all of it"
    assert not table.reserve(slot, 0, 1, 0, CAPACITY)
    table.close()


def test_killed_clients_leave_nothing_behind(tmp_path: Path) -> None:
    storm(tmp_path, count=3, kills=6)


@pytest.mark.slow
def test_thirty_two_clients_killed_at_random(tmp_path: Path) -> None:
    storm(tmp_path, count=32, kills=60)


def test_a_zombie_holds_nothing(tmp_path: Path) -> None:
    """Killed but not yet waited for: the kernel has taken its memory back, and so has the device."""
    table = Table.open(str(tmp_path))
    child = start(tmp_path, 1, "stays")
    ready(child)
    assert [client.pid for client in table.clients()] == [child.pid]
    child.kill()
    deadline = time.monotonic() + 5
    while "Z" not in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2] and time.monotonic() < deadline:
        time.sleep(0.005)
    assert table.clients() == []
    child.wait()
    assert child.stdout is not None
    child.stdout.close()
    table.close()
