"""The device table: bookings, refusals, silence, facts, fork, foreign files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu.driver import state
from npu.driver.alive import Process
from npu.driver.door import DriverError
from npu.driver.shared import state_folder
from npu.driver.state import SLOTS, Client, Facts, Slot, Table, Use

GIB = 1 << 30


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    opened = Table.open(str(tmp_path / "state"))
    yield opened
    opened.close()


@pytest.fixture
def population(monkeypatch: pytest.MonkeyPatch) -> dict[int, Process]:
    """Processes that exist, by number, instead of the machine's."""
    made: dict[int, Process] = {pid: Process(pid, 7, f"p{pid}") for pid in range(1, SLOTS + 3)}
    monkeypatch.setattr(state, "look", made.get)
    return made


def held(table: Table, device: int = 0) -> dict[int, int]:
    return {client.pid: client.uses[device].held for client in table.clients() if device in client.uses}


def test_bookings_are_seen_by_other_lookers(table: Table, tmp_path: Path) -> None:
    slot = table.attach()
    assert table.reserve(slot, 3, 10 * GIB, 5, 60 * GIB)
    assert table.reserve(slot, 3, 1 * GIB, 0, 60 * GIB)
    other = Table.open(str(tmp_path / "state"))
    name = Path(f"/proc/{os.getpid()}/comm").read_text(encoding="utf-8").rstrip("\n")
    assert other.clients() == [Client(os.getpid(), name, {3: Use(11 * GIB, 5, 0, 0, 0, 0, 0)})]
    table.release(slot, 3, 10 * GIB, 5)
    assert other.clients()[0].uses[3] == Use(GIB, 0, 0, 0, 0, 0, 0)
    table.drop(slot)
    assert other.clients() == []
    other.close()


def test_capacity_is_shared_to_the_last_byte(table: Table, population: dict[int, Process]) -> None:
    first, second = table.attach(1), table.attach(2)
    assert table.reserve(first, 0, 60, 0, 100)
    assert not table.reserve(second, 0, 41, 0, 100)
    assert table.reserve(second, 0, 40, 0, 100)
    assert not table.reserve(first, 0, 1, 0, 100)
    assert table.reserve(first, 1, 100, 0, 100), "another device has a capacity of its own"
    assert held(table) == {1: 60, 2: 40}


def test_a_refusal_first_counts_without_the_dead(table: Table, population: dict[int, Process]) -> None:
    first, second = table.attach(1), table.attach(2)
    assert table.reserve(first, 0, 100, 50, 100)
    del population[1]
    assert table.reserve(second, 0, 100, 0, 100)
    assert held(table) == {2: 100}


def test_only_a_refusal_looks_at_processes(table: Table, population: dict[int, Process], monkeypatch: pytest.MonkeyPatch) -> None:
    """Booking must stay cheap: /proc costs 10 us a client."""
    slot = table.attach(1)
    monkeypatch.setattr(state, "look", None)
    for _ in range(3):
        assert table.reserve(slot, 0, 100, 0, 100)
        table.release(slot, 0, 100, 0)
    assert table.reserve(slot, 0, 100, 0, 100)
    with pytest.raises(TypeError):
        table.reserve(slot, 0, 1, 0, 100)


def test_a_number_handed_out_again_is_another_process(table: Table, population: dict[int, Process]) -> None:
    slot = table.attach(1)
    assert table.reserve(slot, 0, 100, 0, 100)
    population[1] = Process(1, 8, "stranger")
    assert table.clients() == []
    new = table.attach(1)
    assert table.reserve(new, 0, 100, 0, 100)
    assert [client.name for client in table.clients()] == ["stranger"]
    with pytest.raises(DriverError) as error:
        table.reserve(slot, 0, 1, 0, 100)
    assert error.value.situation == "not_alive"


def test_attach_twice_is_one_client(table: Table) -> None:
    slot = table.attach()
    assert table.attach() == slot
    assert len({client.pid for client in table.clients()}) == 1


