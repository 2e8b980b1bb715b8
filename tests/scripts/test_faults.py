"""Each fault is told alike by the script's code and message, by the log, by `npu-diag log` on it, and by the device tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from diag.log_report import read
from npu.driver.door import DeviceInfo
from npu.driver.query import snapshot
from npu.shim.launch import environment
from tests.scripts.conftest import Run
from tests.scripts.fault_rows import ROWS, RUNNER, Row


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which every row has been played: one numbered folder each, with its log, state and what it said."""
    folder = tmp_path_factory.mktemp("faults")
    models(folder)
    (folder / "run.py").write_text(RUNNER)
    (folder / "rows.json").write_text(json.dumps([asdict(row) for row in ROWS]))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND"))}
    env = environment(kept | {"NPU_CLOCK": "model", "NPU_PATCH_TIME": "0", "NPU_STATE_DIR": str(folder / "state"), "HOME": str(folder)})
    words = [sys.executable, "run.py", "rows.json", str(folder), str(folder / "played")]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "played"


def models(folder: Path) -> None:
    """fits: takes 64 floats; newer: the same by a later toolkit; other: for another chip; aicpu: its one kernel is the AI CPU's."""
    from tests import made_onnx

    plain = made_onnx.model([made_onnx.node("Relu", "x", "y")], "y", {}, {"x": [1, 64]})
    det = made_onnx.model([made_onnx.node("Det", "x", "y")], "y", {}, {"x": [4, 4]})
    for name, made, flags, cann in (
        ("fits", plain, {}, "8.3.RC1"), ("newer", plain, {}, "9.9.0"), ("other", plain, {"soc_version": "Ascend310P3"}, "8.3.RC1"),
        ("aicpu", det, {}, "8.3.RC1"),
    ):  # fmt: skip
        from npu.graph.compile import compile
        from npu.graph.options import conversion

        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
        wanted = {"framework": "5", "model": str(folder / f"{name}.onnx"), "output": str(folder / name), "soc_version": "Ascend910B3",
                  "export_compile_stat": "0", **made_onnx.ORIGIN, **flags}
        compile(conversion(wanted, "atc"), cann)


def log_of(place: Path) -> str:
    return "".join(path.read_text() for path in sorted((place / "ascend" / "log").rglob("*.log")))


def device(place: Path, number: int = 0) -> DeviceInfo:
    """What the device tool sees of a device after the row."""
    return snapshot({"NPU_STATE_DIR": str(place / "state"), "HOME": str(place)}).devices[number]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.name.replace(" ", "-") for row in ROWS])
def test_code_message_log_line_and_verdict(number: int, played: Path) -> None:
    row, place = ROWS[number], played / str(number)
    assert (place / "ended").read_text() == str(row.ends), (place / "stderr").read_text()
    if row.ends == 0:
        code, message = json.loads((place / "said").read_text())
        assert (code, row.message in (message or "")) == (row.code, True), message
    text = log_of(place)
    assert (row.line or f"error code {row.code}") in text, text
    assert row.message in text
    report = read([place / "ascend" / "log"])
    assert (report.cause.cause if report.cause is not None else None) == row.cause, text


def of(name: str, played: Path) -> Path:
    return played / str(next(i for i, row in enumerate(ROWS) if row.name == name))


@pytest.mark.parametrize(
    ("name", "number", "health", "faults", "double_bits", "isolated"),
    [
        ("ecc", 0, "Alarm", ("80E01801 HBM multi-bit ECC error",), 1, 1),
        ("aicore-exception", 0, "Alarm", ("80C98009 AI Core error",), 0, 0),
        ("link-down", 1, "Alarm", ("81078603 network port link down",), 0, 0),
        ("link-down", 0, "OK", (), 0, 0),
        ("device not alive", 0, "Critical", ("40F84E00 the device does not answer",), 0, 0),
        ("aicore-timeout", 0, "OK", (), 0, 0),
        ("killed", 0, "OK", (), 0, 0),
    ],
)
def test_the_device_tool_shows_what_a_fault_left(
    name: str, number: int, health: str, faults: tuple[str, ...], double_bits: int, isolated: int, played: Path
) -> None:
    seen = device(of(name, played), number)
    assert (seen.health, seen.faults, seen.double_bits, seen.isolated) == (health, faults, double_bits, isolated)


def test_lines_of_the_device_lie_in_its_folder(played: Path) -> None:
    (path,) = (of("ecc", played) / "ascend" / "log" / "debug" / "device-0").iterdir()
    assert path.name.startswith("device-") and "hbm uncorrectable multi bit ecc error" in path.read_text()


def test_the_cause_is_the_first_line_and_names_its_device(played: Path) -> None:
    report = read([of("aicore-exception", played) / "ascend" / "log"])
    assert report.cause is not None
    assert report.cause.facts["kernel_name"] == "Relu" and report.cause.facts["device_id"] == "0"


def test_what_is_left_behind_is_a_note_and_no_fault(played: Path) -> None:
    report = read([of("things left behind at a reset", played) / "ascend" / "log"])
    assert [note.cause for note in report.notes] == ["left_behind"]


