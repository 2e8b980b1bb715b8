"""NPU_FAULT: its grammar and its mistakes; what an injection does to tasks and to the device table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu.device.scheduler import Scheduler
from npu.device.task import AICPU, COPY, KERNEL, PLAIN, Task
from npu.driver import fault_plan
from npu.driver.fault_kinds import kinds
from npu.driver.fault_plan import ANY, Planned
from npu.driver.injection import Injection, Struck
from npu.driver.query import snapshot
from npu.driver.state import HEALTH, Table
from npu.errors import SITUATIONS
from npu.runtime.messages import templates
from npu.soc import find


def plan(text: str) -> tuple[Planned, ...]:
    return fault_plan.of({"NPU_FAULT": text})


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    opened = Table.open(str(tmp_path))
    yield opened
    opened.close()


def injected(text: str, table: Table, told: list[Struck] | None = None, device: int = 0) -> Scheduler:
    scheduler = Scheduler(find("Ascend910B3"), device)
    scheduler.add_stream(0)
    injection = Injection(plan(text), device, table)
    if told is not None:
        injection.told = told.append
    scheduler.begin = injection.begin
    return scheduler


def test_the_grammar() -> None:
    assert plan("") == plan("  ;; ") == ()
    (one,) = plan("ecc")
    assert (one.kind.name, one.device, one.at) == ("ecc", ANY, 1)
    first, second = plan(" aicore-exception : device=1 , at=3 ; slow:factor=2.5 ")
    assert (first.kind.name, first.device, first.at) == ("aicore-exception", 1, 3)
    assert (second.kind.name, second.factor) == ("slow", 2.5)
    assert plan("slow")[0].factor == 2.0 and plan("pcie-half")[0].factor == 2.0
    assert plan("aicore-timeout:seconds=0.5")[0].seconds == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eec", "there is no fault 'eec'; known: ecc, "),
        ("ecc:at", "at is ''; give a whole number from 1"),
        ("ecc:at=0", "at is '0'"),
        ("ecc:at=1.5", "at is '1.5'"),
        ("ecc:factor=2", "ecc takes device, at, not 'factor'"),
        ("killed:device=0", "killed takes at, not 'device'"),
        ("slow:factor=0.5", "factor is '0.5'; give a number from 1 to 1000"),
        ("slow:factor=nan", "factor is 'nan'"),
        ("busy:device=16", "device is '16'; give a whole number from 0 to 15"),
    ],
)
def test_mistakes_are_told_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="NPU_FAULT=") as error:
        plan(text)
    assert said in str(error.value) and "\n" not in str(error.value)


@given(st.text(alphabet="eckilsowat:=;,.0123456789- ", max_size=40))
def test_any_text_gives_a_plan_or_one_line(text: str) -> None:
    try:
        found = plan(text)
    except ValueError as error:
        assert str(error).startswith("NPU_FAULT=")
    else:
        assert all(p.at >= 1 and 1 <= p.factor <= 1000 for p in found)


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda k: k.name)
def test_every_kind_is_complete(kind: fault_plan.Kind) -> None:
    assert kind.when in ("kernel", "rate", "link", "open", "call")
    assert set(kind.takes) <= {"device", "at", "factor", "seconds"}
    assert kind.situation == "" or (kind.situation in SITUATIONS and kind.situation in templates())
    assert kind.health in ("", *HEALTH) and bool(kind.health) == bool(kind.event)
    facts = dict.fromkeys(("device", "stream", "task", "kernel", "us", "mhz", "rated"), 1)
    for level, module, text in (*kind.host, *kind.device_log):
        assert level in ("ERROR", "EVENT") and module.isupper() and text.format_map(facts)


def kernel(duration: int = 1000, kind: int = KERNEL) -> Task:
    return Task(kind, duration, PLAIN, aic=1)


def test_the_third_kernel_fails_and_the_others_do_not(table: Table) -> None:
    told: list[Struck] = []
    scheduler = injected("aicore-exception:at=3", table, told)
    tasks = [kernel() for _ in range(4)]
    for task in [Task(AICPU, 10, PLAIN), Task(COPY, 10, PLAIN, engine="h2d"), *tasks]:
        scheduler.submit(0, task, 0)
    scheduler.advance(100_000)
    assert [t.failure.situation if t.failure else "" for t in tasks] == ["", "", "aicore_exception", ""]
    assert len(told) == 1 and told[0].when == tasks[2].done_at and told[0].facts["task"] == tasks[2].id
    assert (table.facts(0).health, table.facts(0).faults) == ("Alarm", ("80C98009 AI Core error",))


def test_a_hung_kernel_ends_after_its_seconds_or_the_scripts_limit(table: Table) -> None:
    scheduler = injected("aicore-timeout:at=1,seconds=3", table)
    hung = kernel()
    scheduler.submit(0, hung, 0)
    scheduler.advance(10_000_000_000)
    assert hung.done_at == 3_000_000_000 and hung.failure is not None and hung.failure.situation == "aicore_timeout"
    limited = injected("aicore-timeout", table)
    limited.kernel_limit = 1_000_000
    hung = kernel()
    limited.submit(0, hung, 0)
    limited.advance(10_000_000_000)
    assert hung.done_at == 1_000_000 and hung.failure is not None and hung.failure.facts["limit_us"] == 1000


def test_rates(table: Table) -> None:
    scheduler = injected("slow:factor=3;pcie-half", table)
    work, to, across = kernel(900), Task(COPY, 1000, PLAIN, engine="h2d"), Task(COPY, 1000, PLAIN, engine="d2d")
    for number, task in enumerate((work, to, across)):
        scheduler.add_stream(number)
        scheduler.submit(number, task, 0)
    scheduler.advance(100_000)
    assert (work.done_at, to.done_at, across.done_at) == (2700, 2000, 1000)


def test_a_fault_of_another_device_changes_nothing(table: Table) -> None:
    injection = Injection(plan("ecc:device=1"), 0, table)
    assert not injection.active


def test_health_only_gets_worse_and_errors_add_up(table: Table) -> None:
    table.worsen(2, "Critical", "40F84E00 gone")
    table.worsen(2, "Alarm", "80E01801 one", 1, 1)
    table.worsen(2, "Alarm", "80E01801 one", 1, 1)
    facts = table.facts(2)
    assert (facts.health, facts.faults) == ("Critical", ("40F84E00 gone", "80E01801 one"))
    assert (facts.double_bits, facts.isolated) == (2, 2)
    table.clear_errors(2)
    assert (table.facts(2).double_bits, table.facts(2).health) == (0, "Critical")
    table.worsen(2, "OK", "X" * 900)  # no room: left out
    assert len(table.facts(2).faults) == 2


def test_a_slow_device_shows_a_lower_clock_while_it_is_used(tmp_path: Path, table: Table) -> None:
    slot = table.attach()
    table.set_pace(0, 3)
    env = {"NPU_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    assert snapshot(env).devices[0].current_mhz is None
    table.reserve(slot, 0, 4096, 0, 1 << 30)
    assert (snapshot(env).devices[0].current_mhz, snapshot(env).devices[0].mhz) == (600, 1800)
    assert snapshot(env).devices[1].current_mhz is None
