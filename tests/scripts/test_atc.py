"""atc as a user runs it: the installed command, its texts, files and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu import om
from tests.made_onnx import conv_bn, model, node, weights

ATC = Path(sys.executable).with_name("atc")
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


def atc(folder, *arguments):
    environ = {k: v for k, v in os.environ.items() if k != "ASCEND_WORK_PATH"}
    command = [str(ATC), *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path):
    made = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": ["N", 3, 8, 8]})
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    return tmp_path


def test_converts_and_says_so(folder):
    done = atc(folder, "--framework=5", "--model", "net.onnx", "--output=net", "-soc-version=Ascend910B3",
               "--input_shape=x:1,3,8,8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["ATC start working now, please wait for a moment.", "...",
                                        "ATC run success, welcome to the next use."]
    assert done.stderr == ""
    held = om.load(folder / "net.om")
    assert held.soc == "Ascend910B3" and held.build["command"].startswith("atc --framework=5")
    counts = json.loads((folder / "fusion_result.json").read_text())["session_and_graph_id_0_0"]
    assert counts["graph_fusion"] == {"ConvBatchnormFusionPass": {"effect_times": "1", "match_times": "1"}}
    shown = atc(folder, "--mode=6", "--om=net.om")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[1] == "============ Display Model Info start ============"
    assert lines[3] == "system   info: atc_version[8.3.RC1], soc_version[Ascend910B3], framework_type[5]."
    assert lines[6] == "============ Display Model Info end   ============"


def test_log_info_tells_the_fusions(folder):
    done = atc(folder, "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend310P3",
               "--input_shape=x:1,3,8,8", "--log=info", "--export_compile_stat=0")
    assert "ConvBatchnormFusionPass: match_times 1, effect_times 1" in done.stdout
    assert not (folder / "fusion_result.json").exists()


@pytest.mark.parametrize("arguments, code, part", [
    (["--soc_version=Ascend910B9"], "Invalid_Argument(E10001)", "Ascend910B3"),
    ([], "Invalid_Argument(E10001)", "input_shape"),
    (["--colour=red"], "Invalid_Argument(E10001)", "--colour"),
    (["--model=absent.onnx"], "File_Operation_Error_Open(E13001)", "absent.onnx"),
    (["--input_shape", "x:1,3,8,8", "loose"], "Invalid_Argument(E10001)", "loose"),
    (["--log"], "Invalid_Argument(E10004)", "--log"),
])
def test_failures_have_the_banner_and_a_code(folder, arguments, code, part):
    done = atc(folder, "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend910B3", *arguments)
    lines = done.stdout.splitlines()
    assert done.returncode == 255 and lines[:3] == ["ATC start working now, please wait for a moment.", "...", FAILURE]
    assert lines[3].startswith("[PID: ") and code in lines[3] and part in done.stdout
    assert "Traceback" not in done.stdout + done.stderr and not (folder / "net.om").exists()


def test_without_arguments(folder):
    done = atc(folder)
    assert done.returncode == 255
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["usage:", "ATC"]


def test_help_names_the_options_and_loads_nothing_heavy(folder):
    program = ("import sys; from cli.atc import atc; code = atc(['--help']); "
               "heavy = {'onnx', 'onnx_ir', 'onnxruntime', 'numpy', 'typer'} & set(sys.modules); print(heavy, file=sys.stderr); "
               "sys.exit(code or bool(heavy))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--soc_version" in done.stdout and "--op_precision_mode" in done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_the_other_modes_write_json(folder):
    assert atc(folder, "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend910B3",
               "--input_shape=x:1,3,8,8").returncode == 0
    done = atc(folder, "--mode=1", "--om=net.om", "--json=om.json")
    assert done.returncode == 0, done.stdout
    assert json.loads((folder / "om.json").read_text())["graph"][0]["op"][0]["type"] == "Data"
    assert atc(folder, "--mode=1", "--framework=5", "--om=net.onnx", "--json=onnx.json").returncode == 0
    assert json.loads((folder / "onnx.json").read_text())["graph"]["node"][0]["op_type"] == "Conv"
    assert atc(folder, "--mode=3", "--framework=5", "--model=net.onnx").returncode == 0
    assert json.loads((folder / "check_result.json").read_text())["pass"] == 3
    (folder / "dump.txt").write_text('graph { name: "g" }')
    assert atc(folder, "--mode=5", "--om=dump.txt", "--json=dump.json").returncode == 0
    assert json.loads((folder / "dump.json").read_text()) == {"graph": [{"name": "g"}]}


@pytest.mark.parametrize("arguments, code", [
    (["--mode=1", "--om=net.onnx"], "E10057"), (["--mode=1", "--om=net.onnx", "--json=j.json"], "E10041"),
    (["--mode=1", "--om=none.om", "--json=j.json"], "E13001"), (["--mode=3", "--model=net.onnx"], "E10007"),
    (["--mode=3", "--framework=5"], "E10054"), (["--mode=5", "--om=net.onnx", "--json=j.json"], "E13005"),
    (["--mode=30", "--om=net.onnx"], "E10001"), (["--mode=1", "--framework=5", "--om=net.onnx", "--json=no/j.json"], "E13004")])
def test_modes_without_what_they_need(folder, arguments, code):
    done = atc(folder, *arguments)
    assert done.returncode == 255 and code in done.stdout and "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_conversion_can_leave_the_report_too(folder):
    done = atc(folder, "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend910B3", "--input_shape=x:1,3,8,8",
               "--check_report=report.json")
    assert done.returncode == 0 and json.loads((folder / "report.json").read_text())["result"] == "success"
    done = atc(folder, "--framework=5", "--model=net.onnx", "--output=net", "--soc_version=Ascend910B3", "--json=out.json")
    assert done.returncode == 255 and "E10057" in done.stdout
