"""The installed npu-smi as a user runs it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TOOL = Path(sys.prefix) / "bin" / "npu-smi"
SAMPLES = Path(__file__).parents[1] / "data" / "npu-smi"
MIB = 1 << 20


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NPU_")}
    return {**kept, "NPU_STATE_DIR": str(folder / "state"), "NPU_SIM": "1", **more}


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *arguments], env=environment(folder, **more), capture_output=True, text=True, timeout=30)


WARNS = "[WARNING]The driver package may not be completely installed, which may cause function abnormal. Please reinstall it."


def test_a_host_whose_driver_install_did_not_end_is_told_below_the_table(tmp_path: Path) -> None:
    """Outside of docker and in the tables with HBM only, as the tool's source has it."""
    diag = TOOL.with_name("npu-diag")
    for name, preset in (("dev", "development"), ("box", "container")):
        subprocess.run([diag, "host", "create", name, "--preset", preset], env=environment(tmp_path), check=True, capture_output=True)
    assert WARNS not in run(tmp_path, "info", NPU_HOST="dev").stdout
    record = tmp_path / "state" / "hosts" / "dev" / "etc" / "ascend_install.info"
    record.write_text(record.read_text().replace("Status=complete", "Status=running"))
    done = run(tmp_path, "info", NPU_HOST="dev")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, WARNS)
    assert WARNS not in run(tmp_path, "info", NPU_HOST="dev", NPU_SOC="Ascend310P3").stdout
    assert WARNS not in run(tmp_path, "info", "-l", NPU_HOST="dev").stdout
    record.unlink()
    assert run(tmp_path, "info", NPU_HOST="dev").stdout.endswith(f"{WARNS}\n")
    (tmp_path / "state" / "hosts" / "box" / "etc" / "ascend_install.info").unlink()
    assert WARNS not in run(tmp_path, "info", NPU_HOST="box").stdout


def test_an_idle_machine(tmp_path: Path) -> None:
    done = run(tmp_path, "info")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert {len(line) for line in lines} == {98}
    assert lines[1].startswith("| npu-smi 25.5.0                   Version: 25.5.0 ")
    assert lines[6:8] == [
        "| 0     910B3               | OK            | 86.0        32                0    / 0             |",
        "| 0                         | 0000:C1:00.0  | 0           0    / 0          3337 / 65536         |",
    ]
    assert done.stdout.count("No running processes found in NPU") == 8


CLIENT = textwrap.dedent("""
    import sys
    from npu.driver.state import Table
    table = Table.open()
    slot = table.attach()
    assert table.reserve(slot, 2, 30000 << 20, 15000, 60000 << 20)
    table.publish(slot, 2, 640, 220, 0, 300)
    print("ready", flush=True)
    sys.stdin.read()
""")


def test_a_process_appears_and_is_gone_after_kill_9(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CLIENT], env=environment(tmp_path), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == "ready\n"
    name = Path(f"/proc/{child.pid}/comm").read_text(encoding="utf-8").strip()
    busy = run(tmp_path, "info").stdout
    assert f"| 2       0                 | {child.pid:<13} | {name:<24} | 30000                   |" in busy
    assert "| 64          0    / 0          33339/ 65536         |" in busy
    assert "No running processes found in NPU 2 " not in busy

    child.kill()
    gone = run(tmp_path, "info").stdout  # not waited for yet: a zombie holds nothing
    child.wait()
    child.stdout.close()
    child.stdin.close()
    assert str(child.pid) not in gone
    assert "No running processes found in NPU 2 " in gone
    assert "| 0           0    / 0          3339 / 65536         |" in gone


@pytest.mark.parametrize(("arguments", "status", "beginning"), [
    ((), 215, "Usage: npu-smi <Command|-h|-v> [Options...]\n\nnpu-smi Command:\n\t-h            This command's help inf"),
    (("-h",), 0, "Usage: npu-smi <Command|-h|-v> [Options...]\n"),
    (("--help",), 0, "Usage: npu-smi <Command|-h|-v> [Options...]\n"),
    (("-v",), 0, "npu-smi version: 25.5.0\n"),
    (("inof",), 211, "Command or option is not found.\nUsage: npu-smi <Command|-h|-v> [Options...]\n"),
    (("info", "-h"), 0, "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"),
    (("info", "-x"), 215, "Error parameter of -x\nUsage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"),
    (("info", "-t", "nothing"), 215, "Error parameter of -t\nUsage: npu-smi info "),
    (("info", "-t"), 215, "Error parameter of -t\nUsage: npu-smi info "),
    (("info", "-t", "spod-info", "-i", "0"), 0, "This device does not support querying spod-info.\n"),
    (("info", "-l"), 0, "\tTotal Count                    : 8\n\n\tNPU ID                         : 0\n\tChip Count   "),
    (("info", "-m"), 0, "\tNPU ID                         Chip ID     "),
    (("info", "--sim"), 0, "+----"),
    (("set", "-t", "reset", "-i", "0"), 193, "Failed to execute npu-smi set. ret is -8255.\n"),
])
def test_words_and_status(tmp_path: Path, arguments: tuple[str, ...], status: int, beginning: str) -> None:
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.startswith(beginning)


