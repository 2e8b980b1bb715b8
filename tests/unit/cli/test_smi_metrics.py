"""Metrics of one look: npu-exporter's names, labels and values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.smi_look import records
from diag.smi_text import parse
from npu.driver.door import DeviceInfo, Snapshot
from npu.units import GIB

pytest.importorskip("prometheus_client")

from cli.metrics import families

SAMPLES = Path(__file__).parents[2] / "data" / "npu-smi"
AT = 1_700_000_000.5


def samples(name: str) -> dict[str, dict[str, float]]:
    """Metric -> chip id (and pid) -> value."""
    made: dict[str, dict[str, float]] = {}
    for family in families(parse((SAMPLES / name).read_bytes().decode()), at=AT):
        for one in family.samples:
            assert one.timestamp == AT
            which = "/".join(one.labels[label] for label in ("id", "process_id") if label in one.labels)
            made.setdefault(one.name, {})[which] = one.value
    return made


def test_a_busy_machine() -> None:
    said = samples("info_910B4_x2_24.1.rc2_busy.txt")
    assert said["machine_npu_nums"] == said["machine_card_nums"] == said["machine_healthy_npu_nums"] == {"": 2}
    assert said["npu_chip_info_utilization"] == {"0": 94, "1": 0}
    assert said["npu_chip_info_hbm_used_memory"] == {"0": 29871, "1": 2668}
    assert said["npu_chip_info_hbm_total_memory"] == {"0": 32768, "1": 32768}
    assert said["npu_chip_info_hbm_utilization"] == {"0": 91.2, "1": 8.1}
    assert said["npu_chip_info_power"] == {"0": 212.3, "1": 88.1}
    assert said["npu_chip_info_process_info"] == {"0/914402": 26988, "0/914377": 166}
    assert said["npu_chip_info_process_info_num"] == {"0": 2, "1": 0}
    assert "npu_chip_info_used_memory" not in said  # no DDR pool: absent, not 0


def test_what_is_not_known_is_left_out() -> None:
    dies = samples("info_A3_x2_25.5.1_two_dies.txt")
    assert dies["npu_chip_info_power"] == {"0": 201.4, "2": 171.9}
    assert (dies["machine_npu_nums"], dies["machine_card_nums"]) == ({"": 4}, {"": 2})
    small = samples("info_310P3_x1_23.0.0_NA_power.txt")
    assert "npu_chip_info_power" not in small and "npu_chip_info_hbm_total_memory" not in small
    assert small["npu_chip_info_total_memory"] == {"0": 21527}


def test_health_and_kind_of_use() -> None:
    newest = samples("info_950PR_x3_25.7.rc1_alarm.txt")
    assert newest["npu_chip_info_health_status"] == {"0": 0, "1": 1, "2": 1}
    assert newest["npu_chip_info_overall_utilization"] == {"0": 100, "1": 0, "2": 0}
    assert "npu_chip_info_utilization" not in newest
    assert newest["machine_unhealthy_npu_nums"] == {"": 1}


def test_a_failure_leaves_the_version() -> None:
    assert samples("fail_8005_no_driver.txt").keys() == {"npu_exporter_version_info"}


def test_what_the_driver_knows_of_simulated_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One device at 85 % of its cube cores with two faults, an error in its memory; a chip without HBM has no figures of it."""
    monkeypatch.setenv("NPU_STATE_DIR", str(tmp_path))
    busy = DeviceInfo(0, "Ascend910B3", "Alarm", "0000:C1:00.0", 200.0, 50, 85, 12, 0, 4 * GIB, 64 * GIB, 0, 0, 1850,
                      ("80E01801 HBM multi-bit ECC error", "80C98009 AI Core error"), (), memory_busy=31, current_mhz=925,
                      double_bits=2, isolated=1)  # fmt: skip
    small = replace(busy, soc="Ascend310P3", faults=())
    said = [
        {f.name.removeprefix("npu_chip_info_"): f.samples[0].value
         for f in families(records(Snapshot("25.5.0", "7.8", (device,)), "25.5.0"), (device,), at=AT)}
        for device in (busy, small)
    ]  # fmt: skip
    wanted = {"cube_utilization": 85, "vector_utilization": 12, "aicore_current_freq": 925, "hbm_bandwidth_utilization": 31,
              "hbm_ecc_enable_flag": 1, "hbm_ecc_double_bit_error_cnt": 2, "hbm_ecc_total_double_bit_error_cnt": 2,
              "hbm_ecc_double_bit_isolated_pages_cnt": 1, "error_code": 0x80E01801, "error_code_1": 0x80C98009}  # fmt: skip
    assert {name: said[0][name] for name in wanted} == wanted and "error_code_2" not in said[0]
    assert said[1].keys() & wanted.keys() == {"vector_utilization", "cube_utilization", "aicore_current_freq"}


def test_labels() -> None:
    text = parse((SAMPLES / "info_910B4_x2_24.1.rc2_busy.txt").read_text(encoding="utf-8"))
    power = next(family for family in families(text, at=AT) if family.name == "npu_chip_info_power")
    assert list(power.samples[0].labels) == [
        "id",
        "model_name",
        "vdie_id",
        "pcie_bus_info",
        "namespace",
        "pod_name",
        "container_name",
    ]
    assert power.samples[1].labels["pcie_bus_info"] == "0000:3B:00.0"