def test_all_slots_taken_is_busy_until_one_dies(table: Table, population: dict[int, Process]) -> None:
    slots = [table.attach(pid) for pid in range(1, SLOTS + 1)]
    assert len({slot.number for slot in slots}) == 256
    with pytest.raises(DriverError) as error:
        table.attach(SLOTS + 1)
    assert (error.value.situation, error.value.facts) == ("busy", {"clients": 256})
    del population[100]
    assert table.attach(SLOTS + 1).number == 99
    assert {table.attach(pid).number for pid in (256, 1)} == {255, 0}, "the others are still there"


def test_more_cannot_be_given_back_than_is_held(table: Table) -> None:
    slot = table.attach()
    assert table.reserve(slot, 0, 100, 2, 1000)
    for size, pages in ((101, 0), (0, 3), (-1, 0)):
        with pytest.raises(DriverError) as error:
            table.release(slot, 0, size, pages)
        assert error.value.situation == "free_failed"
    assert held(table) == {os.getpid(): 100}


@pytest.mark.parametrize("device", [-1, 16])
def test_a_device_that_cannot_exist_is_refused(table: Table, device: int) -> None:
    slot = table.attach()
    with pytest.raises(DriverError) as error:
        table.reserve(slot, device, 1, 0, 100)
    assert (error.value.situation, error.value.facts) == ("invalid_device", {"device": device})


def test_shares_are_cut_to_a_thousand_and_silence_is_idle(table: Table) -> None:
    slot = table.attach()
    table.publish(slot, 2, 940, 1200, -3, 500)
    published = table.clients()[0].uses[2].published
    assert table.clients(published + 3_000_000_000)[0].uses[2] == Use(0, 0, 940, 1000, 0, 500, published)
    assert table.clients(published + 3_000_000_001)[0].uses == {}, "silent for more than 3 s and nothing held: not on the device"
    assert table.reserve(slot, 2, 5, 0, 100)
    assert table.clients(published + 3_000_000_001)[0].uses[2] == Use(5, 0, 0, 0, 0, 0, published)
    assert table.clients(published - 3_600_000_000_000)[0].uses[2].aic == 0, "the clock was set back by an hour"


def test_facts_outlive_whoever_set_them(table: Table, tmp_path: Path) -> None:
    assert table.facts(5) == Facts("OK", (), "")
    table.set_health(5, "Critical", ("80E18005", "80DF8000"))
    table.set_soc(5, "Ascend910B3")
    table.close()
    again = Table.open(str(tmp_path / "state"))
    assert again.facts(5) == Facts("Critical", ("80E18005", "80DF8000"), "Ascend910B3")
    again.set_health(5, "OK")
    assert again.facts(5) == Facts("OK", (), "Ascend910B3")
    again.close()


def test_facts_that_do_not_fit_are_refused(table: Table) -> None:
    with pytest.raises(ValueError, match="Warning, Alarm"):
        table.set_health(0, "Broken")
    with pytest.raises(ValueError, match="895 fit"):
        table.set_health(0, "Alarm", ("x" * 896,))
    assert table.facts(0) == Facts("OK", (), ""), "a refused change changes nothing"
    table.set_health(0, "Alarm", ("x" * 895,))
    assert table.facts(0).faults == ("x" * 895,)


