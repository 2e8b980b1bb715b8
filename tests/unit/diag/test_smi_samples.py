"""Every sample of the device tool's text says what its row of index.csv says."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from diag.smi.records import Pool, SmiText
from diag.smi_text import parse

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"
INDEX = {row["file"]: row for row in csv.DictReader((SAMPLES / "index.csv").read_text(encoding="utf-8").splitlines())}


def sample(name: str) -> str:
    return (SAMPLES / name).read_bytes().decode()


def values(text: SmiText, at: int = 0) -> dict[str, str]:
    return dict(text.blocks[at].values)


def held(text: SmiText) -> list[tuple[int, int, int, str, int | None, int | None]]:
    return [(p.card, p.chip, p.pid, p.name, p.memory_mb, p.container_pid) for p in text.processes]


def a_910a(t: SmiText) -> None:
    assert [d.card for d in t.devices] == [0, 1, 2, 3]
    third = t.devices[2]
    assert (third.health, third.power_w, third.temp_c, third.utilisation) == ("Warning", 243.6, 57, 87)
    assert (third.ddr, third.hbm) == (Pool(1702, 15137), Pool(30748, 32768))
    assert t.devices[1].hugepages == Pool(15, 15)
    assert held(t) == [(2, 0, 20481, "python3", 30811, None)]
    assert t.idle_cards == (0, 1, 3)


def a_eight_idle(t: SmiText) -> None:
    assert len(t.devices) == 8 and {d.health for d in t.devices} == {"OK"}
    assert {(d.utilisation, d.utilisation_kind) for d in t.devices} == {(0, "AICore")}
    assert {d.ddr for d in t.devices} == {None} and {d.states["ddr"] for d in t.devices} == {"absent"}
    assert {d.hbm.total for d in t.devices if d.hbm} == {65536}
    assert t.processes == () and t.idle_cards == tuple(range(8))


def a_glued(t: SmiText) -> None:
    assert t.devices[0].hbm == Pool(29871, 32768) and t.devices[0].utilisation == 94
    assert held(t) == [(0, 0, 914402, "VLLMWorker_TP", 26988, None), (0, 0, 914377, "python3.10", 166, None)]
    assert t.idle_cards == (1,)


def a_two_dies(t: SmiText) -> None:
    assert [(d.card, d.chip, d.phy_id, d.power_w) for d in t.devices] == [
        (0, 0, 0, 201.4), (0, 1, 1, None), (1, 0, 2, 171.9), (1, 1, 3, None)]  # fmt: skip
    assert t.devices[1].states["power_w"] == "on_first_die"
    assert held(t) == [(0, 0, 330101, "", 56120, None), (0, 0, 330102, "", 131, None), (0, 1, 330102, "", 56101, None)]
    assert t.idle_cards == (1,)


def a_container_pids(t: SmiText) -> None:
    assert held(t) == [(0, 0, 171270, "sglangschedul", 35250, 118), (0, 0, 171333, "python", 150, None)]
    assert t.devices[0].power_w == 417.8 and t.devices[0].hbm == Pool(38706, 65536)


def a_wide_idle(t: SmiText) -> None:
    assert [d.phy_id for d in t.devices] == [0, 1, 2, 3] and t.processes == () and t.idle_cards == (0, 1)


def a_950(t: SmiText) -> None:
    assert [(d.card, d.chip, d.name, d.utilisation, d.utilisation_kind) for d in t.devices] == [
        (0, 0, "Ascend950PR", 100, "NPU"), (1, 0, "Ascend950PR", 0, "NPU"), (2, 0, "Ascend950PR", 0, "NPU")]  # fmt: skip
    assert t.devices[0].health == "Alarm"
    assert [d.hbm for d in t.devices] == [Pool(90641, 114688), Pool(5414, 131072), Pool(5409, 131072)]
    assert held(t) == [(0, 0, 153061, "python", 4725, None), (0, 0, 165502, "python", 4729, None)]


def a_na_power(t: SmiText) -> None:
    only = t.devices[0]
    assert (only.card, only.power_w, only.states["power_w"]) == (24, None, "not_reported")
    assert (only.hbm, only.ddr) == (None, Pool(4061, 21527))
    assert only.states["hbm"] == "not_shown" and only.memory == Pool(4061, 21527)
    assert held(t) == [(24, 0, 40712, "python3.9", 2231, None)]


def a_duo(t: SmiText) -> None:
    assert [(d.card, d.chip, d.logic_id, d.bus_id) for d in t.devices] == [
        (1, 0, 0, "0000:3A:00.0"), (1, 1, 1, "0000:3A:00.0"), (2, 0, 2, "0000:4A:00.0"), (2, 1, 3, "0000:4A:00.0")]  # fmt: skip


def a_310(t: SmiText) -> None:
    only = t.devices[0]
    assert (only.bus_id, only.states["bus_id"], only.hugepages, only.power_w) == (None, "not_reported", Pool(0, 187), 12.8)
    assert t.process_table == "not_shown"


def a_310b4(t: SmiText) -> None:
    only = t.devices[0]
    assert (only.bus_id, only.health, only.hugepages, only.ddr) == (None, "Alarm", Pool(15, 15), Pool(2164, 3513))
    assert t.process_table == "not_shown"


def a_narrow(t: SmiText) -> None:
    assert (t.tool, t.driver, t.devices[0].power_w) == ("22.0.0", "22.0.2", 16.4)


def a_warning(t: SmiText) -> None:
    assert t.driver_incomplete and [d.health for d in t.devices] == ["OK"]


def a_watch(t: SmiText) -> None:
    assert [(s.card, s.chip, s.values["Pwr(W)"], s.values["AI Core(%)"]) for s in t.samples] == [
        (2, 0, 90.1, 0), (2, 0, 187.4, 63), (2, 0, 191.0, 88)]  # fmt: skip
    assert t.samples[2].values["Memory BW(%)"] == 44


def a_watch_950(t: SmiText) -> None:
    second = t.samples[1]
    assert (second.card, second.chip) == (1, 0)
    assert (second.values["AI Core(%)"], second.values["NPU Util(%)"], second.values["AI Cube(%)"]) == (91, 93, 88)


def a_usages(t: SmiText) -> None:
    assert [(b.card, b.chip) for b in t.blocks] == [(0, 0)]
    assert values(t)["HBM Capacity(MB)"] == "65536" and values(t)["HBM Usage Rate(%)"] == "71"
    assert values(t)["Aicore Usage Rate(%)"] == "64" and values(t)["Aivector Usage Rate(%)"] == "22"


def a_usages_26(t: SmiText) -> None:
    assert (values(t)["NPU Utilization(%)"], values(t)["Aicube Usage Rate(%)"]) == ("100", "88")


def a_usages_duo(t: SmiText) -> None:
    assert [(b.card, b.chip, b.values["DDR Usage Rate(%)"]) for b in t.blocks] == [(1, 0, "19"), (1, 1, "3")]
    assert not any("HBM" in key for key in values(t)) and "DVPP VDEC Usage Rate(%)" in values(t)


def a_common(t: SmiText) -> None:
    assert [(b.card, b.chip, b.mcu, b.values["Temperature(C)"]) for b in t.blocks] == [(1, 0, False, "61"), (1, None, True, "40")]
    assert (values(t)["Aicore Freq(MHZ)"], values(t)["Aicore curFreq(MHZ)"]) == ("1800", "1650")


def a_map(t: SmiText) -> None:
    assert [tuple(row) for row in t.mapping] == [(n, 0, n, None, "Ascend 910B3") for n in range(4)]


def a_map_dies(t: SmiText) -> None:
    assert [tuple(row)[:4] for row in t.mapping] == [(0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 2, 2), (1, 1, 3, 3)]


def a_two_codes(t: SmiText) -> None:
    assert values(t)["Health Status"] == "Alarm" and values(t)["Error Code"] == "80E18005 80DF8000"
    assert values(t)["Error Information"] == "sample text of the first code\nsample text of the second code"


def a_healthy(t: SmiText) -> None:
    assert values(t)["Health Status"] == "OK" and values(t)["Error Code"] == "NA"


def a_proc_mem(t: SmiText) -> None:
    assert held(t) == [(0, 0, 914402, "VLLMWorker_TP", 57284, None), (0, 0, 914377, "python3.10", 166, None)]


def a_proc_mem_idle(t: SmiText) -> None:
    assert t.processes == () and t.idle_cards == (7,)


def a_topo(t: SmiText) -> None:
    assert t.topology is not None
    assert t.topology.names == ("NPU0", "NPU1", "NPU2", "NPU3")
    assert t.topology.links["NPU2"] == ("HCCS", "HCCS", "X", "HCCS")
    assert t.topology.affinity == {"NPU0": "144-167", "NPU1": "0-23", "NPU2": "96-119", "NPU3": "48-71"}


def a_list(t: SmiText) -> None:
    assert [values(t, n) for n in range(3)] == [
        {"Total Count": "2"}, {"NPU ID": "0", "Chip Count": "1"}, {"NPU ID": "1", "Chip Count": "1"}]  # fmt: skip


def a_board(t: SmiText) -> None:
    assert t.driver == "24.1.rc2"
    assert (values(t)["Firmware Version"], values(t)["Compatibility"]) == ("7.3.0.1.231", "OK")


def a_board_chip(t: SmiText) -> None:
    assert values(t)["Chip Name"] == "910B3"
    assert values(t)["VDie ID"] == "11111111 22222222 33333333 44444444 55555555"


def a_power(t: SmiText) -> None:
    assert values(t)["NPU Real-time Power(W)"] == "91.6" and (t.blocks[0].card, t.blocks[0].chip) == (0, 0)


def failed(cause: str, codes: tuple[int, ...], status: int | None) -> Callable[[SmiText], None]:
    def check(t: SmiText) -> None:
        assert t.error is not None
        assert (t.error.cause, t.error.codes, t.error.status) == (cause, codes, status)

    return check


CHECKS: dict[str, Callable[[SmiText], None]] = {
    "info_910A_x4_23.0.rc1.txt": a_910a,
    "info_910B3_x8_23.0.7_idle.txt": a_eight_idle,
    "info_910B4_x2_24.1.rc2_busy.txt": a_glued,
    "info_A3_x2_25.5.1_two_dies.txt": a_two_dies,
    "info_910B2_x2_26.0.rc1_container_pids.txt": a_container_pids,
    "info_A3_x2_26.0.rc2_idle.txt": a_wide_idle,
    "info_950PR_x3_25.7.rc1_alarm.txt": a_950,
    "info_310P3_x1_23.0.0_NA_power.txt": a_na_power,
    "info_310P3_duo_x2_24.1.rc2.txt": a_duo,
    "info_310_soc_22.0.4.txt": a_310,
    "info_310B4_soc_23.0.rc3_alarm.txt": a_310b4,
    "info_310P3_x1_22.0.2_narrow.txt": a_narrow,
    "info_910B2_x1_25.3.rc1_driver_warning.txt": a_warning,
    "watch_910B_24.1.txt": a_watch,
    "watch_950_26.x.txt": a_watch_950,
    "t_usages_910B3_24.1.txt": a_usages,
    "t_common_910B3_24.1.txt": a_common,
    "m_910B3_x4_24.1.txt": a_map,
    "m_A3_x2_25.5.1.txt": a_map_dies,
    "t_health_910B3_two_codes.txt": a_two_codes,
    "t_health_910B3_ok.txt": a_healthy,
    "t_proc-mem_910B3.txt": a_proc_mem,
    "t_proc-mem_910B3_idle.txt": a_proc_mem_idle,
    "t_topo_910B_x4.txt": a_topo,
    "t_usages_910B2_26.x.txt": a_usages_26,
    "t_usages_310P3_duo_24.1.txt": a_usages_duo,
    "l_910B_x2_24.1.txt": a_list,
    "t_board_910B3_24.1.txt": a_board,
    "t_board_chip_910B3_24.1.txt": a_board_chip,
    "t_power_910B3.txt": a_power,
    "fail_8020_container_device_used.txt": failed("device_used", (-8020,), 172),
    "fail_8005_no_driver.txt": failed("driver_not_usable", (-8005,), 187),
    "fail_8020_then_9005.txt": failed("device_used", (-8020, -9005), 172),
    "fail_missing_library.txt": failed("missing_library", (), 127),
    "fail_command_not_found.txt": failed("tool_absent", (), 127),
    "unsupported_type.txt": failed("unsupported", (), 0),
}


def test_every_sample_has_a_check() -> None:
    assert CHECKS.keys() == INDEX.keys() == {path.name for path in SAMPLES.glob("*.txt")}


@pytest.mark.parametrize("name", INDEX)
def test_samples_say_what_they_say(name: str) -> None:
    text = parse(sample(name))
    CHECKS[name](text)
    assert text.cut == ""


@pytest.mark.parametrize("name", [name for name in INDEX if name.startswith("info_")])
def test_layout_and_driver_come_from_the_text(name: str) -> None:
    text = parse(sample(name))
    assert text.layout == INDEX[name]["layout"].split(" ")[0]
    assert text.driver == INDEX[name]["driver_version"].split(" ")[0]
