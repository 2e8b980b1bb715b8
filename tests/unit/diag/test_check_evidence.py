"""What people paste: each text gives the verdicts its problem is made of, and no more."""

from pathlib import Path

import pytest

from diag.check import check
from diag.evidence import texts
from diag.evidence.gather import NotEvidence, of_paths, resolved
from diag.evidence.transcript import answers
from diag.seen import together
from diag.verdict import INFO, do, say

TEXTS = Path(__file__).parents[2] / "data" / "host-texts"


def judged(text):
    return check(resolved(together(texts.read(text), "text")))


def ids(text):
    return {v.id for v in judged(text).verdicts}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("container_start", {"control_node_missing", "mount_missing", "shm_small"}),
        ("mixed_session", {"firmware_mismatch", "ld_library_path_other_version", "stub_in_use"}),
        (
            "environment_report",
            {
                "driver_older_than_cann",
                "visible_devices_form",
                "torch_for_other_adapter",
                "torch_npu_mismatch",
                "vllm_ascend_mismatch",
                "python_not_supported",
            },
        ),
        (
            "limits_session",
            {"cann_library_missing", "ld_library_path_empty", "few_files", "few_processes", "shm_small", "card_fell_off"},
        ),
        ("account_session", {"no_right_on_node", "uid_without_entry"}),
    ],
)
def test_a_pasted_text(name, expected):
    assert {v.id for v in check(of_paths([TEXTS / f"{name}.txt"])).verdicts} == expected


@pytest.mark.parametrize(("line", "kind"), [
    ("ASCEND_RT_VISIBLE_DEVICES=1,0", "visible_devices_order"), ("ASCEND_RT_VISIBLE_DEVICES=0,0", "visible_devices_repeated"),
    ("export ASCEND_RT_VISIBLE_DEVICES='0;1'", "visible_devices_form"), ("ASCEND_RT_VISIBLE_DEVICES=0-3", "visible_devices_form"),
    ("ASCEND_RT_VISIBLE_DEVICES=", "visible_devices_empty"), ("HCCL_CONNECT_TIMEOUT=60", "illegal_value"),
    ("ASCEND_GLOBAL_LOG_LEVEL=INFO", "illegal_value"), ("HCCL_EXEC_TIMEOUT=3600", "event_timeout_too_short"),
    ("HCCL_WHITELIST_DISABLE=0", "whitelist_without_file"), ("ASCEND_LAUNCH_BLOCKING=1", "launch_blocking"),
    ("HCCL_INTRA_PCIE_ENABLE=1\nHCCL_INTRA_ROCE_ENABLE=1", "pcie_and_roce"),
    ("PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:10", "illegal_value"), ("PYTORCH_NPU_ALLOC_CONF=expandable:True", "illegal_value"),
    ("PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\nPYTORCH_ALLOC_CONF=a:b", "two_alloc_confs"),
    ("ASCEND_HOME=/usr/local/Ascend", "ascend_home_is_no_variable"),
    ("ASCEND_HOME_PATH=/x/ascend-toolkit/8.0.0\nASCEND_OPP_PATH=/x/ascend-toolkit/7.0.0/opp", "homes_differ"),
    ("ASCEND_HOME_PATH=/x/ascend-toolkit/8.0.0\nLD_LIBRARY_PATH=/x/ascend-toolkit/7.0.0/lib64", "ld_library_path_other_version"),
    ("ASCEND_HOME_PATH=/x/ascend-toolkit/8.0.0\nPYTHONPATH=/x/ascend-toolkit/7.0.0/python", "pythonpath_other_version"),
    ("LD_LIBRARY_PATH=/x/nnrt/latest/lib64:/x/ascend-toolkit/latest/lib64", "path_mixes_installs"),
    ("ASCEND_HOME_PATH=/x/ascend-toolkit/latest\nLD_LIBRARY_PATH=/opt/lib", "ld_library_path_without_cann"),
    ("ASCEND_RT_VISIBLE_DEVICES=2,3\nASCEND_DEVICE_ID=2", "device_id_beyond_visible"),
    ("ASCEND_RT_VISIBLE_DEVICE=0", "misspelt_variable"), ("HCCL_CONECT_TIMEOUT=300", "misspelt_variable"),
    ("ASCEND_RT_VISIBEL_DEVICES=0", "misspelt_variable"), ("HCCL_BUFFSIZES=200", "misspelt_variable"),
    ("$ pip list | grep torch\ntorch              2.5.1\ntorch-npu          2.4.0\n", "torch_for_other_adapter"),
    ("CUDA_VISIBLE_DEVICES=0\nASCEND_HOME_PATH=/x/ascend-toolkit/latest", "foreign_visible_devices"),
    ("ASCEND_SLOG_PRINT_TO_STDOUT=1", "logs_to_stdout"), ("ASCEND_GLOBAL_LOG_LEVEL=0", "verbose_log"),
    ("main: error while loading shared libraries: libascend_hal.so: cannot open shared object file", "driver_library_missing"),
    ("ImportError: /x/libtorch_npu.so: undefined symbol: aclrtNewThing", "undefined_symbol"),
    ("ImportError: /x/libtorch_npu.so: undefined symbol: _ZN3atb15CreateOperation", "undefined_symbol_atb"),
    ("/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x/libge.so)", "system_library_too_old"),
    ("torch==2.5.1\ntorch-npu==2.4.0", "torch_for_other_adapter"),
    ('{"soc_version": "Ascend310P3", "converted_with_cann": "8.0.0"}\n', None),
])  # fmt: skip
def test_one_line_one_verdict(line, kind):
    assert ids(line + "\n") == ({kind} if kind else set())


