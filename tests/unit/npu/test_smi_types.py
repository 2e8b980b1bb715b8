"""`info -t` forms, watch and the refusals, byte by byte against what the real tool prints for the same values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npu.driver.door import DeviceInfo, ProcessInfo, Snapshot
from npu.smi import helps, info, watch
from npu.smi.types import topo

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"
MIB = 1 << 20


def sample(name: str) -> str:
    return (SAMPLES / name).read_bytes().decode()


def device(number: int = 0, soc: str = "910B3", **facts: object) -> DeviceInfo:
    plain = DeviceInfo(number, f"Ascend{soc}", "OK", "0000:3A:00.0", 91.6, 61, 64, 22, 0, 46531 * MIB, 65536 * MIB, 0, 0, 1800,
                       (), (), ctrl_cpu=7, memory_busy=41)  # fmt: skip
    return replace(plain, **facts)  # type: ignore[arg-type]


def said(snapshot: Snapshot, *words: str) -> tuple[str, int]:
    answered = info.answer(list(words), snapshot)
    assert answered is not None
    return answered


def machine(*devices: DeviceInfo, driver: str = "24.1.rc2") -> Snapshot:
    return Snapshot(driver, "7.3.0.1.231", devices)


ONE = machine(device())


def test_usages() -> None:
    assert said(ONE, "-t", "usages", "-i", "0") == (sample("t_usages_910B3_24.1.txt"), 0)
    assert said(ONE, "-i", "0", "-t", "usages") == (sample("t_usages_910B3_24.1.txt"), 0)  # any order


def test_usages_of_26_have_two_rows_more() -> None:
    busy = device(aicore=100, aivector=31, memory_used=38706 * MIB, memory_busy=52, ctrl_cpu=9, soc="910B2")
    # The simulated cube units are the AI Cores; the sample's device had them apart.
    expected = sample("t_usages_910B2_26.x.txt").replace(
        "Aicube Usage Rate(%)           : 88", "Aicube Usage Rate(%)           : 100"
    )
    assert said(machine(busy, driver="26.0.rc1"), "-t", "usages", "-i", "0") == (expected, 0)


def test_usages_of_a_card_with_two_chips() -> None:
    first = device(0, "310P3", card=1, chip=0, memory_total=21534 * MIB, memory_used=4200 * MIB, aicore=38, aivector=0,
                   ctrl_cpu=13, memory_busy=51)  # fmt: skip
    second = replace(first, id=1, chip=1, memory_used=700 * MIB, aicore=6)
    # Use of the image units is not counted by the simulated device: NA, where the sample's real one counted 0.
    lines = [
        line.replace(": 0", ": NA") if "DVPP" in line else line for line in sample("t_usages_310P3_duo_24.1.txt").splitlines(True)
    ]
    assert said(machine(first, second), "-t", "usages", "-i", "1") == ("".join(lines), 0)


def test_common_has_the_controller_behind_it() -> None:
    slowed = device(1, current_mhz=1650, power_w=331.4)
    expected = sample("t_common_910B3_24.1.txt").replace(": 40", ": NA")  # the controller's temperature
    assert said(machine(device(0), slowed), "-t", "common", "-i", "1") == (expected, 0)


def test_power_and_temperature() -> None:
    assert said(ONE, "-t", "power", "-i", "0") == (sample("t_power_910B3.txt"), 0)
    assert said(ONE, "-t", "temp", "-i", "0", "-c", "0") == ("\tNPU Temperature (C)            : 61\n", 0)
    assert said(machine(device(soc="310P3")), "-t", "power", "-i", "0") == ("This device does not support querying power.\n", 0)
    assert said(machine(device(power_w=None)), "-t", "power", "-i", "0", "-c", "0") == (
        "\tNPU Real-time Power(W)         : NA\n",
        0,
    )
    assert said(ONE, "-t", "volt", "-i", "0", "-c", "0") == ("\tVoltage(V)                     : NA\n", 0)


def test_health() -> None:
    assert said(ONE, "-t", "health", "-i", "0", "-c", "0") == (sample("t_health_910B3_ok.txt"), 0)
    ill = device(health="Alarm", faults=("80E18005 sample text of the first code", "80DF8000 sample text of the second code"))
    assert said(machine(ill), "-t", "health", "-i", "0", "-c", "0") == (sample("t_health_910B3_two_codes.txt"), 0)
    assert "\tHealth                         : Alarm\n" in said(machine(ill), "-t", "health", "-i", "0")[0]


def test_processes() -> None:
    used = device(processes=(ProcessInfo(914402, "VLLM::Worker_TP", 57284 * MIB), ProcessInfo(914377, "python3.10", 166 * MIB)))
    assert said(machine(used), "-t", "proc-mem", "-i", "0") == (sample("t_proc-mem_910B3.txt"), 0)
    eight = machine(*(device(n) for n in range(8)))
    assert said(eight, "-t", "proc-mem", "-i", "7") == (sample("t_proc-mem_910B3_idle.txt"), 0)


UNKNOWN_OF_BOARDS = ("Product Name", "Manufacturer", "Serial Number", "Board ID", "PCB ID", "BOM ID", "Subsystem", "VDie", "NDie")


@pytest.mark.parametrize(("words", "name"), [
    ((), "t_board_910B3_24.1.txt"), (("-c", "0"), "t_board_chip_910B3_24.1.txt"),
])  # fmt: skip
def test_board(words: tuple[str, ...], name: str) -> None:
    text, _ = said(ONE, "-t", "board", "-i", "0", *words)
    for ours, real in zip(text.splitlines(), sample(name).splitlines(), strict=True):
        assert ours == real or (ours[:33] == real[:33] and ours.strip().startswith(UNKNOWN_OF_BOARDS))


def test_die_ids_tell_devices_apart() -> None:
    two = machine(device(0), device(1))
    dies = [line for n in "01" for line in said(two, "-t", "board", "-i", n, "-c", "0")[0].splitlines() if "VDie ID" in line]
    assert len(set(dies)) == 2


def test_memory_and_ecc() -> None:
    text = said(ONE, "-t", "memory", "-i", "0")[0]
    assert "\tHBM Capacity(MB)               : 65536\n\tHBM Clock Speed(MHz)           : NA\n" in text
    counts = said(ONE, "-t", "ecc", "-i", "0")[0]
    assert counts.startswith("\tNPU ID                                   : 0\n\tChip Count                               : 1\n\n")
    assert "\tHBM Double Bit Next-Isolated Pages Count : 0\n\tChip ID                                  : 0\n" in counts
    assert "DDR Single" in said(machine(device(soc="310P3")), "-t", "ecc", "-i", "0")[0]
    assert said(machine(device(soc="310B4")), "-t", "memory", "-i", "0")[0].index("Chip ID") < 80  # before its block


def test_physical_ids() -> None:
    dies = machine(*(device(n, "910_9382") for n in range(4)))
    assert said(dies, "-t", "phyid-remap", "-p", "3") == (
        "\tChip Physical ID              :3\n\tChip Logic ID                 :3\n"
        "\tNPU ID                        :1\n\tChip ID                       :1\n", 0)  # fmt: skip
    assert said(dies, "-t", "phyid-remap", "-p", "4")[1] == -9001


def test_topology() -> None:
    expected = sample("t_topo_910B_x4.txt")
    for real in ("144-167", "0-23", "96-119", "48-71"):
        expected = expected.replace(f"{real}\n", "NA\n")  # CPUs of the sample's host
    assert said(machine(*(device(n) for n in range(4))), "-t", "topo") == (expected, 0)


def test_links_by_family() -> None:
    def links(chip: str, count: int, to: int = 0) -> list[str]:
        made = [device(n, chip) for n in range(count)]
        return [topo.link(made[to], other) for other in made]

    assert links("910_9382", 4) == ["X", "SIO", "HCCS_SW", "HCCS_SW"]
    assert links("910A", 8) == ["X", "HCCS", "HCCS", "HCCS", "SYS", "SYS", "SYS", "SYS"]
    assert links("310P3", 2) == ["X", "SYS"]


def test_product() -> None:
    assert said(ONE, "-t", "product", "-i", "0") == ("\tProduct Type                   : Atlas A2\n", 0)


@pytest.mark.parametrize(("words", "beginning", "code"), [
    (("-t", "usages"), "\nThis command must input card id.\n\n", -9001),
    (("-t", "usages", "-i", "9"), "Invalid card id.\nError parameter of -i\nUsage: npu-smi info ", -9001),
    (("-t", "usages", "-i", "x"), "Error parameter of -i\nUsage: npu-smi info ", -9001),
    (("-t", "usages", "-i", "0", "-c", "1"), "Invalid chip id.\nError parameter of -c\nUsage: ", -9001),
    (("-t", "usages", "-i"), "Error parameter of -i\n", -9001),
    (("-t", "spod-info", "-i", "0"), "This device does not support querying spod-info.\n", 0),
    (("-t", "phyid-remap"), "Error parameter of -p\n", -9001),
    (("-q",), "Error parameter of -q\n", -9001),
    (("-i", "0"), "Error parameter of -i\n", -9001),
    (("proc",), "This device does not support querying proc info.\n", 0),
])  # fmt: skip
def test_refusals(words: tuple[str, ...], beginning: str, code: int) -> None:
    text, answered = said(ONE, *words)
    assert text.startswith(beginning) and answered == code


def test_the_newest_generation_takes_no_chip() -> None:
    newest = machine(device(soc="950PR"), driver="26.0.rc1")
    assert said(newest, "-t", "power", "-i", "0") == (
        "\tNPU ID                         : 0\n\tNPU Real-time Power(W)         : 91.6\n",
        0,
    )
    assert said(newest, "-t", "power", "-i", "0", "-c", "0")[0].startswith(
        "This device does not support input parameter of -c.\n"
    )


def test_every_writer_is_a_type_of_the_help_and_none_fails() -> None:
    listed = {name for line in helps.INFO_TYPES for name in line}
    assert info.TYPES.keys() <= listed
    for chip in ("910A", "910B3", "910_9382", "310P3", "310", "310B4"):
        for name in sorted(listed):
            text, code = said(machine(device(soc=chip)), "-t", name, "-i", "0", "-p", "0")
            assert code == 0 and text.endswith("\n")


def watched(snapshot: Snapshot, letters: str = "", chips: bool = True) -> str:
    chosen = watch.metrics(letters, int(snapshot.driver_version.partition(".")[0]))
    assert chosen is not None
    return watch.head(chosen, chips) + "".join(watch.row(one, chosen, chips) for one in snapshot.devices)


def test_watch() -> None:
    rows = [(90.1, 34, 0, 0, 2, 5, 0), (187.4, 41, 63, 0, 7, 71, 38), (191.0, 43, 88, 1, 6, 71, 44)]
    made = [
        device(2, power_w=power, temp_c=temp, aicore=core, aicpu=cpu, ctrl_cpu=ctrl, memory_used=used * 65536 * MIB // 100 + MIB,
               memory_busy=busy)
        for power, temp, core, cpu, ctrl, used, busy in rows
    ]  # fmt: skip
    assert watched(machine(*made)) == sample("watch_910B_24.1.txt")


def test_watch_of_the_newest() -> None:
    lines = watched(machine(device(soc="950PR", aivector=93), driver="26.0.rc1"), chips=False).splitlines()
    assert lines[0] == sample("watch_950_26.x.txt").splitlines()[0]
    assert lines[1].endswith(" 93           64          ")


def test_watch_letters() -> None:
    assert (
        watched(ONE, "at")
        == "NpuID(Idx)  ChipId(Idx) Temp(C)     AI Core(%)  \n0           0           61          64          \n"
    )
    assert watch.metrics("an", 25) is None and watch.metrics("an", 26) is not None
    assert watch.metrics("z", 26) is None
    second = device(1, "910_9382")
    assert watched(machine(second), "p").splitlines()[1] == "0           1           -           "
