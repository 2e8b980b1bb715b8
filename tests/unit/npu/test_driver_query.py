"""The machine an environment describes, and what a look at its devices shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from npu import soc
from npu.driver.door import DriverError, ProcessInfo
from npu.driver.machine import Machine, own_memory
from npu.driver.query import snapshot
from npu.driver.state import Table
from npu.power import activity, celsius, watts

MIB = 1 << 20


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    opened = Table.open(str(tmp_path))
    yield opened
    opened.close()


def test_the_default_machine_is_eight_910b3() -> None:
    machine = Machine.of({})
    assert (machine.soc, machine.device_count) == ("Ascend910B3", 8)
    assert (machine.driver_version, machine.firmware_version, machine.tool_version) == ("25.5.0", "7.8.0.5.216", "25.5.0")
    assert [machine.bus_id(device) for device in range(8)] == [
        f"0000:{bus}:00.0" for bus in ("C1", "C2", "81", "82", "01", "02", "41", "42")
    ]
    assert len({Machine.of({"NPU_DEVICES": "16"}).bus_id(device) for device in range(16)}) == 16


@pytest.mark.parametrize(("name", "soc_name", "count"), [
    ("310P3", "Ascend310P3", 1), ("ascend910b4", "Ascend910B4", 8), ("910_9382", "Ascend910_9382", 16),
    ("310B4", "Ascend310B4", 1),
])
def test_a_chip_brings_its_usual_number_of_devices(name: str, soc_name: str, count: int) -> None:
    machine = Machine.of({"NPU_SOC": name})
    assert (machine.soc, machine.device_count) == (soc_name, count)


def test_knobs_choose_count_and_driver() -> None:
    assert Machine.of({"NPU_DEVICES": "2"}).device_count == 2
    assert Machine.of({"NPU_DEVICES": "0"}).device_count == 0
    assert Machine.of({"NPU_DEVICES": "", "NPU_SOC": ""}) == Machine.of({})
    assert Machine.of({"NPU_DRIVER": "24.1.rc2"}).driver_version == "24.1.rc2"
    none = Machine.of({"NPU_DRIVER": "none", "NPU_DEVICES": "4"})
    assert (none.driver_version, none.device_count) == (None, 0)


@pytest.mark.parametrize(("knob", "value"), [
    ("NPU_DEVICES", "17"), ("NPU_DEVICES", "-1"), ("NPU_DEVICES", "two"), ("NPU_DEVICES", "²"), ("NPU_SOC", "H100"),
])
def test_a_knob_that_cannot_be_used_is_named(knob: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{knob}={value}: "):
        Machine.of({knob: value})


def test_what_devices_hold_themselves() -> None:
    assert [own_memory(soc.find("910B3"), device) // MIB for device in range(5)] == [3337, 3340, 3339, 3338, 3337]
    assert own_memory(soc.find("910B4"), 0) // MIB == 2667
    assert Machine.of({}).reserved == 3340 * MIB
    for chip in soc.table().values():
        if chip.memory_kind:
            assert 0 < own_memory(chip, 0) < chip.memory, chip.name


def test_power_goes_from_idle_to_rated() -> None:
    b4 = soc.find("910B4")  # 85 W idle, 280 W rated, 36 C
    assert watts(b4, 0, 0.0) == 85.0
    assert watts(b4, 0, activity(1000, 1000, 1000)) == 280.0
    assert watts(b4, 0, activity(940, 0, 0)) == 204.1  # 85 + 195 * 0.65 * 0.94
    assert celsius(b4, 0, 0.5) == 51
    assert activity(0, 0, 0) == 0.0
    idle = [watts(soc.find("910B3"), device, 0.0) for device in range(8)]
    assert len(set(idle)) == 8
    assert all(power is not None and 86 <= power <= 102 for power in idle), "the range of public 910B3 outputs"


def test_an_unknown_power_is_none_not_zero() -> None:
    chip = soc.find("910B2C")
    assert (watts(chip, 0, 0.5), celsius(chip, 0, 0.5)) == (None, None)


def test_an_idle_machine(table: Table, tmp_path: Path) -> None:
    seen = snapshot({"NPU_STATE_DIR": str(tmp_path)})
    assert (seen.driver_version, len(seen.devices)) == ("25.5.0", 8)
    first = seen.devices[0]
    assert (first.soc, first.health, first.aicore, first.processes) == ("Ascend910B3", "OK", 0, ())
    assert (first.memory_used, first.memory_total) == (3337 * MIB, 65536 * MIB)
    assert (first.power_w, first.temp_c, first.mhz) == (86.0, 32, 1800)


def test_clients_add_up(table: Table, tmp_path: Path) -> None:
    slot, other = table.attach(), table.attach(os.getppid())
    assert table.reserve(slot, 1, 1000 * MIB, 500, 1 << 40)
    assert table.reserve(other, 1, 24 * MIB, 0, 1 << 40)
    table.publish(slot, 1, 604, 500, 30, 400)
    table.publish(other, 1, 500, 15, 4, 100)
    table.set_health(1, "Warning", ("80E18005",))
    seen = snapshot({"NPU_STATE_DIR": str(tmp_path)}).devices
    device = seen[1]
    assert (device.aicore, device.aivector, device.aicpu) == (100, 52, 3), "1104 is cut to 1000, 515 and 34 per mille are rounded"
    assert device.memory_used == (3340 + 1024) * MIB
    assert (device.huge_used, device.huge_total) == (500, 32768)
    assert (device.health, device.faults) == ("Warning", ("80E18005",))
    assert [(one.pid, one.memory) for one in device.processes] == [(os.getpid(), 1000 * MIB), (os.getppid(), 24 * MIB)]
    # 86 W idle, +9.89 % on device 1; 350 W rated; 0.65 * 1 + 0.10 * 0.515 + 0.25 * 0.5 = 0.8265 of the way
    assert device.power_w == pytest.approx(94.504 + (350 - 94.504) * 0.8265, abs=0.06)
    assert device.temp_c == round(32 + 9 * 0.618 + 30 * 0.8265)
    assert seen[0].processes == () and seen[0].aicore == 0


def test_a_device_in_use_shows_the_chip_its_process_simulates(table: Table, tmp_path: Path) -> None:
    slot = table.attach()
    table.set_soc(0, "Ascend910B4")
    look = {"NPU_STATE_DIR": str(tmp_path)}
    assert snapshot(look).devices[0].soc == "Ascend910B3", "nobody uses it now"
    assert table.reserve(slot, 0, MIB, 0, 1 << 40)
    device = snapshot(look).devices[0]
    assert (device.soc, device.memory_total // MIB) == ("Ascend910B4", 32768)
    assert snapshot({**look, "NPU_SOC": "910B2"}).devices[0].soc == "Ascend910B2", "a chip that was asked for counts"


def test_without_a_driver_there_is_no_look(tmp_path: Path) -> None:
    with pytest.raises(DriverError) as error:
        snapshot({"NPU_STATE_DIR": str(tmp_path), "NPU_DRIVER": "none"})
    assert error.value.situation == "no_driver"
    assert list(tmp_path.iterdir()) == [], "and no table is made"


def test_names_come_from_the_processes(table: Table, tmp_path: Path) -> None:
    slot = table.attach()
    table.reserve(slot, 0, MIB, 0, 1 << 40)
    name = Path("/proc/self/comm").read_text(encoding="utf-8").rstrip("\n")
    assert snapshot({"NPU_STATE_DIR": str(tmp_path)}).devices[0].processes == (ProcessInfo(os.getpid(), name, MIB),)
