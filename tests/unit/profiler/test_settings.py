"""Settings of the environment stand under findings whose cost was seen, and nowhere else."""

from __future__ import annotations

import pytest

from profiler import texts
from profiler.analysis import analyze
from profiler.analysis.settings import noted, table
from profiler.findings import Finding, Setting
from tests.unit.profiler.test_rule_own_code import TestLaunchBound, inference


def names(finding: str, environ: dict[str, str], launch: int = 6000) -> list[str]:
    made = Finding(finding, 23, "host", "note", {"launch_ns": launch}, None)
    return [s.name for s in noted([made], environ)[0].settings]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TASK_QUEUE_ENABLE": "0", "CPU_AFFINITY_CONF": "1"}, ["TASK_QUEUE_ENABLE"]),
        ({"TASK_QUEUE_ENABLE": "1", "CPU_AFFINITY_CONF": "1"}, []),
        ({"PATH": "/bin"}, ["CPU_AFFINITY_CONF"]),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "3", "CPU_AFFINITY_CONF": "2"}, []),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "1", "CPU_AFFINITY_CONF": "2"}, ["ASCEND_GLOBAL_LOG_LEVEL"]),
        ({}, []),
    ],
)
def test_settings_of_a_launch_bound_run(environ: dict[str, str], expected: list[str]) -> None:
    assert names("launch-bound", environ) == expected


def test_logs_matter_only_where_launches_are_slow() -> None:
    environ = {"ASCEND_GLOBAL_LOG_LEVEL": "0", "CPU_AFFINITY_CONF": "2"}
    assert names("launch-bound", environ, launch=5001) == ["ASCEND_GLOBAL_LOG_LEVEL"]
    assert names("launch-bound", environ, launch=5000) == []


def test_numbers_and_parts_of_a_value() -> None:
    assert names("exposed-communication", {"HCCL_BUFFSIZE": "120"}) == ["HCCL_BUFFSIZE"]
    assert names("exposed-communication", {"HCCL_BUFFSIZE": "200"}) == []
    assert names("memory-fragmentation", {"PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:64"}) == ["PYTORCH_NPU_ALLOC_CONF"]
    assert names("memory-fragmentation", {"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"}) == []


def test_another_finding_and_a_symptom_get_none() -> None:
    assert names("host-preprocess", {"TASK_QUEUE_ENABLE": "0"}) == []
    symptom = Finding("launch-bound", 23, "host", "note", {}, None, cause="python-gc")
    assert noted([symptom], {"TASK_QUEUE_ENABLE": "0"})[0].settings == ()


def test_an_environment_alone_makes_no_finding() -> None:
    made = inference(prepare=0)
    made.meta["env"] = {"ASCEND_LAUNCH_BLOCKING": "1", "TASK_QUEUE_ENABLE": "0"}
    assert [f for f in analyze(made.trace()).findings if f.settings] == []


def test_a_report_of_a_seen_cost_names_the_setting() -> None:
    made = TestLaunchBound().eager()
    made.meta["env"] = {"TASK_QUEUE_ENABLE": "0", "CPU_AFFINITY_CONF": "1"}
    found = next(f for f in analyze(made.trace()).findings if f.id == "launch-bound")
    assert found.settings == (Setting("TASK_QUEUE_ENABLE", "0"),)


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_every_setting_has_a_text(lang: str) -> None:
    assert set(texts.table(lang)["setting"]) == {k.name for k in table()}
    assert texts.setting(Setting("TASK_QUEUE_ENABLE", "0"), lang).startswith("TASK_QUEUE_ENABLE=0")
    assert "CPU_AFFINITY_CONF" in texts.setting(Setting("CPU_AFFINITY_CONF", ""), lang)