def test_after_fork_the_child_attaches_anew(tmp_path: Path) -> None:
    """The parent forks while it holds the lock, and gives it back 0.2 s after the child asks for it."""
    script = textwrap.dedent("""
        import os, signal, sys, time
        from npu.driver.door import DriverError
        from npu.driver.state import Table
        table = Table.open(sys.argv[1])
        slot = table.attach()
        table.reserve(slot, 0, 60, 0, 100)
        signal.signal(signal.SIGUSR1, lambda *_: signal.setitimer(signal.ITIMER_REAL, 0.2))
        signal.signal(signal.SIGALRM, lambda *_: table._shared.lock.__exit__())
        table._shared.lock.__enter__()
        child = os.fork()
        if child == 0:
            os.kill(os.getppid(), signal.SIGUSR1)
            asked = time.monotonic()
            mine = table.attach()
            print("waited", time.monotonic() - asked > 0.1)
            try:
                table.reserve(slot, 0, 1, 0, 100)
            except DriverError as error:
                print(error.situation)
            print(mine.number != slot.number, table.reserve(mine, 0, 41, 0, 100), table.reserve(mine, 0, 40, 0, 100), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print([use.held for client in table.clients() for use in client.uses.values()])
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=20)
    assert (done.stdout.splitlines(), done.stderr) == (["waited True", "not_initialized", "True False True", "[60]"], "")


def test_the_folder_is_for_its_user_only(table: Table, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(table.path).stat().st_mode) == 0o600


def test_where_the_table_lives(tmp_path: Path) -> None:
    assert state_folder({"NPU_STATE_DIR": "/somewhere"}) == "/somewhere"
    assert state_folder({"HOME": "/home/ann"}) == f"/home/ann/.cache/npuscope/state-{os.uname().nodename}"


def test_a_folder_that_cannot_be_used_is_a_driver_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DriverError) as error:
            Table.open(str(folder))
        assert error.value.situation == "driver_failure"
        assert error.value.facts["path"] == str(folder / "devices.table")


def test_a_table_of_another_version_is_emptied(tmp_path: Path) -> None:
    table = Table.open(str(tmp_path))
    slot = table.attach()
    table.reserve(slot, 0, 100, 0, 100)
    table._words[1] = state.VERSION + 1
    again = Table.open(str(tmp_path))
    assert again.clients() == []
    with pytest.raises(DriverError) as error:
        table.reserve(slot, 0, 1, 0, 100)
    assert error.value.situation == "not_alive"
    assert again.reserve(again.attach(), 0, 100, 0, 100)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=600), at=st.integers(0, 20_000), keep=st.booleans())
def test_any_file_content_gives_a_working_table(tmp_path: Path, data: bytes, at: int, keep: bool) -> None:
    """Given a file that is short, foreign or partly overwritten, a table opens, shows nobody who is not there, and books."""
    file = tmp_path / "devices.table"
    if not keep:
        file.unlink(missing_ok=True)
    with open(file, "r+b" if file.exists() else "w+b") as out:
        out.seek(at if keep else 0)
        out.write(data)
    table = Table.open(str(tmp_path))
    assert {client.pid for client in table.clients()} <= {os.getpid()} | {int(p) for p in os.listdir("/proc") if p.isdigit()}
    for device in range(16):
        assert table.facts(device).health in state.HEALTH
    slot = table.attach()
    table.drop(slot)
    slot = table.attach()
    assert table.reserve(slot, 15, 4096, 0, 1 << 62)
    table.release(slot, 15, 4096, 0)
    table.drop(slot)
    table.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("argkd"), st.integers(1, 4), st.integers(0, 1), st.integers(0, 60)), max_size=40))
def test_the_table_agrees_with_plain_bookkeeping(
    tmp_path: Path, population: dict[int, Process], steps: list[tuple[str, int, int, int]]
) -> None:
    """Any order of attach, reserve, give back, kill and drop: the same answers as sums over a dictionary, capacity 100."""
    population.update({pid: Process(pid, 7, f"p{pid}") for pid in range(1, 5)})
    table = Table.open(str(tmp_path))
    slots: dict[int, Slot] = {}
    books: dict[tuple[int, int], int] = {}
    for step, pid, device, size in steps:
        if step == "a" and pid in population:
            slots[pid] = table.attach(pid)
        elif step == "r" and pid in slots:
            fits = sum(count for (_, on), count in books.items() if on == device) + size <= 100
            assert table.reserve(slots[pid], device, size, 0, 100) is fits
            if fits:
                books[pid, device] = books.get((pid, device), 0) + size
        elif step == "g" and pid in slots and books.get((pid, device), 0) >= size:
            table.release(slots[pid], device, size, 0)
            books[pid, device] = books.get((pid, device), 0) - size
        elif step in "kd" and pid in slots:
            if step == "k":
                del population[pid]
            else:
                table.drop(slots[pid])
            del slots[pid]
            books = {key: count for key, count in books.items() if key[0] != pid}
    for device in (0, 1):
        assert held(table, device) == {pid: count for (pid, on), count in books.items() if on == device and count}
    for slot in slots.values():
        table.drop(slot)
    table.close()