@pytest.mark.parametrize("arguments", [("info",), ("-h",), ("-v",), ("set",)])
def test_without_a_driver_even_the_help_fails(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(tmp_path, *arguments, NPU_DRIVER="none")
    assert (done.returncode, done.stderr) == (187, "")
    assert done.stdout == (SAMPLES / "fail_8005_no_driver.txt").read_text(encoding="utf-8")


def test_a_driver_without_cards(tmp_path: Path) -> None:
    done = run(tmp_path, "info", "-l", NPU_DEVICES="0")
    assert (done.returncode, done.stdout) == (0, "There is no NPU card on this server.\n")
    assert run(tmp_path, "info", NPU_DEVICES="0").stdout.startswith("Usage: npu-smi info ")


def test_wrong_knobs_are_named_on_stderr(tmp_path: Path) -> None:
    for knob, value in (("NPU_DEVICES", "many"), ("NPU_SOC", "H100")):
        done = run(tmp_path, "info", **{knob: value})
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"npu-smi: {knob}={value}: ")


def test_a_table_that_cannot_be_made_says_where(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    done = run(tmp_path, "info")
    assert done.returncode == 178
    assert done.stdout.endswith("dcmi module initialize failed. ret is -8014\n")
    assert str(tmp_path / "state") in done.stderr and "NPU_STATE_DIR" in done.stderr


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([TOOL, "info"], env=environment(tmp_path), stdout=writer, stderr=subprocess.PIPE, timeout=30)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_is_told_that_it_is_simulated(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    done = subprocess.run([TOOL, "-v"], env=environment(tmp_path), stdout=subprocess.PIPE, stderr=terminal, timeout=30)
    os.close(terminal)
    said = os.read(screen, 1000)
    os.close(screen)
    assert done.stdout == b"npu-smi version: 25.5.0\n"
    assert said == b"npu-smi: simulated by npuscope, no real NPU was asked\r\n"


def stand_in(folder: Path, name: str = "npu-smi") -> Path:
    """A real tool: says how it was called and ends with 7."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / name
    tool.write_text('#!/bin/sh\necho "real $0 $*"\nexit 7\n')
    tool.chmod(0o755)
    return tool


# The installed script with another device node, because a test cannot make the real one.
WITH_DRIVER = """
import sys, cli.real_tool
from cli.npu_smi import main
cli.real_tool.DRIVER_NODE = sys.argv.pop(1)
sys.exit(main())
"""


def on_real_machine(folder: Path, *arguments: str, node: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    device_node = folder / "davinci_manager"
    if node:
        device_node.touch()
    env = {**environment(folder, PATH=f"{TOOL.parent}:{folder / 'real'}:/usr/bin:/bin", **more)}
    if "NPU_SIM" not in more:
        del env["NPU_SIM"]
    command = [sys.executable, "-c", WITH_DRIVER, str(device_node), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)


def test_on_a_real_machine_native_forms_are_handed_on(tmp_path: Path) -> None:
    tool = stand_in(tmp_path / "real")
    done = on_real_machine(tmp_path, "info", "-t", "usages", "-i", "0")
    assert (done.stdout, done.returncode) == (f"real {tool} info -t usages -i 0\n", 7)


def test_simulation_on_a_real_machine_is_asked_for(tmp_path: Path) -> None:
    stand_in(tmp_path / "real")
    assert on_real_machine(tmp_path, "-v", "--sim").stdout == "npu-smi version: 25.5.0\n"
    assert on_real_machine(tmp_path, "-v", NPU_SIM="1").stdout == "npu-smi version: 25.5.0\n"
    assert on_real_machine(tmp_path, "-v", NPU_SIM="0").stdout.startswith("real ")


def test_a_tool_without_a_driver_is_not_used(tmp_path: Path) -> None:
    stand_in(tmp_path / "real")
    assert on_real_machine(tmp_path, "-v", node=False).stdout == "npu-smi version: 25.5.0\n"


def test_a_driver_without_a_tool_is_simulated(tmp_path: Path) -> None:
    assert on_real_machine(tmp_path, "-v").stdout == "npu-smi version: 25.5.0\n"
