"""Simulated hosts: every preset is read back as what it is meant to be, and the machine takes its facts from it."""

import json

import pytest

from npu.driver.host_file import host_folder
from npu.driver.machine import Machine
from npu.host import make
from npu.host.make import create
from npu.host.parts import Found
from npu.host.presets import LAYOUTS, PRESETS, CannotMake, wanted


@pytest.fixture
def made(tmp_path):
    def go(preset, layout="classic", cann="", driver="", devices=2):
        folder = tmp_path / "hosts" / preset
        create(folder, wanted(preset, layout, cann, driver), layout, "Ascend910B3", devices)
        return folder

    return go


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_read_back(made, preset, layout):
    host = make.read(made(preset, layout))
    found = host.found or Found()
    want = PRESETS[preset][layout]
    assert [d.version for d in found.drivers] == ([want.driver] if want.driver else [])
    assert {i.version for i in found.installs} == set(want.canns)
    assert {i.layout for i in found.installs} == {layout}
    assert all(i.atc is (want.kind == "toolkit") for i in found.installs)
    assert all(c.version == i.inner for i in found.installs for c in i.components)
    assert bool(found.firmware) is (want.driver is not None and not want.container)
    assert len([n for n in host.nodes or () if n.name.removeprefix("davinci").isdigit()]) == (2 if want.driver else 0)
    homes = {p.version for p in host.places or () if p.variable == "ASCEND_HOME_PATH"}
    assert homes == {want.canns[0]}


@pytest.mark.parametrize(
    ("preset", "layout", "driver", "runtime", "toolkit", "fits"),
    [
        ("development", "classic", "25.5.0", "8.3.RC1", "8.3.RC1", True),
        ("production", "classic", "25.5.0", "8.3.RC1", None, True),
        ("no-driver", "cann", None, "8.5.0", "8.5.0", True),
        ("mixed", "classic", "25.5.0", "8.0.0", "8.3.RC1", True),  # the old runtime stands first in the library path
        ("toolkit-newer", "cann", "23.0.3", "9.0.0", "9.0.0", False),
        ("old-driver", "classic", "23.0.7", "8.3.RC1", "8.3.RC1", True),
    ],
)
def test_the_machine_is_what_the_host_says(made, tmp_path, preset, layout, driver, runtime, toolkit, fits):
    made(preset, layout)
    machine = Machine.of({"NPU_STATE_DIR": str(tmp_path), "NPU_HOST": preset})
    assert (machine.driver_version, machine.cann_version, machine.toolkit_version) == (driver, runtime, toolkit)
    assert machine.device_count == (2 if driver else 0)
    assert machine.driver_fits is fits


def test_variables_go_before_the_host_and_a_path_names_one_too(made, tmp_path):
    folder = made("development")
    env = {"NPU_HOST": str(folder), "NPU_SOC": "Ascend310P3", "NPU_DRIVER": "24.1.0", "NPU_DEVICES": "1"}
    machine = Machine.of(env)
    assert (machine.soc, machine.driver_version, machine.device_count, machine.cann_version) == (
        "Ascend310P3",
        "24.1.0",
        1,
        "8.3.RC1",
    )
    assert Machine.of({**env, "NPU_DRIVER": "none"}).driver_version is None


def test_the_default_file_names_the_host_and_without_one_the_machine_is_built_in(made, tmp_path):
    env = {"NPU_STATE_DIR": str(tmp_path)}
    assert host_folder(env) is None and Machine.of(env).driver_version == "25.5.0"
    folder = made("production")
    (tmp_path / "hosts" / "default").write_text("production\n")
    assert host_folder(env) == folder
    assert Machine.of(env).toolkit_version is None


def test_a_host_that_is_not_there_or_damaged_is_named(made, tmp_path):
    env = {"NPU_STATE_DIR": str(tmp_path), "NPU_HOST": "absent"}
    with pytest.raises(ValueError, match="NPU_HOST=absent"):
        Machine.of(env)
    folder = made("development")
    for text in ("", "[]", "{}", '{"soc": 1}', "\x00"):
        (folder / "machine.json").write_text(text)
        with pytest.raises(ValueError, match=r"machine\.json cannot be used"):
            Machine.of({**env, "NPU_HOST": "development"})


def test_unknown_wishes_are_refused_by_name(tmp_path):
    for arguments, part in (
        (("desktop", "classic"), "desktop"),
        (("development", "flat"), "flat"),
        (("development", "classic", "1.2.3"), "1.2.3"),
        (("development", "classic", "", "1.0"), "1.0"),
        (("development", "cann", "8.0.0"), "never had the layout"),
        (("development", "classic", "9.0.0"), "never had the layout"),
    ):
        with pytest.raises(CannotMake, match=part):
            wanted(*arguments)


def test_the_machine_file_holds_plain_facts(made):
    facts = json.loads((made("development", driver="none") / "machine.json").read_text())
    assert facts == {
        "schema": 1,
        "soc": "Ascend910B3",
        "device_count": 0,
        "driver_version": None,
        "firmware_version": "",
        "cann_version": "8.3.RC1",
        "toolkit_version": "8.3.RC1",
        "driver_fits": True,
    }