@pytest.mark.parametrize(
    "text",
    [
        "ASCEND_RT_VISIBLE_DEVICES=0,1,7\n",
        "torch==2.6.0\ntorch-npu==2.6.0\n",
        "HCCL_CONNECT_TIMEOUT=600\nHCCL_EXEC_TIMEOUT=1200\n",
        "ASCEND_HOME_PATH=/x/ascend-toolkit/8.0.0\nLD_LIBRARY_PATH=/x/ascend-toolkit/8.0.0/lib64:/usr/local/Ascend/driver/lib64\n",
        "$ ulimit -n\n65535\n$ id\nuid=0(root) gid=0(root) groups=0(root)\n",
        "$ ls /dev\ndavinci0\ndavinci_manager\ndevmm_svm\nhisi_hdc\nnull\n",
    ],
)
def test_nothing_wrong_gives_nothing(text):
    assert ids(text) == set()


def test_visible_devices_are_held_against_what_there_is():
    assert ids(
        "$ ls /dev\ndavinci0\ndavinci1\ndavinci_manager\ndevmm_svm\nhisi_hdc\n$ echo $ASCEND_RT_VISIBLE_DEVICES\n1,2\n"
    ) == {"visible_devices_beyond"}


def test_a_remark_is_no_problem_and_a_warning_is_one():
    assert judged("ASCEND_GLOBAL_LOG_LEVEL=0\n").status == 0 and judged("ASCEND_LAUNCH_BLOCKING=1\n").status == 1
    assert judged("ASCEND_GLOBAL_LOG_LEVEL=0\n").verdicts[0].severity == INFO


def test_what_nobody_looked_at_is_missing_and_not_fine():
    checked = judged("ASCEND_RT_VISIBLE_DEVICES=0\n")
    assert "visible devices" in checked.fine
    missing = dict(checked.missing)
    assert missing["rights on the nodes"] == ("device nodes", "account") and missing["model"] == ("model",)


def test_prompts_of_several_shells():
    text = (
        "user@host:~$ one\na\n[root@box ~]# two\n(env) user@host:/x$ three\nb\nbash-4.2$ four\n$ five\n# a comment\n# ls /dev\n"
    )
    assert [a.command for a in answers(text)] == ["one", "two", "three", "four", "five", "ls /dev"]
    assert answers("no prompt\n") == [("", "no prompt\n")]
    assert answers(text)[4].output == "# a comment"


def test_a_model_newer_than_the_runtime_names_both_ways_out():
    text = "$ env\nASCEND_HOME_PATH=/x/nnrt/6.3.RC2\n$ cat note.json\n"
    text += '{"soc_version": "Ascend310P3", "converted_with_cann": "7.0.0"}\n'
    verdict = next(v for v in judged(text).verdicts if v.id == "om_newer_than_runtime")
    assert "7.0.0" in say(verdict) and "6.3.RC2" in say(verdict)
    upgrade, again = do(verdict)
    assert "CANN to 7.0.0" in upgrade and "with CANN 6.3.RC2" in again


def test_a_file_that_says_nothing_is_named(tmp_path):
    (tmp_path / "poem.txt").write_text("roses are red\n")
    with pytest.raises(NotEvidence, match="poem"):
        of_paths([tmp_path / "poem.txt"])
