"""Our own verbs and options of npu-smi as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.scripts.test_npu_smi import SAMPLES, TOOL, environment, on_real_machine, run

pytestmark = pytest.mark.slow  # many starts of programs


def test_parse_as_json(tmp_path: Path) -> None:
    done = run(tmp_path, "parse", str(SAMPLES / "info_A3_x2_25.5.1_two_dies.txt"), "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["layout"], said["driver"], said["error"]) == (0, "HBM-96", "25.5.1", None)
    second = said["devices"][1]
    assert (second["card"], second["chip"], second["phy_id"], second["power_w"]) == (0, 1, 1, None)
    assert second["states"] == {"power_w": "on_first_die", "ddr": "absent"}
    assert [one["pid"] for one in said["processes"]] == [330101, 330102, 330102]


def test_parse_standard_input_and_failures(tmp_path: Path) -> None:
    text = (SAMPLES / "fail_8020_then_9005.txt").read_text(encoding="utf-8")
    done = subprocess.run([TOOL, "parse", "-", "--json"], input=text, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["codes"] == [-8020, -9005]
    said = run(tmp_path, "parse", str(SAMPLES / "fail_8020_then_9005.txt"), "--lang", "zh")
    assert said.returncode == 1 and "设备被占用（-8020, -9005）" in said.stdout


def test_parse_refuses_other_texts(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    done = run(tmp_path, "parse", str(tmp_path / "notes.txt"))
    assert done.returncode == 2 and done.stderr.count("\n") == 2 and "next: save the tool's output whole" in done.stderr
    assert run(tmp_path, "parse", str(tmp_path / "absent.txt")).stderr.startswith("npu-smi parse: no such file or folder")


def test_csv_and_json(tmp_path: Path) -> None:
    done = run(
        tmp_path, "info", "--query-npu=index,name,temperature,hugepages.used", "--format=csv,noheader,nounits", NPU_DEVICES="2"
    )
    assert (done.returncode, done.stdout) == (0, "0,910B3,32,0\n1,910B3,38,0\n")
    everything = json.loads(run(tmp_path, "info", "--format", "json", NPU_SOC="310P3").stdout)
    assert everything["devices"][0]["power_w"] is None
    assert everything["devices"][0]["states"]["power_w"] == "not_reported"
    assert "power.draw           W    Power now" in run(tmp_path, "info", "--query-npu=help").stdout


@pytest.mark.parametrize(("words", "said"), [
    (("--query-npu=indx",), "did you mean index?"), (("--format=xml",), "--format=xml is not a format"),
    (("--format=json,noheader",), "--format=json,noheader is not a format"),
])  # fmt: skip
def test_wrong_fields_are_named(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = run(tmp_path, "info", *words)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and done.stderr.count("\n") == 2


def test_health_set_and_judged(tmp_path: Path) -> None:
    assert run(tmp_path, "info", "--strict").returncode == 0
    assert run(tmp_path, "set", "-t", "health", "-i", "2", "-d", "Alarm", "-m", "80E18005 a memory fault").returncode == 0
    assert run(tmp_path, "set", "-t", "health", "-i", "2", "-d", "Alarm", "-m", "80DF8000").returncode == 0
    assert "| 2     910B3               | Alarm         |" in run(tmp_path, "info").stdout
    assert run(tmp_path, "info", "-t", "health", "-i", "2", "-c", "0").stdout == (
        "\tHealth Status                  : Alarm\n\tError Code                     : 80E18005 80DF8000\n"
        "\tError Information              : a memory fault\n\t                               : NA\n")  # fmt: skip
    judged = run(tmp_path, "info", "--strict")
    assert judged.returncode == 1 and "Health Alarm: NPU 2" in judged.stdout
    assert run(tmp_path, "info", "--strict=critical").returncode == 0
    assert run(tmp_path, "clear", "-t", "health", "-i", "2").returncode == 0
    assert run(tmp_path, "info", "--strict").returncode == 0


@pytest.mark.parametrize(("words", "status"), [
    (("set", "-t", "health", "-i", "0", "-d", "Ill"), 215), (("set", "-t", "health", "-d", "OK"), 215),
    (("set", "-t", "health", "-i", "9", "-d", "OK"), 215), (("set", "-t", "health", "-x", "9", "-d", "OK"), 215),
    (("clear", "-t", "tls-cert-period", "-i", "0"), 193), (("upgrade", "-b", "mcu"), 193),
])  # fmt: skip
def test_what_cannot_be_set(tmp_path: Path, words: tuple[str, ...], status: int) -> None:
    assert run(tmp_path, *words).returncode == status


def test_failures_keep_the_tools_status(tmp_path: Path) -> None:
    done = run(tmp_path, "info", "--format=json", NPU_DRIVER="none")
    assert (done.returncode, done.stdout) == (187, "") and "-8005" in done.stderr


def test_on_a_real_machine_our_options_read_the_real_tool(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "npu-smi").write_text(
        f"#!/bin/sh\necho called >> {tmp_path}/calls\ncat '{SAMPLES}/info_910B4_x2_24.1.rc2_busy.txt'\n"
    )
    (real / "npu-smi").chmod(0o755)
    done = on_real_machine(tmp_path, "info", "--query-npu=power.draw", "--format=csv,noheader,nounits")
    assert (done.returncode, done.stdout) == (0, "212.3\n88.1\n")
    top = on_real_machine(tmp_path, "top", "--count", "2", "--interval", "0.2")
    assert top.returncode == 0 and top.stdout.count("VLLMWorker_TP") == 2
    assert (tmp_path / "calls").read_text().count("called") == 3  # one call of the tool a look


def test_watch_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [TOOL, "info", "watch", "-i", "1", "-s", "ta"], env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "NpuID(Idx)  ChipId(Idx) Temp(C)     AI Core(%)  \n"
    assert child.stdout.readline() == "1           0           38          0           \n"
    child.send_signal(signal.SIGINT)
    assert child.wait(10) == -signal.SIGINT
    child.stdout.close()


@pytest.mark.parametrize("words", [("-d", "0"), ("-d", "101"), ("-s", "n"), ("-i", "77"), ("-c", "0")])
def test_watch_refuses(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, "info", "watch", *words)
    assert done.returncode == 215 and f"Error parameter of {words[0]}\n" in done.stdout


def test_top_in_a_pipe(tmp_path: Path) -> None:
    done = run(tmp_path, "top")
    assert done.returncode == 2 and "top needs a terminal" in done.stderr
    record = tmp_path / "looks.jsonl"
    done = run(tmp_path, "top", "--count", "2", "--interval", "0.2", "--record", str(record))
    assert done.stdout == f"written: {record}\n"
    looks = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert len(looks) == 2 and looks[1]["time_ns"] - looks[0]["time_ns"] >= 200_000_000
    assert len(looks[0]["devices"]) == 8 and looks[0]["error"] is None
    assert run(tmp_path, "top", "--count", "1", "--record", str(record)).returncode == 2  # exists


def test_top_on_a_terminal_ends_with_q(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    env = environment(tmp_path, TERM="xterm", COLUMNS="80", LINES="24")
    child = subprocess.Popen([TOOL, "top"], env=env, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = b""
    begin = time.monotonic()
    while b"q quit" not in seen and time.monotonic() - begin < 20:
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 65536)
    os.write(screen, b"q")
    status = None
    while status is None and time.monotonic() - begin < 40:  # what it still writes must be read, or it cannot end
        if select.select([screen], [], [], 0.1)[0]:
            try:
                seen += os.read(screen, 65536)
            except OSError:  # EIO: the other end is closed
                break
        status = child.poll()
    assert child.wait(10) == 0
    os.close(screen)
    plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen).decode("utf-8", "replace")
    assert "8 devices, 0 busy, 0 processes" in plain
    assert b"\x1b[?1049h" in seen and b"\x1b[?1049l" in seen  # the screen from before comes back


def test_exporter_answers_on_loopback(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    child = subprocess.Popen([TOOL, "exporter", "--port", "0"], env=environment(tmp_path), stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        address = child.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:") and address.endswith("/metrics")
        with urllib.request.urlopen(address, timeout=20) as answer:
            text = answer.read().decode()
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(10)
        child.stdout.close()
    assert re.search(r'^npu_chip_info_temperature\{.*id="3".*\} 40\.0 \d{13}$', text, re.MULTILINE)
    assert re.search(r"^machine_npu_nums 8\.0 \d{13}$", text, re.MULTILINE)


def test_python_is_the_only_thing_a_parse_needs(tmp_path: Path) -> None:
    code = "import sys; from diag.smi_text import parse; from diag.smi_findings import find; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"typer", "rich", "numpy", "npu.driver"} & set(done.stdout.split())
