"""The device tool's tables, byte by byte against what the real tool prints for the same values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npu.driver.door import DeviceInfo, ProcessInfo, Snapshot
from npu.smi import failures, layouts, lists
from npu.smi.hbm import shown_name

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"
MIB = 1 << 20


def sample(name: str) -> str:
    return (SAMPLES / name).read_bytes().decode()


def device(number: int, chip: str, bus: str, power: float | None, temp: int, used: int, total: int = 65536, *,
           aicore: int = 0, processes: tuple[ProcessInfo, ...] = ()) -> DeviceInfo:
    return DeviceInfo(number, f"Ascend{chip}", "OK", f"0000:{bus}:00.0", power, temp, aicore, 0, 0, used * MIB, total * MIB,
                      0, 0, 1800, (), processes)


def machine(version: str, *devices: DeviceInfo) -> Snapshot:
    return Snapshot(version, "", devices)


IDLE = [("3A", 101.7, 52, 3339), ("3B", 96.4, 51, 3338), ("4A", 94.9, 50, 3338), ("4B", 97.2, 53, 3340),
        ("5A", 92.8, 49, 3337), ("5B", 95.5, 50, 3339), ("6A", 99.1, 52, 3338), ("6B", 93.6, 51, 3337)]
EIGHT = machine("23.0.7", *(device(n, "910B3", *row) for n, row in enumerate(IDLE)))
ONE = machine("25.3.rc1", device(0, "910B2", "3A", 98.2, 37, 3432))
BUSY = machine(
    "24.1.rc2",
    device(0, "910B4", "3A", 212.3, 58, 29871, 32768, aicore=94, processes=(
        ProcessInfo(914402, "VLLM::Worker_TP", 26988 * MIB + 5), ProcessInfo(914377, "python3.10", 166 * MIB))),
    device(1, "910B4", "3B", 88.1, 37, 2668, 32768),
)
DIES = machine(
    "25.5.1",
    device(0, "910_9382", "3A", 201.4, 44, 59811, aicore=63, processes=(
        ProcessInfo(330101, "", 56120 * MIB), ProcessInfo(330102, "", 131 * MIB))),
    device(1, "910_9382", "3C", None, 41, 59540, aicore=61, processes=(ProcessInfo(330102, "", 56101 * MIB),)),
    device(2, "910_9382", "4A", 100.9, 39, 3131),
    device(3, "910_9382", "4C", 71.0, 38, 2889),
)


@pytest.mark.parametrize(("snapshot", "complete", "name"), [
    (EIGHT, True, "info_910B3_x8_23.0.7_idle.txt"),
    (BUSY, True, "info_910B4_x2_24.1.rc2_busy.txt"),
    (ONE, False, "info_910B2_x1_25.3.rc1_driver_warning.txt"),
    (DIES, True, "info_A3_x2_25.5.1_two_dies.txt"),
])
def test_the_same_values_give_the_same_bytes(snapshot: Snapshot, complete: bool, name: str) -> None:
    assert layouts.table(snapshot, snapshot.driver_version, complete) == sample(name)


def test_tool_and_driver_version_may_differ() -> None:
    text = layouts.table(ONE, "25.2.0")
    assert text is not None
    assert text.splitlines()[1] == "| npu-smi 25.2.0                   Version: 25.3.rc1" + " " * 45 + "|"


def test_what_is_not_known_is_na() -> None:
    unknown = replace(ONE.devices[0], power_w=None, temp_c=None, health="UNKNOWN", bus_id="NA")
    text = layouts.table(machine("25.5.0", unknown), "25.5.0")
    assert text is not None
    assert text.splitlines()[6:8] == [
        "| 0     910B2               | UNKNOWN       | NA          NA                0    / 0             |",
        "| 0                         | NA            | 0           0    / 0          3432 / 65536         |",
    ]


def test_eight_processes_a_chip_are_listed() -> None:
    many = tuple(ProcessInfo(pid, "python", MIB) for pid in range(100, 110))
    text = layouts.table(machine("25.5.0", replace(ONE.devices[0], processes=many)), "25.5.0")
    assert text is not None
    listed = [line for line in text.splitlines() if "python" in line]
    assert len(listed) == 8
    assert "| 107 " in listed[-1]


@pytest.mark.parametrize(("name", "shown"), [
    ("sglang::schedul", "sglangschedul"), ("a\tb", "ab"), ("python3.11", "python3.11"),
    ("\x1b[2Jx\n", "?[2Jx?"), ("训练", "训练"),
])
def test_names_as_the_tool_shows_them(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@pytest.mark.parametrize(("chip", "driver"), [
    ("310P3", "25.5.0"), ("910B3", "26.0.rc1"), ("910B3", "21.0.4"), ("910A", "23.0.rc1"), ("910B3", "x"),
])
def test_a_layout_that_is_not_known_is_not_guessed(chip: str, driver: str) -> None:
    assert layouts.table(machine(driver, device(0, chip, "3A", 80.0, 40, 3000)), driver) is None


def test_lists_of_cards_and_chips() -> None:
    assert lists.listed(BUSY.devices) == sample("l_910B_x2_24.1.txt")
    assert lists.mapped(EIGHT.devices[:4]) == sample("m_910B3_x4_24.1.txt")
    assert lists.mapped(DIES.devices) == sample("m_A3_x2_25.5.1.txt")
    assert lists.listed(DIES.devices).count("Chip Count                     : 2") == 2
    assert lists.listed(()) == lists.mapped(()) == "There is no NPU card on this server.\n"


def test_the_driver_that_does_not_start() -> None:
    assert failures.start(-8005) == sample("fail_8005_no_driver.txt")
    assert failures.start(-8020) == sample("fail_8020_container_device_used.txt")


@pytest.mark.parametrize(("code", "status"), [
    (-8020, 172), (-8005, 187), (-8002, 190), (-8008, 184), (-8255, 193), (-9001, 215), (-9005, 211), (-9255, 217), (0, 0),
])
def test_exit_status_is_the_code_modulo_256(code: int, status: int) -> None:
    assert failures.status(code) == status