@pytest.mark.parametrize("row", [r for r in ROWS if r.env.get("NPU_FAULT")], ids=lambda r: r.name)
def test_every_row_states_its_plan_in_the_run_log(row: Row, played: Path) -> None:
    logs = list((of(row.name, played) / "ascend" / "log" / "run" / "plog").iterdir())
    assert len(logs) == 1 and f"NPU_FAULT is set: {row.env['NPU_FAULT']}" in logs[0].read_text()


def test_ranks_of_a_job_write_a_log_each_and_a_plan_picks_one(start: Run) -> None:
    script = """
    import os, acl
    acl.init()
    code = acl.rt.set_device(int(os.environ["LOCAL_RANK"]))
    raise SystemExit(code != (507033 if os.environ["RANK"] == "1" else 0) or acl.rt.free(64) != 207002)
    """
    env = {"NPU_FAULT": "busy:device=1", "NPU_CLOCK": "model"}
    ran = start("msprof", "run", "--no-summary", "--nproc", "2", "script.py", script=script, env=env)
    assert ran.code == 0, ran.err
    texts = [path.read_text() for path in (ran.folder / "ascend/log/debug/plog").glob("plog-*.log")]
    assert len(texts) == 2 and all("error code 207002" in text for text in texts)
    assert sorted("cause busy" in text for text in texts) == [False, True]


def test_a_plan_that_cannot_be_read_ends_the_script_with_two_lines(start: Run) -> None:
    ran = start("python", "-m", "npu", "script.py", script="import acl; acl.init()", env={"NPU_FAULT": "eec"})
    assert (ran.code, ran.out) == (2, "") and not (ran.folder / "ascend").exists()
    first, second = ran.err.splitlines()
    assert first.startswith("npu: NPU_FAULT=eec: there is no fault 'eec'; known: ecc, ") and second.startswith("  next: ")


def test_a_run_without_fault_leaves_no_log_and_at_info_the_versions(start: Run) -> None:
    script = "import acl; acl.init(); acl.rt.set_device(0); acl.rt.reset_device(0); acl.finalize()"
    ran = start("python", "-m", "npu", "script.py", script=script)
    assert ran.code == 0 and not (ran.folder / "ascend").exists()
    ran = start("python", "-m", "npu", "script.py", env={"ASCEND_GLOBAL_LOG_LEVEL": "1"})
    (log,) = (ran.folder / "ascend/log/debug/plog").iterdir()
    assert "runtime version 8.3.RC1, driver version 25.5.0, firmware version 7.8.0.5.216, chip Ascend910B3" in log.read_text()
    assert read([log]).facts["runtime_package"] == "8.3.RC1"


def test_the_device_tool_and_the_check_name_a_planned_fault_until_it_is_cleared(start: Run) -> None:
    script = "import acl; acl.init(); acl.rt.set_device(0); acl.rt.create_stream()"
    assert start("python", "-m", "npu", "script.py", script=script, env={"NPU_FAULT": "heartbeat-lost:at=3"}).code == 0
    shown = start("npu-smi", "info", "-t", "health", "-i", "0", "-c", "0").out
    assert "Critical" in shown and "40F84E00" in shown
    checked = start("npu-diag", "check")
    assert checked.code == 1 and "Critical" in checked.out, checked.out
    again = "import acl; acl.init(); print(acl.rt.set_device(0))"
    assert start("python", "-m", "npu", "script.py", script=again).out == "507010\n"
    assert start("npu-smi", "clear", "-t", "health", "-i", "0").code == 0
    assert start("python", "-m", "npu", "script.py").out == "0\n"


def test_the_device_tool_meets_the_same_busy_devices(start: Run) -> None:
    ran = start("npu-smi", "info", env={"NPU_FAULT": "busy"})
    assert ran.code != 0 and "-8020" in ran.out
    assert start("npu-smi", "info", env={"NPU_FAULT": "busy:device=1"}).code == 0


def test_memory_errors_are_counted_until_they_are_cleared(start: Run) -> None:
    script = """
    import acl
    acl.init(); acl.rt.set_device(0); p, _ = acl.rt.malloc(4096, 2)
    desc, data = acl.create_tensor_desc(0, [64], 2), acl.create_data_buffer(p, 4096)
    acl.op.execute_v2("Relu", [desc], [data], [desc], [data], acl.op.create_attr(), 0)
    print(acl.rt.synchronize_stream(0))
    """
    assert start("python", "-m", "npu", "script.py", script=script, env={"NPU_FAULT": "ecc"}).out == "507054\n"
    counted = "HBM Double Bit Error Count               : "
    assert counted + "1" in start("npu-smi", "info", "-t", "ecc", "-i", "0", "-c", "0").out
    assert start("npu-smi", "clear", "-t", "ecc-info", "-i", "0").code == 0
    assert counted + "0" in start("npu-smi", "info", "-t", "ecc", "-i", "0", "-c", "0").out


def test_a_refusal_while_the_interpreter_ends_is_logged_like_any_other(start: Run) -> None:
    script = """
    import acl
    class Held:
        def __del__(self, free=acl.rt.free):
            free(64)
    acl.init(); acl.rt.set_device(0)
    held = Held()
    """
    ran = start("python", "-m", "npu", "script.py", script=script)
    assert (ran.code, ran.err) == (0, "")
    (log,) = (ran.folder / "ascend/log/debug/plog").iterdir()
    assert "cause free_failed" in log.read_text()
