"""What a table is read into is what the simulated devices say of themselves; and the fields scripts ask for."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import smi_query
from cli.smi_look import records
from diag.smi.records import Device, SmiText
from diag.smi_text import parse
from npu.driver.door import DeviceInfo, ProcessInfo, Snapshot
from npu.smi import layouts
from tests.unit.npu.test_smi_tables import LIKE_REAL

MIB = 1 << 20


def facts(text: SmiText) -> Any:
    """Devices and processes without why a value is missing, which a table cannot always tell."""
    return ([replace(device, states={}) for device in text.devices], [replace(one, capped=False) for one in text.processes],
            text.idle_cards, text.driver, text.layout, text.cut)  # fmt: skip


@pytest.mark.parametrize(("snapshot", "complete", "name"), LIKE_REAL)
def test_written_and_read_back(snapshot: Snapshot, complete: bool, name: str) -> None:
    table = layouts.table(snapshot, "25.0", complete)
    assert table is not None
    read, known = parse(table), records(snapshot, "25.0")
    no_table = replace(known, idle_cards=()) if read.process_table == "not_shown" else known
    assert facts(read) == facts(no_table if "container" in name else _hidden(no_table, read))
    assert read.driver_incomplete is not complete


def _hidden(known: SmiText, read: SmiText) -> SmiText:
    """Layouts without the column do not show the pid in the container."""
    assert all(one.container_pid is None for one in read.processes)
    return replace(known, processes=tuple(replace(one, container_pid=None) for one in known.processes))


CHIPS = [("910B3", "25.5.0"), ("910B4", "26.0.rc1"), ("910_9382", "25.5.0"), ("910_9382", "26.1.0"), ("910A", "23.0.rc1"),
         ("310P3", "24.1.0"), ("310P3", "22.0.2"), ("310", "22.0.4"), ("310B4", "23.0.rc3"), ("950PR", "25.7.rc1")]  # fmt: skip
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=15)


@st.composite
def devices(draw: st.DrawFn) -> Snapshot:
    chip, driver = draw(st.sampled_from(CHIPS))
    made = []
    for number in range(draw(st.integers(1, 4))):
        total = draw(st.integers(1024, 131072))
        processes = draw(st.lists(st.tuples(st.integers(1, 4194304), NAMES, st.integers(0, 99999)), max_size=9))
        watts = draw(st.one_of(st.none(), st.floats(0, 999).map(lambda w: round(w, 1))))
        made.append(DeviceInfo(
            number, f"Ascend{chip}", draw(st.sampled_from(["OK", "Warning", "Alarm", "Critical", "UNKNOWN"])),
            draw(st.sampled_from(["NA", "0000:C1:00.0"])), watts, draw(st.one_of(st.none(), st.integers(-20, 120))),
            draw(st.integers(0, 100)), 0, 0, draw(st.integers(0, total)) * MIB, total * MIB, 0, 0, 1800, (),
            tuple(ProcessInfo(pid, name, memory * MIB) for pid, name, memory in processes),
        ))  # fmt: skip
    return Snapshot(driver, "", tuple(made))


@given(devices())
def test_whatever_is_written_is_read_back(snapshot: Snapshot) -> None:
    table = layouts.table(snapshot, "25.0")
    assert table is not None
    read, known = parse(table), records(snapshot, "25.0")
    assert [replace(one, states={}) for one in read.devices] == [replace(one, states={}) for one in known.devices]
    assert read.cut == ""
    if read.process_table == "shown":
        listed = {(one.card, one.chip, one.pid, one.memory_mb) for one in known.processes}
        assert {(one.card, one.chip, one.pid, one.memory_mb) for one in read.processes} <= listed
        assert read.idle_cards == known.idle_cards
        for card, chip in {(one.card, one.chip) for one in known.processes}:
            count = sum((one.card, one.chip) == (card, chip) for one in known.processes)
            rows = [one for one in read.processes if (one.card, one.chip) == (card, chip)]
            assert len(rows) == min(8, count) and all(one.capped == (count >= 8) for one in rows)


A3 = parse(layouts.table(LIKE_REAL[3][0], "25.5.1") or "")


def test_csv_fields() -> None:
    names = ["index", "npu.id", "chip.id", "phy.id", "power.draw", "utilisation", "memory.free", "processes"]
    text = smi_query.as_csv(A3, names, header=True, units=False)
    assert text.splitlines()[:3] == [
        "index,npu.id,chip.id,phy.id,power.draw,utilisation,memory.free,processes",
        "0,0,0,0,201.4,63,5725,2",
        "1,0,1,1,N/A,61,5996,1",
    ]
    with_units = smi_query.as_csv(A3, ["power.draw", "name"], header=True, units=True)
    assert with_units.splitlines()[:2] == ["power.draw [W],name", "201.4 W,Ascend910"]


def test_every_field_has_a_value_for_every_device() -> None:
    names = [field.name for field in smi_query.FIELDS]
    rows = list(csv.DictReader(smi_query.as_csv(A3, names, header=True, units=False).splitlines()))
    assert len(rows) == 4 and all(all(row.values()) for row in rows)


def test_json_says_why_a_value_is_missing() -> None:
    rows = json.loads(smi_query.as_json(A3, ["power.draw", "ddr.total", "temperature"]))["devices"]
    assert rows[1] == {"power.draw": None, "ddr.total": None, "temperature": 41,
                       "states": {"power.draw": "on_first_die", "ddr.total": "absent"}}  # fmt: skip
    everything = json.loads(smi_query.as_json(A3, None))
    assert everything["devices"][0]["hbm_mb"] == {"used": 59811, "total": 65536}
    assert everything["processes"][0]["pid"] == 330101


def test_a_device_that_is_not_known_at_all() -> None:
    unknown = Device(0, 0, None, None, "910B3", None, None, None, None, "AICore", None, None, None, None)
    row = smi_query.as_csv(
        SmiText("info", devices=(unknown,)), ["health", "memory.used", "memory.free", "processes"], False, True
    )
    assert row == "N/A,N/A,N/A,N/A\n"


def test_every_field_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "npu-smi.md").read_text(encoding="utf-8")
    for field in smi_query.FIELDS:
        assert f"| `{field.name}` | {field.unit} | {field.text} |" in page
