"""The device tool's tables, byte by byte against what the real tool prints for the same values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npu.driver.door import DeviceInfo, ProcessInfo, Snapshot
from npu.smi import failures, layouts, lists
from npu.smi.process import shown_name

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
WIDE = machine(
    "26.0.rc1",
    device(0, "910B2", "3A", 417.8, 63, 38706, aicore=100, processes=(
        ProcessInfo(171270, "sglang::schedul", 35250 * MIB, 118), ProcessInfo(171333, "python", 150 * MIB))),
    device(1, "910B2", "3B", 93.1, 43, 3407),
)
WIDE_DIES = machine(
    "26.0.rc2",
    device(0, "910_9382", "3A", 80.1, 35, 3418), device(1, "910_9382", "3C", 82.1, 34, 2873),
    device(2, "910_9382", "4A", 79.7, 36, 3416), device(3, "910_9382", "4C", 80.0, 35, 2875),
)


def first_910(number: int, bus: str, power: float, temp: int, ddr: tuple[int, int], used: int, pages: int = 0, health: str = "OK",
              **more: Any) -> DeviceInfo:
    made = device(number, "910A", bus, power, temp, used, 32768, **more)
    return replace(made, health=health, huge_used=pages, huge_total=pages, ddr_used=ddr[0] * MIB, ddr_total=ddr[1] * MIB)


FIRST = machine(
    "23.0.rc1",
    first_910(0, "3A", 71.4, 41, (943, 15137), 3), first_910(1, "3B", 69.9, 38, (1833, 15137), 3, pages=15),
    first_910(2, "4A", 243.6, 57, (1702, 15137), 30748, health="Warning", aicore=87,
              processes=(ProcessInfo(20481, "python3", 30811 * MIB),)),
    first_910(3, "4B", 68.2, 36, (2790, 15039), 0),
)


def newest(number: int, bus: str, power: float, temp: int, used: int, total: int = 131072, health: str = "OK",
           **more: Any) -> DeviceInfo:
    made = device(number, "910B3", bus, power, temp, used, total, **more)
    return replace(made, soc="Ascend950PR", health=health)


NEWEST = machine(
    "25.7.rc1",
    newest(0, "3A", 206.1, 70, 90641, 114688, "Alarm", aicore=100, processes=(
        ProcessInfo(153061, "python", 4725 * MIB), ProcessInfo(165502, "python", 4729 * MIB))),
    newest(1, "4A", 193.0, 56, 5414), newest(2, "5A", 192.4, 55, 5409),
)


def inference(number: int, card: int, chip: int, bus: str, temp: int, used: int, total: int, name: str = "310P3",
              pages: tuple[int, int] = (0, 0), **more: Any) -> DeviceInfo:
    power = more.pop("power", 16.0)
    made = device(number, name, bus, power, temp, used, total, **more)
    return replace(made, card=card, chip=chip, huge_used=pages[0], huge_total=pages[1])


DUO = machine(
    "24.1.rc2",
    inference(0, 1, 0, "3A", 57, 1398, 44280), inference(1, 1, 1, "3A", 56, 1521, 43693),
    inference(2, 2, 0, "4A", 55, 1402, 44280), inference(3, 2, 1, "4A", 54, 1519, 43693),
)
SLOT = machine("23.0.0", inference(0, 24, 0, "7A", 33, 4061, 21527, aicore=12,
                                   processes=(ProcessInfo(40712, "python3.9", 2231 * MIB),)))
NARROW = machine("22.0.2", inference(0, 0, 0, "3A", 53, 4061, 21534, power=16.4, pages=(1236, 1236)))
KIT = machine("22.0.4", replace(inference(0, 0, 0, "3A", 51, 5744, 7757, "310", (0, 187), power=12.8), bus_id="NA"))
BOARD = machine("23.0.rc3", replace(inference(0, 0, 0, "3A", 54, 2164, 3513, "310B4", (15, 15), power=7.7), bus_id="NA",
                                    health="Alarm"))
# (snapshot, driver package complete, sample of the real tool)
LIKE_REAL = [
    (EIGHT, True, "info_910B3_x8_23.0.7_idle.txt"),
    (BUSY, True, "info_910B4_x2_24.1.rc2_busy.txt"),
    (ONE, False, "info_910B2_x1_25.3.rc1_driver_warning.txt"),
    (DIES, True, "info_A3_x2_25.5.1_two_dies.txt"),
    (WIDE, True, "info_910B2_x2_26.0.rc1_container_pids.txt"),
    (WIDE_DIES, True, "info_A3_x2_26.0.rc2_idle.txt"),
    (FIRST, True, "info_910A_x4_23.0.rc1.txt"),
    (NEWEST, True, "info_950PR_x3_25.7.rc1_alarm.txt"),
    (DUO, True, "info_310P3_duo_x2_24.1.rc2.txt"),
    (SLOT, True, "info_310P3_x1_23.0.0_NA_power.txt"),
    (NARROW, True, "info_310P3_x1_22.0.2_narrow.txt"),
    (KIT, True, "info_310_soc_22.0.4.txt"),
    (BOARD, True, "info_310B4_soc_23.0.rc3_alarm.txt"),
]


@pytest.mark.parametrize(("snapshot", "complete", "name"), LIKE_REAL)
def test_the_same_values_give_the_same_bytes(snapshot: Snapshot, complete: bool, name: str) -> None:
    tool = "22.0.0" if name.endswith("narrow.txt") else snapshot.driver_version
    assert layouts.table(snapshot, tool, complete) == sample(name)


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
    ("310P3", "21.0.3.1"), ("910B3", "27.0.0"), ("910B3", "21.0.4"), ("910A", "20.2.2"), ("910B3", "x"), ("310P3", "27.1"),
])
def test_a_layout_that_is_not_known_is_not_guessed(chip: str, driver: str) -> None:
    assert layouts.table(machine(driver, device(0, chip, "3A", 80.0, 40, 3000)), driver) is None


@pytest.mark.parametrize(("chip", "driver", "name"), [
    ("910A", "23.0.2", "HBM-91"), ("910A", "23.0.7", "HBM-96"), ("910ProB", "22.0.4.1", "HBM-91"), ("910B4", "25.5.2", "HBM-96"),
    ("910B4", "26.1.0", "HBM-114"), ("910_9382", "25.7.rc1", "HBM-96"), ("310P3", "22.0.3", "DDR-92"),
    ("310", "22.0.4", "DDR-104"),
    ("310B1", "23.0.rc3", "DDR-104"), ("310B4", "23.0.rc3", "DDR-88"), ("310P3", "26.0.rc1", "DDR-104"),
])
def test_chip_and_driver_choose_the_layout(chip: str, driver: str, name: str) -> None:
    layout = layouts.choose(machine(driver, device(0, chip, "3A", 80.0, 40, 3000)))
    assert layout is not None and layout.name == name


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
