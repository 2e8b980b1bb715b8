"""A device in a warm room: what it heats up to, when it gives up clock, and what that does to kernels."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest

from npu import soc
from npu.device.task import COPY, KERNEL, Row, Task
from npu.driver.injection import Struck
from npu.driver.machine import Machine
from npu.driver.state import Table
from npu.driver.throttle import LOOK_NS, STEP_MHZ, Throttle
from npu.power import HEATING_C, LIMIT_C, SETTLE_NS, celsius

CHIP = soc.find("Ascend910B3")
MS = 1_000_000


def task(duration: int, kind: int = KERNEL, aic: int = CHIP.aic, aiv: int = 0, hbm: float = 0.0) -> Task:
    return Task(kind, duration, Row(0, -1, -1, -1, -1, -1, -1, -1, -1, -1), aic=aic, aiv=aiv, hbm=hbm)


def throttle(tmp_path: Path, ambient: float) -> tuple[Throttle, list[Struck], Table]:
    table = Table.open(str(tmp_path))
    made = Throttle(CHIP, 0, ambient, table, None)
    told: list[Struck] = []
    made.opened(told.append)
    assert [(one.facts["mhz"], one.when) for one in told] == [(CHIP.cube_mhz, -1)]
    told.clear()
    return made, told, table


def busy(device: Throttle, until: int, kernel: Task, since: int = 0) -> tuple[int, list[int]]:
    """Kernels one after another: (end of the last, what each took)."""
    now, took = since, []
    while now < until:
        took.append(device.begin(kernel, now, 0))
        now += took[-1]
    return now, took


def test_heat_goes_towards_what_the_load_gives(tmp_path: Path) -> None:
    device, told, _ = throttle(tmp_path, 25)
    assert CHIP.idle_temp_c is not None
    now, took = busy(device, SETTLE_NS, task(100 * MS, aiv=2 * CHIP.aic))
    assert set(took) == {100 * MS} and told == []  # in a usual room nothing is given up
    final = HEATING_C * 0.75  # cube 65 %, vector 10 % of the way
    assert device.celsius == pytest.approx(CHIP.idle_temp_c + final * (1 - exp(-now / SETTLE_NS)), abs=0.3)
    device.begin(task(1, kind=COPY), now + 10 * SETTLE_NS, 0)
    assert device.celsius == pytest.approx(CHIP.idle_temp_c, abs=0.1)


def test_clock_is_given_up_until_it_is_cool_enough_and_comes_back(tmp_path: Path) -> None:
    assert CHIP.idle_temp_c is not None
    room = LIMIT_C - CHIP.idle_temp_c - 10 + 25  # a cube alone would heat up by 19.5, and there is room for 10
    device, told, table = throttle(tmp_path, room)
    now, took = busy(device, 8 * SETTLE_NS, task(10 * MS))
    clocks = [one.facts["mhz"] for one in told]
    assert clocks[0] == CHIP.cube_mhz - STEP_MHZ and told[0].when >= LOOK_NS
    assert abs(device.celsius - LIMIT_C) < 3
    # it settles where heat and cooling meet: 10 of 19.5 degrees
    late = clocks[len(clocks) // 2 :] or clocks[-1:]
    assert 0.9 * 10 / 19.5 <= device.mhz / CHIP.cube_mhz <= 1.15 * 10 / 19.5, late
    assert took[-1] == round(10 * MS * CHIP.cube_mhz / device.mhz)
    assert table.facts(0).pace == pytest.approx(CHIP.cube_mhz / device.mhz, abs=0.001)
    for n in range(40):  # idle: a look now and then
        device.begin(task(1, kind=COPY), now + (n + 1) * LOOK_NS * 10, 0)
    assert device.mhz == CHIP.cube_mhz and table.facts(0).pace == 1


def test_what_waits_for_memory_takes_no_longer(tmp_path: Path) -> None:
    device, _, _ = throttle(tmp_path, 25)
    device.mhz = CHIP.cube_mhz // 2
    assert device.begin(task(1000, hbm=1.0), 0, 0) == 1000
    assert device.begin(task(1000, hbm=0.5), 0, 0) == 1500
    assert device.begin(task(1000), 0, 0) == 2000


def test_planned_faults_are_asked_first(tmp_path: Path) -> None:
    asked = Throttle(CHIP, 0, 25, Table.open(str(tmp_path)), lambda task, now, limit: task.duration * 3 + limit)
    assert asked.begin(task(1000), 0, 7) == 3007


def test_the_room_is_a_knob() -> None:
    assert Machine.of({}).ambient is None and Machine.of({"NPU_AMBIENT": "42.5"}).ambient == 42.5
    for wrong in ("warm", "nan", "120"):
        with pytest.raises(ValueError, match=f"NPU_AMBIENT={wrong}: give degrees from -40 to 90"):
            Machine.of({"NPU_AMBIENT": wrong})
    assert CHIP.idle_temp_c is not None
    assert celsius(CHIP, 0, 0.0, 35) == CHIP.idle_temp_c + 10 and celsius(CHIP, 0, 1.0, 80) == LIMIT_C
