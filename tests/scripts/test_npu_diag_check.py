"""`npu-diag check` as it is typed: this host, trees, texts, programs, models; exit codes, JSON, both languages."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.made_onnx import model, node

DATA = Path(__file__).parents[1] / "data"
TREES, TEXTS = DATA / "install-trees", DATA / "host-texts"


def test_the_built_in_machine_is_fine_and_says_so_in_three_lines(start):
    ran = start("npu-diag", "check")
    assert ran.code == 0 and ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == (
        "built-in host (simulated): driver 25.5.0, firmware 7.8.0.5.216, CANN 8.3.RC1 (toolkit), devices 8 x 910B3"
    )
    assert lines[1].startswith("fine: ") and lines[2:] == ["verdict: nothing wrong was found"]


@pytest.mark.slow
def test_this_shell_counts_on_a_simulated_host(start):
    ran = start("npu-diag", "check", env={"ASCEND_RT_VISIBLE_DEVICES": "3,1"})
    assert ran.code == 1 and "ERROR visible_devices_order: ASCEND_RT_VISIBLE_DEVICES=3,1" in ran.out
    assert "export ASCEND_RT_VISIBLE_DEVICES=1,3" in ran.out
    ran = start("npu-diag", "check", env={"ASCEND_RT_VISIBLE_DEVICES": "6,8"})
    assert ran.code == 1 and "used is 6" in ran.out and "8 devices (0 to 7)" in ran.out


@pytest.mark.parametrize(
    ("tree", "code"), [("a-dev-matching", 0), ("b-prod-nnrt-old-driver", 1), ("d-toolkit-newer-than-driver", 1)]
)
def test_a_tree_by_option_and_as_evidence(start, tree, code):
    by_option = start("npu-diag", "check", "--root", str(TREES / tree))
    as_evidence = start("npu-diag", "check", str(TREES / tree))
    assert by_option.code == as_evidence.code == code
    assert by_option.out == as_evidence.out and by_option.err == ""


def test_another_environment_for_a_tree(start):
    env = "ASCEND_HOME_PATH=/usr/local/Ascend/ascend-toolkit/8.1.0\n"
    (tmp := start("npu-diag", "host", "list").folder / "env.txt").write_text(env)
    ran = start("npu-diag", "check", "--root", str(TREES / "a-dev-matching"), "--env", str(tmp))
    assert ran.code == 1 and "home_not_there" in ran.out and "/usr/local/Ascend/ascend-toolkit/8.1.0" in ran.out


def test_json_holds_the_same_facts(start):
    ran = start("npu-diag", "check", str(TREES / "b-prod-nnrt-old-driver"), "--json")
    told = json.loads(ran.out)
    assert ran.code == 1 and told["schema"] == 1 and told["tool"] == "npu-diag check" and told["verdict"] == "error"
    finding = told["findings"][0]
    assert finding["id"] == "driver_older_than_cann" and finding["severity"] == "error" and finding["alternatives"] is True
    assert len(finding["do"]) == 2 and finding["facts"]["driver"] == "22.0.4"
    assert {"what": "limits", "why": "no evidence of: limits"} in told["missing"]
    assert told["versions"]["CANN"] == "6.3.RC2 (nnrt)"


def test_chinese(start):
    ran = start("npu-diag", "check", str(TREES / "c-mixed-ld-library-path"), "--lang", "zh")
    assert ran.code == 1 and "错误 ld_library_path_other_version" in ran.out and "结论: 1 个错误" in ran.out


def test_several_texts_are_one_host(start):
    texts = [str(TREES / "d-toolkit-newer-than-driver" / n) for n in ("npu-smi-info.txt", "env.txt", "pip-freeze.txt")]
    ran = start("npu-diag", "check", *texts)
    assert ran.code == 1 and "Driver 23.0.3 is too old for CANN 9.0.0" in ran.out
    assert "torch_npu_mismatch" not in ran.out


def test_a_folder_of_texts(start, tmp_path):
    folder = tmp_path / "evidence"
    folder.mkdir()
    shutil.copy(TEXTS / "limits_session.txt", folder)
    (folder / "env").write_text("ASCEND_RT_VISIBLE_DEVICES=1,0\n")
    ran = start("npu-diag", "check", str(folder))
    assert ran.code == 1 and "visible_devices_order" in ran.out and "card_fell_off" in ran.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("absent.txt",), "no such file"),
        (("--root", "."), "is no host tree"),
        (("--env", "x"), "--env belongs to a tree"),
        ((str(TEXTS / "account_session.txt"), "--probe"), "--probe runs on this host"),
        (("--colour",), "--colour"),
        (("--app", str(TEXTS / "account_session.txt")), "is no ELF program"),
        (("--om", str(TEXTS / "account_session.txt")), "not a usable model"),
    ],
)
def test_wrong_use_is_two_lines_and_2(start, words, part):
    ran = start("npu-diag", "check", *words)
    assert ran.code == 2 and part in ran.err and len(ran.err.splitlines()) == 2 and "  next: " in ran.err


@pytest.mark.slow
def test_a_program_and_the_functions_it_needs(start, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "stub.c").write_text("int aclInit(const char *c){return 0;} int aclrtNewIn99(void){return 0;}\n")
    (tmp_path / "infer.c").write_text(
        "int aclInit(const char *); int aclrtNewIn99(void); int main(void){return aclInit(0)+aclrtNewIn99();}\n"
    )
    for words in (["-shared", "-fPIC", "-o", "libascendcl.so", "stub.c"], ["-o", "infer", "infer.c", "-L.", "-lascendcl"]):
        subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    ran = start("npu-diag", "check", "--app", "infer")
    assert ran.code == 1 and "infer needs 1 acl functions" in ran.out and "aclrtNewIn99" in ran.out and "aclInit" not in ran.out
    (tmp_path / "libvision.so.3").write_bytes((tmp_path / "libascendcl.so").read_bytes())
    subprocess.run(["cc", "-o", "other", "infer.c", "libvision.so.3", "-L.", "-lascendcl"], cwd=tmp_path, check=True)
    assert "libvision.so.3 cannot be loaded" in start("npu-diag", "check", "--app", "other").out


@pytest.mark.slow
def test_a_model_for_another_chip(start, tmp_path):
    (tmp_path / "net.onnx").write_bytes(model([node("Relu", "x", "y")], "y", {}, {"x": [1, 4]}).SerializeToString())
    assert start("atc", "--model=net.onnx", "--framework=5", "--output=net", "--soc_version=Ascend310P3").code == 0
    ran = start("npu-diag", "check", "--om", "net.om")
    assert ran.code == 1 and "om_other_chip" in ran.out and "--soc_version=Ascend910B3" in ran.out


def test_a_busy_device_and_the_free_ones_are_named(start, tmp_path):
    from npu.driver.state import Table
    from npu.units import GIB

    table = Table.open(str(tmp_path / "state"))
    slot = table.attach()
    assert table.reserve(slot, 2, 8 * GIB, 0, 60 * GIB)
    ran = start("npu-diag", "check")
    table.drop(slot)
    table.close()
    assert ran.code == 0 and "note busy_and_free" in ran.out
    line = next(line for line in ran.out.splitlines() if line.startswith("note busy_and_free"))
    assert "NPU 2" in line and "NPU 0, 1, 3, 4, 5, 6, 7" in line


@pytest.mark.slow
def test_a_log_is_handed_to_the_log_command(start, tmp_path):
    (tmp_path / "app.log").write_text(
        "[ERROR] RUNTIME(42,worker):2026-12-02-11:48:31.832.129 [api.cc:92]58 f:ErrCode=107001, desc=[device id error]\n"
        "[ERROR] ASCENDCL(42,worker):2026-12-02-11:48:31.832.173 [device.cpp:54]58 open device failed, runtime result = 107001.\n"
    )
    by_check, by_log = start("npu-diag", "check", "app.log"), start("npu-diag", "log", "app.log")
    assert (by_check.code, by_check.out) == (by_log.code, by_log.out) and "107001" in by_check.out


OOM = (
    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.96 GiB total capacity; 58.0 GiB already allocated; "
    "1.2 GiB free; 58.60 GiB reserved in total by PyTorch)\n"
)


@pytest.mark.slow
def test_a_pasted_issue_tells_the_fault_of_its_log_before_the_remarks_on_its_host(start, tmp_path):
    issue = tmp_path / "issue.txt"
    issue.write_text("CUDA_VISIBLE_DEVICES=0\ntorch==2.5.1\ntorch_npu==2.5.1.post1\n\n### What happened\n" + OOM)
    ran = start("npu-diag", "check", str(issue))
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "Cause: device out of memory: this process itself fills it [allocator_out_of_memory]"
    assert any(line.startswith("WARNING foreign_visible_devices") for line in lines)
    found = json.loads(start("npu-diag", "check", str(issue), "--json").out)
    assert found["log"]["findings"][0]["id"] == "allocator_out_of_memory"
    assert [f["id"] for f in found["findings"]] == ["foreign_visible_devices"]


def test_what_a_check_says_is_not_said_again_as_a_log(start, tmp_path):
    session = tmp_path / "session.txt"
    session.write_text("$ npu-smi info\nnpu-smi: error while loading shared libraries: libdrvdsmi_host.so: cannot open shared object file\n")
    ran = start("npu-diag", "check", str(session))
    assert ran.code == 1 and "ERROR driver_library_missing" in ran.out and "Cause:" not in ran.out
